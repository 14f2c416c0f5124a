"""The demo server's recordings, its invented answers, and that it goes when it is told to."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from evaluation.scoring.judge_output import parse_judge_output
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.client import call
from lhdr_site.endpoints.demo_replies import completion_of
from lhdr_site.endpoints.demo_server import NOTICE, Recordings, made_up_verdict
from lhdr_site.endpoints.errors import CallError, ErrorKind

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def recordings(tmp_path):
    items = [{"id": "i1", "question": "Which bridge?"}, {"id": "i2", "question": "Which obelisk?"}]
    system = {"role": "system", "model": "demo-vlm", "usage": {"prompt_tokens": 5, "completion_tokens": 6, "cost": 0.1}}
    rows = [
        {**system, "item": "i1", "condition": "with_image", "behaviour": "ok", "text": "The Forth Bridge."},
        {**system, "item": "i1", "condition": "without_image", "behaviour": "refused", "status": 400, "text": ""},
        {"role": "judge", "model": "demo-judge", "system": "demo-vlm", "item": "i1", "condition": "with_image",
         "text": "CHECKLIST_RESULT: [1]\nOVERALL_CORRECTNESS: YES"},
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    (tmp_path / "recordings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Recordings(tmp_path)


def test_recordings_are_found_by_model_question_and_picture(recordings):
    assert recordings.find("demo-vlm", "Which bridge?", True).text == "The Forth Bridge."
    assert recordings.find("demo-vlm", "Which bridge?", False).behaviour == "refused"
    assert recordings.find("demo-vlm", "Which obelisk?", True).text.startswith(NOTICE)


def test_recorded_verdicts_are_found_by_the_response_in_the_prompt(recordings):
    assert "YES" in recordings.find("demo-judge", "Judge this: The Forth Bridge. CHECKLIST_SCORE: k/1", False).text
    assert recordings.find("demo-judge", "Judge this: Something else. CHECKLIST_SCORE: k/1", False).text.startswith(
        NOTICE
    )


def test_made_up_verdict_is_well_formed_and_the_same_each_time():
    text = made_up_verdict("judge", "a prompt", 17).text
    assert text == made_up_verdict("judge", "a prompt", 17).text
    assert len(parse_judge_output(text, 17).vector) == 17


def test_misbehaving_a_number_of_times_is_followed_by_an_answer(target):
    body = chat_body("openai", "demo", "Asked thrice?", extra={"demo": {"behaviour": "html_502", "times": 2}})
    kinds = []
    for _ in range(3):
        try:
            kinds.append(call(target, body).http_status)
        except CallError as error:
            kinds.append(error.kind)
    assert kinds == [ErrorKind.OVERLOADED, ErrorKind.OVERLOADED, 200]


def test_models_and_key_are_served_and_say_what_they_are(server):
    with urllib.request.urlopen(server.address + "/key") as reply:
        assert json.load(reply)["data"]["label"] == "demo"
        assert reply.headers["X-LHDR-Demo"]
    with urllib.request.urlopen(server.address + "/models") as reply:
        assert json.load(reply)["data"]


def test_recording_without_usage_is_answered_without_usage(recordings, tmp_path):
    rows = [json.loads(line) for line in (tmp_path / "recordings.jsonl").read_text().splitlines()]
    (tmp_path / "recordings.jsonl").write_text(json.dumps({**rows[0], "usage": None}) + "\n")
    answer = Recordings(tmp_path).find("demo-vlm", "Which bridge?", True)
    assert "usage" not in completion_of(answer, "key", "demo-vlm")
    assert completion_of(recordings.find("demo-vlm", "Which bridge?", True), "key", "demo-vlm")["usage"]["cost"] == 0.1


def test_committed_recordings_can_be_read():
    folder = ROOT / "fixtures" / "demo"
    if not (folder / "recordings.jsonl").exists():
        pytest.skip("no recordings yet")
    assert Recordings(folder).models


def test_demo_endpoint_command_serves_until_sigterm(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo_endpoint", "--port", "0"],
        cwd=ROOT,
        env={**os.environ, "LHDR_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "lhdr_site.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http")).rstrip(":")
        with urllib.request.urlopen(address + "/models") as reply:
            assert reply.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(3) == 0
    finally:
        process.kill()
        process.stdout.close()
