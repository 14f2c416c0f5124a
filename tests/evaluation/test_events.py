"""What happened to runs, studies, systems and judges is told in a sentence of its own, whatever it was."""

import re
from pathlib import Path

import pytest

import evaluation
from evaluation.events import CONFIGURATION_SENTENCES, SENTENCES, STUDY_SENTENCES, words_of
from evaluation.label_actions import label_failures
from evaluation.model_queries import models_of
from tests.evaluation.setting import Setting, work_through

SOURCES = "".join(path.read_text("utf-8") for path in sorted(Path(evaluation.__file__).parent.glob("*.py")))


@pytest.mark.parametrize(
    ("subjects", "sentences"),
    [
        ("run|labels|verdicts?|anchors|drift|marking", SENTENCES),
        ("study", STUDY_SENTENCES),
        ("system|judge", CONFIGURATION_SENTENCES),
    ],
)
def test_every_kind_of_event_has_its_sentence(subjects: str, sentences: dict[str, object]) -> None:
    kinds = set(re.findall(rf'"((?:{subjects})\.[a-z_]+)"', SOURCES))
    assert kinds <= set(sentences), kinds - set(sentences)


def test_labels_are_told_and_a_judge_who_labels_is_one_model_that_answered(setting: Setting) -> None:
    run = work_through(setting.launch())
    before = models_of(run)
    label_failures(run, labeller=setting.judge, basis=setting.judge, taxonomy="lhdr-modes-1", actor=setting.team.admin)
    work_through(run)
    said = [words_of(event) for event in run.events.order_by("pk")]
    assert any(f"had {setting.judge.name} say why steps failed, on " in text for text in said), said
    after = models_of(run)
    assert [row[:4] for row in after] == [row[:4] for row in before]
    assert (
        after[1].calls == before[1].calls + run.labellings.filter(status="completed").exclude(returned_model="").count()
    )
    assert after[1].calls > before[1].calls
