"""What happened to runs and studies, in words; and as the trail of their benchmark shows it."""

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lhdr_site.shared.events import SOURCES, Source

from .models import Condition, ConfigurationEvent, RunEvent, StudyEvent
from .stops import words_of_stop

FACTS = (
    "items", "carried", "file", "tried_again", "responses", "verdicts", "judge", "completed", "failed",
    "model", "labels", "labeller",
)  # fmt: skip
SENTENCES = {
    "run.launched": gettext_lazy("%(who)s launched the run: %(items)s items"),
    "run.launched.carried": gettext_lazy(
        "%(who)s launched the run: %(items)s items; %(carried)s answers and %(verdicts)s verdicts were carried over"
    ),
    "run.imported": gettext_lazy("%(who)s imported %(responses)s answers to %(items)s items from %(file)s"),
    "verdicts.imported": gettext_lazy("%(who)s imported %(verdicts)s verdicts of %(judge)s from %(file)s"),
    "run.paused": gettext_lazy("%(who)s paused the run"),
    "run.resumed": gettext_lazy("%(who)s resumed the run; %(tried_again)s failed calls are tried again"),
    "run.retried": gettext_lazy("%(who)s had %(tried_again)s failed calls tried again"),
    "run.rerun": gettext_lazy("%(who)s had chosen items asked again: %(tried_again)s answers, and their verdicts"),
    "run.rejudged": gettext_lazy("%(who)s had %(verdicts)s verdicts given by %(judge)s"),
    "run.filled": gettext_lazy(
        "%(who)s filled the holes of its study: %(responses)s responses and %(verdicts)s verdicts are asked for"
    ),
    "run.cancelled": gettext_lazy("%(who)s cancelled the run: %(responses)s items stay without an answer"),
    "run.stopped": gettext_lazy("The run stopped by itself: %(reason)s"),
    "run.model_differs": gettext_lazy("The run paused by itself: %(reason)s"),
    "run.model_accepted": gettext_lazy("%(who)s accepted the model %(model)s"),
    "run.finished": gettext_lazy("The run finished: %(completed)s answered, %(failed)s failed"),
    "verdicts.revealed": gettext_lazy("%(who)s had the others' verdicts shown"),
    "anchors.changed": gettext_lazy("%(who)s changed the anchors for judge drift"),
    "drift.measured": gettext_lazy("%(who)s had %(judge)s judge %(verdicts)s anchors again, to measure drift"),
    "marking.planned": gettext_lazy("%(who)s gave %(responses)s responses to people to mark"),
    "verdict.recorded": gettext_lazy("%(who)s gave a verdict of their own"),
    "labels.asked": gettext_lazy("%(who)s had %(labeller)s say why steps failed, on %(labels)s responses"),
    "labels.asked.later": gettext_lazy("%(who)s had %(labeller)s say why steps failed, once there are verdicts"),
    "labels.recorded": gettext_lazy("%(who)s said why steps of a response failed"),
}

STUDY_SENTENCES = {
    "study.created": gettext_lazy("%(who)s planned the study: %(systems)s; judged by %(judges)s"),
    "study.changed": gettext_lazy("%(who)s changed the plan: %(changes)s"),
    "study.adopted": gettext_lazy("%(who)s took run %(run)s into the study"),
    "study.filled": gettext_lazy(
        "%(who)s filled the holes: runs launched: %(launched)s; responses asked again: %(responses)s; verdicts: "
        "%(verdicts)s"
    ),
    "study.paused": gettext_lazy("%(who)s paused runs %(runs)s"),
    "study.resumed": gettext_lazy("%(who)s resumed runs %(runs)s"),
    "study.cancelled": gettext_lazy("%(who)s cancelled runs %(runs)s"),
    "study.finished": gettext_lazy("All runs have ended"),
    "study.stopped": gettext_lazy("The study stopped: %(stopped)s runs stopped by themselves"),
    "study.frozen": gettext_lazy("%(who)s froze the study"),
}
PLAN_WORDS = {
    "name": gettext_lazy("name"),
    "systems": gettext_lazy("systems"),
    "judges": gettext_lazy("judges"),
    "main_judge": gettext_lazy("main judge"),
    "conditions": gettext_lazy("conditions"),
    "samples": gettext_lazy("samples per item"),
    "repeats": gettext_lazy("verdicts per judge"),
    "concurrency": gettext_lazy("calls at once"),
    "budget": gettext_lazy("budget in USD"),
    "token_budget": gettext_lazy("budget in tokens"),
    "note": gettext_lazy("note"),
}


def words_of(event: RunEvent) -> str:
    """What happened to a run, in a sentence: who did it stands there too."""
    data = {"who": _who(event), **{name: event.data.get(name, "") for name in FACTS}}
    if event.kind in ("run.stopped", "run.model_differs"):
        data["reason"] = words_of_stop(event.data)
    kind = f"{event.kind}.carried" if event.data.get("carried") else event.kind
    kind = "labels.asked.later" if kind == "labels.asked" and not event.data.get("labels") else kind
    return str(SENTENCES.get(kind, gettext_lazy("%(who)s changed the run"))) % data


def study_words_of(event: StudyEvent) -> str:
    """The same for a study."""
    data = {name: _list(value) if isinstance(value, list) else value for name, value in event.data.items()}
    if event.kind == "study.changed":
        changes = ((PLAN_WORDS[name], old, new) for name, (old, new) in event.data["changes"].items())
        data["changes"] = "; ".join(f"{word}: {_list(old)} → {_list(new)}" for word, old, new in changes)
    sentence = STUDY_SENTENCES.get(event.kind, gettext_lazy("%(who)s changed the study"))
    return str(sentence) % {"who": _who(event), **data}


def _who(event: RunEvent | StudyEvent | ConfigurationEvent) -> str:
    return (event.actor.get_full_name() or event.actor.get_username()) if event.actor else _("The Workbench")


def _list(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(dict(Condition.choices).get(part, part)) for part in value) or _("none")
    return _("none") if value in (None, "") else str(value)


def _events_of(benchmark: int) -> QuerySet[RunEvent]:
    rows = RunEvent.objects.filter(run__benchmark=benchmark).select_related("actor", "run__benchmark")
    people = ["actor__username", "actor__first_name", "actor__last_name"]
    return rows.only("kind", "data", "created", "run__number", "run__benchmark__slug", *people)


def _run_of(event: RunEvent) -> tuple[str, str]:
    run = event.run
    return _("run %(n)d") % {"n": run.number}, reverse("evaluation:run-page", args=[run.benchmark.slug, run.number])


SOURCES["runs"] = Source(gettext_lazy("Runs"), _events_of, words_of, _run_of)


def _study_events_of(benchmark: int) -> QuerySet[StudyEvent]:
    rows = StudyEvent.objects.filter(study__benchmark=benchmark).select_related("actor", "study__benchmark")
    people = ["actor__username", "actor__first_name", "actor__last_name"]
    return rows.only("kind", "data", "created", "study__number", "study__name", "study__benchmark__slug", *people)


def _study_of(event: StudyEvent) -> tuple[str, str]:
    study = event.study
    address = reverse("evaluation:study-page", args=[study.benchmark.slug, study.number])
    return _("study %(name)s") % {"name": study.name}, address


SOURCES["studies"] = Source(gettext_lazy("Studies"), _study_events_of, study_words_of, _study_of)


CONFIGURATION_SENTENCES = {
    "system.changed": gettext_lazy("%(who)s changed the system, which had not run: %(fields)s"),
    "system.deleted": gettext_lazy("%(who)s deleted the system, which had not run"),
    "judge.changed": gettext_lazy("%(who)s changed the judge, which had not judged: %(fields)s"),
    "judge.deleted": gettext_lazy("%(who)s deleted the judge, which had not judged"),
}


def configuration_words_of(event: ConfigurationEvent) -> str:
    """What happened to a system or judge that never ran."""
    fields = ", ".join(event.data.get("changes", ()))
    return str(CONFIGURATION_SENTENCES[event.kind]) % {"who": _who(event), "fields": fields}


def _configuration_events_of(benchmark: int) -> QuerySet[ConfigurationEvent]:
    return ConfigurationEvent.objects.filter(benchmark=benchmark).select_related("actor", "benchmark")


def _configuration_of(event: ConfigurationEvent) -> tuple[str, str]:
    kind = "system-list" if event.kind.startswith("system") else "judge-list"
    return str(event.data["name"]), reverse(f"evaluation:{kind}", args=[event.benchmark.slug])


SOURCES["configurations"] = Source(
    gettext_lazy("Systems and judges"), _configuration_events_of, configuration_words_of, _configuration_of
)
