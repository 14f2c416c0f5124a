"""Probes and gradeability over the pages: who may, what is shown, what is refused, with script and without."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Item, ItemEvent
from annotation.states import State
from audit.models import AuditPlan, GradeCheck, Override, Probe
from evaluation.probe_actions import launch_probes
from tests.audit.judging import answer, fresh
from tests.evaluation.probing import item_with_picture, word, work
from tests.factories import make_team

HX = {"HX-Request": "true"}


@pytest.fixture
def item(setting: Any) -> Item:
    return item_with_picture(setting)


def url(name: str, item: Item, *more: Any) -> str:
    return reverse(f"evaluation:{name}", args=[item.benchmark.slug, item.number, *more])


def ask(setting: Any, item: Item, who: str = "aud", headers: Any = None, **changes: Any) -> Any:
    data = {"systems": [setting.system.pk], "conditions": ["with"], "times": 1, "judge": "", **changes}
    return setting.team.client(who).post(url("probe-ask", item), data, headers=headers or {})


def paste(setting: Any, item: Item, who: str = "aud", **changes: Any) -> Any:
    data = {"system_name": "A chat page", "vendor": "Acme", "condition": "with", "when": "2026-11-01T10:00",
            "text": "Final answer: 1588", **changes}  # fmt: skip
    return setting.team.client(who).post(url("probe-paste", item), data)


def probe_of(setting: Any, item: Item, **data: Any) -> Probe:
    [probe] = launch_probes(
        item, **{"systems": [setting.system], "conditions": [True], "actor": setting.team.aud, **data}
    )
    work()
    return Probe.objects.get(pk=probe.pk)


def say(setting: Any, probe: Probe, who: str = "aud", headers: Any = None, **changes: Any) -> Any:
    data = {"recovered": "no", "path": "none", "comment": "", **changes}
    return setting.team.client(who).post(url("probe-word", probe.item, probe.pk), data, headers=headers or {})


# --- who may


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("ann2", 403), ("aud", 302), ("core", 302), ("admin", 302), ("stranger", 404)]
)
def test_asking_by_role_in_the_audit(setting: Any, item: Item, who: str, expected: int) -> None:
    assert ask(setting, item, who).status_code == expected
    assert Probe.objects.count() == (expected == 302)
    assert paste(setting, item, who).status_code == expected


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_every_member_reads_probes_and_ledger(setting: Any, item: Item, who: str) -> None:
    probe = probe_of(setting, item)
    client = setting.team.client(who)
    assert "Final answer" in client.get(url("probe-panel", item)).content.decode()
    assert "sha256:" in client.get(url("probe-page", item, probe.pk)).content.decode()
    assert client.get(url("gradeability", item)).status_code == 200
    assert client.get(reverse("evaluation:ledger", args=["bench"])).status_code == 200


def test_strangers_find_nothing(setting: Any, item: Item) -> None:
    probe = probe_of(setting, item)
    client = setting.team.client("stranger")
    for name, more in [("probe-panel", ()), ("probe-page", (probe.pk,)), ("gradeability", ())]:
        assert client.get(url(name, item, *more)).status_code == 404
    for name in ("ledger", "ledger-csv"):
        assert client.get(reverse(f"evaluation:{name}", args=["bench"])).status_code == 404


@pytest.mark.parametrize("state", [State.LOCKED, State.REJECTED, State.RETURNED])
def test_auditors_ask_nothing_outside_the_audit(setting: Any, state: State) -> None:
    item = item_with_picture(setting, state)
    reply = ask(setting, item)
    assert reply.status_code == 403 and not Probe.objects.exists()


def test_author_probes_a_draft_within_the_quota(setting: Any) -> None:
    item = item_with_picture(setting, State.DRAFT)
    assert b"2 probes left for this draft" in setting.team.client("ann").get(url("probe-panel", item)).content
    assert ask(setting, item, "ann", times=3).status_code == 422, "three are more than two"
    assert ask(setting, item, "ann").status_code == 302
    work()
    assert ask(setting, item, "ann").status_code == 302
    work()
    assert ask(setting, item, "ann").status_code == 403
    assert ask(setting, item, "ann2").status_code == 403, "it is not theirs"
    assert Probe.objects.filter(status="completed").count() == 2
    assert say(setting, Probe.objects.first(), "ann").status_code == 403, "nobody judges their own"


def test_failed_probe_of_a_draft_leaves_the_quota_as_it_was(setting: Any) -> None:
    item = item_with_picture(setting, State.DRAFT)
    setting.system = setting.misbehaving("auth")
    assert ask(setting, item, "ann", systems=[setting.system.pk], times=2).status_code == 302
    work()
    assert b"2 probes left for this draft" in setting.team.client("ann").get(url("probe-panel", item)).content


# --- asking


def test_asking_with_script_adds_entries_and_keeps_the_page(setting: Any, item: Item) -> None:
    reply = ask(setting, item, headers=HX, conditions=["with", "without"], times=2)
    html = reply.content.decode()
    assert reply.status_code == 200 and html.count('class="pr-probe"') == 4 and "<html" not in html
    assert 'hx-trigger="load delay:2s"' in html and 'id="probe-says" hx-swap-oob="true"' in html
    assert ItemEvent.objects.filter(item=item, kind="probe.asked").get().data["count"] == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"systems": []}, "required"),
        ({"systems": ["9" * 30]}, "valid"),
        ({"conditions": []}, "required"),
        ({"conditions": ["sideways"]}, "valid choice"),
        ({"times": 0}, "greater than or equal to 1"),
        ({"times": "9" * 5000}, "times"),
        ({"judge": 10**17}, "valid choice"),
    ],
)
def test_bad_input_is_refused_beside_its_field(setting: Any, item: Item, changes: Any, words: str) -> None:
    for headers in ({}, HX):
        reply = ask(setting, item, headers=headers, **changes)
        assert reply.status_code == 422 and words in reply.content.decode()
    assert reply["HX-Retarget"] == "#probe-ask" and not Probe.objects.exists()


def test_system_that_withholds_images_is_not_asked_with_them(setting: Any, item: Item) -> None:
    system = setting.new_system(image_mode="none")
    assert b"withholds images" in ask(setting, item, systems=[system.pk]).content
    assert ask(setting, item, systems=[system.pk], conditions=["without"]).status_code == 302


def test_system_of_another_benchmark_is_no_choice(setting: Any, item: Item) -> None:
    make_team("other")
    other = setting.new_system()
    type(other).objects.filter(pk=other.pk).update(benchmark=make_team("third").benchmark)
    assert ask(setting, item, systems=[other.pk]).status_code == 422


# --- pasted


def test_pasted_answer_is_marked_as_such(setting: Any, item: Item) -> None:
    assert paste(setting, item).status_code == 302
    probe = Probe.objects.get()
    assert (probe.origin, probe.system_name, probe.status) == ("pasted", "A chat page", "completed")
    assert b"pasted from elsewhere" in setting.team.client("aud").get(url("probe-panel", item)).content


@pytest.mark.parametrize("changes", [{"text": ""}, {"when": "2999-01-01T00:00"}, {"when": "soon"}, {"system_name": ""}])
def test_pasted_answer_that_cannot_be_kept_is_refused_with_its_text(setting: Any, item: Item, changes: Any) -> None:
    reply = paste(setting, item, **changes)
    assert reply.status_code == 422 and not Probe.objects.exists()
    assert changes.get("text") == "" or b"1588" in reply.content


# --- what an answer shows


def test_word_is_kept_with_who_said_it_and_what_was_said_before(setting: Any, item: Item) -> None:
    probe = probe_of(setting, item)
    assert say(setting, probe).status_code == 302
    reply = say(setting, probe, "core", HX, recovered="yes", path="single_page", comment="The first hit.")
    assert b"recovered" in reply.content and b"The first hit." in reply.content
    probe.refresh_from_db()
    assert (probe.recovered, probe.path, probe.seen_by) == (True, "single_page", setting.team.core)
    event = ItemEvent.objects.filter(kind="probe.judged").latest("pk")
    assert event.data["old"] == {"recovered": False, "path": "none", "comment": ""}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"recovered": "yes"}, "Say how the answer was found"),
        ({"path": "single_query"}, "Say how the answer was found"),
        ({"path": "tunnel"}, "valid choice"),
        ({"recovered": ""}, "required"),
    ],
)
def test_word_that_is_not_whole_is_refused(setting: Any, item: Item, changes: Any, words: str) -> None:
    probe = probe_of(setting, item)
    for headers in ({}, HX):
        reply = say(setting, probe, headers=headers, **changes)
        assert reply.status_code == 422 and words in reply.content.decode()
    assert not Probe.objects.get().has_word


def test_judge_is_asked_about_an_answer_that_is_there(setting: Any, item: Item) -> None:
    paste(setting, item, text="\n".join(s["conclusion"] for s in item.document["checklist"]) + "\nFinal answer: 1588")
    probe = Probe.objects.get()
    reply = setting.team.client("aud").post(url("probe-again", item, probe.pk), {"judge": setting.judge.pk})
    assert reply.status_code == 302
    work()
    probe.refresh_from_db()
    assert probe.judge_recovered is True and probe.found


# --- cancelling


@pytest.mark.parametrize(
    ("who", "expected"), [("ann2", 403), ("aud", 302), ("core", 403), ("admin", 302), ("stranger", 404)]
)
def test_who_asked_or_an_admin_cancels_a_probe_that_waits(setting: Any, item: Item, who: str, expected: int) -> None:
    [probe] = launch_probes(item, systems=[setting.system], conditions=[True], actor=setting.team.aud)
    client = setting.team.client(who)
    shown = url("probe-cancel", item, probe.pk) in client.get(url("probe-panel", item)).content.decode()
    assert shown == (expected == 302)
    assert client.post(url("probe-cancel", item, probe.pk)).status_code == expected
    probe.refresh_from_db()
    assert probe.status == ("cancelled" if expected == 302 else "pending")
    events = ItemEvent.objects.filter(kind="probe.cancelled", item=item, actor=getattr(setting.team, who))
    assert events.count() == (expected == 302)


def test_cancelled_probe_asks_nobody_is_no_evidence_and_can_be_asked_again(setting: Any, item: Item) -> None:
    plan(setting, probes_with_image=1)
    [probe] = launch_probes(item, systems=[setting.system], conditions=[True], actor=setting.team.aud)
    client = setting.team.client("aud")
    text = client.post(url("probe-cancel", item, probe.pk), headers=HX).content.decode()
    assert "It was cancelled before the system was asked" in text and "Ask again" in text
    work()
    probe.refresh_from_db()
    assert probe.status == "cancelled" and not probe.text
    assert "0 of 1 probes with images" in passes(setting, item).message
    again = client.post(url("probe-cancel", item, probe.pk))
    assert again.status_code == 409 and "Nothing waits" in again.content.decode()
    assert client.post(url("probe-again", item, probe.pk)).status_code == 302
    work()
    probe.refresh_from_db()
    assert probe.status == "completed" and probe.text


def test_probe_that_is_being_asked_is_not_cancelled(setting: Any, item: Item) -> None:
    [probe] = launch_probes(item, systems=[setting.system], conditions=[True], actor=setting.team.aud)
    Probe.objects.update(status="running")
    client = setting.team.client("aud")
    assert url("probe-cancel", item, probe.pk) not in client.get(url("probe-panel", item)).content.decode()
    reply = client.post(url("probe-cancel", item, probe.pk))
    assert reply.status_code == 409 and "not taken back" in reply.content.decode()


def test_cancelling_what_waits_for_its_judge_keeps_the_answer(setting: Any, item: Item) -> None:
    probe = probe_of(setting, item)
    client = setting.team.client("aud")
    client.post(url("probe-again", item, probe.pk), {"judge": setting.judge.pk})
    assert client.post(url("probe-cancel", item, probe.pk)).status_code == 302
    work()
    probe.refresh_from_db()
    assert (probe.status, probe.judge, probe.judge_recovered) == ("completed", None, None) and probe.text


# --- the criterion


def plan(setting: Any, **fields: Any) -> None:
    AuditPlan.objects.update_or_create(benchmark=setting.benchmark, defaults=fields)


def passes(setting: Any, item: Item) -> Any:
    from lhdr_site.shared.errors import Invalid

    try:
        return answer(fresh(item), setting.team.aud, "probes")
    except Invalid as error:
        return error


def test_criterion_passes_without_probes_where_the_plan_asks_for_none(setting: Any, item: Item) -> None:
    assert passes(setting, item).passed


def test_criterion_waits_for_as_many_probes_as_the_plan_says(setting: Any, item: Item) -> None:
    plan(setting, probes_with_image=2, probes_without_image=1)
    error = passes(setting, item)
    assert error.code == "probes_missing"
    assert "0 of 2 probes with images" in error.message and "0 of 1 probes without images" in error.message
    for with_image in (True, True, False):
        word(probe_of(setting, item, conditions=[with_image]), setting.team.aud)
    assert passes(setting, item).passed


def test_criterion_waits_for_a_persons_word_on_every_answer(setting: Any, item: Item) -> None:
    probe = probe_of(setting, item)
    assert "1 answer waits" in passes(setting, item).message
    word(probe, setting.team.aud)
    assert passes(setting, item).passed


def test_failed_probe_counts_for_nothing(setting: Any, item: Item) -> None:
    plan(setting, probes_with_image=1)
    setting.system = setting.misbehaving("auth")
    probe_of(setting, item)
    assert "0 of 1 probes with images" in passes(setting, item).message


@pytest.mark.parametrize(("recovered", "path"), [(True, "none"), (False, "single_query")])
def test_criterion_cannot_pass_where_a_shortcut_was_found(setting: Any, item: Item, recovered: bool, path: str) -> None:
    word(probe_of(setting, item), setting.team.aud, recovered, path, "By the first hit")
    assert "A shortcut was found" in passes(setting, item).message
    assert not answer(fresh(item), setting.team.aud, "probes", passed=False).passed
    revision = fresh(item).revisions.first()
    Override.objects.create(item=item, rule="probes", reason="Known", by=setting.team.admin, revision=revision)
    assert passes(setting, item).passed, "an admin set the rule aside for this content"


def test_probe_of_an_earlier_question_counts_no_more(setting: Any, item: Item) -> None:
    word(probe_of(setting, item), setting.team.aud, True, "none", "Found")
    hashes = {**item.section_hashes, "question": "0" * 64}
    Item.objects.filter(pk=item.pk).update(section_hashes=hashes)
    assert passes(setting, item).passed
    assert b"of an earlier question" in setting.team.client("aud").get(url("probe-panel", item)).content


def test_checklist_edit_leaves_probes_as_they_are(setting: Any, item: Item) -> None:
    probe = probe_of(setting, item)
    probe.item.section_hashes = {**item.section_hashes, "checklist": "0" * 64}
    assert probe.is_fresh


def test_page_says_what_failures_leave_possible(setting: Any, item: Item) -> None:
    for probe in launch_probes(item, systems=[setting.system], conditions=[True], times=5, actor=setting.team.aud):
        Probe.objects.filter(pk=probe.pk).update(status="completed", text="No.", ended=timezone.now())
        word(probe, setting.team.aud)
    html = setting.team.client("aud").get(url("probe-panel", item)).content.decode()
    assert "45.1%" in html and "60.0%" in html, "1 - 0.05^(1/5), and 3/5"


# --- gradeability


def grade(setting: Any, item: Item, who: str = "core", **changes: Any) -> Any:
    data = {"judge": setting.judge.pk, "scope": "middle", **changes}
    return setting.team.client(who).post(url("grade-ask", item), data)


@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("ann2", 403), ("aud", 302), ("stranger", 404)])
def test_checking_gradeability_by_role(setting: Any, item: Item, who: str, expected: int) -> None:
    assert grade(setting, item, who).status_code == expected


def test_gradeability_is_shown_with_the_outputs(setting: Any, item: Item) -> None:
    assert grade(setting, item).status_code == 302
    client = setting.team.client("core")
    assert b'hx-trigger="load delay:2s"' in client.get(url("gradeability", item), headers=HX).content
    with pytest.raises(Exception, match="under way"):
        from evaluation.probe_actions import check_gradeability

        check_gradeability(item, setting.judge, actor=setting.team.core)
    work()
    html = client.get(url("gradeability", item)).content.decode()
    assert "The whole solution" in html and "CHECKLIST_RESULT" in html and "gradeable" in html
    assert grade(setting, item, scope="none").status_code == 422


@pytest.mark.parametrize(("level", "refused"), [("off", False), ("recommended", False), ("required", True)])
def test_locking_needs_a_gradeable_item_where_the_plan_says_so(setting: Any, level: str, refused: bool) -> None:
    from audit.probe_queries import lock_condition

    item = item_with_picture(setting, State.APPROVED)
    plan(setting, gradeability=level)
    sentence, required = lock_condition(item)
    assert (required, bool(sentence)) == (refused, level != "off")
    grade(setting, item)
    work()
    assert GradeCheck.objects.get().status == "passed" and lock_condition(fresh(item)) == ("", False)
    Item.objects.filter(pk=item.pk).update(section_hashes={**item.section_hashes, "checklist": "0" * 64})
    assert lock_condition(fresh(item))[1] is refused, "it was for another checklist"


# --- the ledger


def test_ledger_lists_probes_judges_checks_and_pasted_answers(setting: Any, item: Item) -> None:
    probe_of(setting, item, judge=setting.judge)
    grade(setting, item)
    work()
    paste(setting, item)
    client = setting.team.client("ann2")
    html = client.get(reverse("evaluation:ledger", args=["bench"])).content.decode()
    for how in ("probe", "judge of a probe", "gradeability", "pasted from elsewhere"):
        assert how in html
    lines = b"".join(client.get(reverse("evaluation:ledger-csv", args=["bench"]))).decode().splitlines()
    assert lines[0].startswith("when,item,how") and len(lines) == 1 + 1 + 1 + 3 + 1
    only = b"".join(client.get(reverse("evaluation:ledger-csv", args=["bench"]) + "?vendor=acme")).decode()
    assert len(only.splitlines()) == 2 and "A chat page" in only
    for nothing in ("?item=99999", "?item=x", "?item=" + "9" * 40):
        reply = client.get(reverse("evaluation:ledger", args=["bench"]) + nothing)
        assert reply.status_code == 200 and b"Nobody was sent anything" in reply.content


def test_ledger_pages_hold_each_entry_once(setting: Any, item: Item, django_assert_max_num_queries: Any) -> None:
    from evaluation.ledger import ledger_page

    launch_probes(item, systems=[setting.system], conditions=[True], times=5, actor=setting.team.aud)
    work()
    paste(setting, item)
    seen, before = [], None
    while True:
        with django_assert_max_num_queries(3):
            page, before = ledger_page(setting.benchmark, before=before, size=2)
        seen += page
        if before is None:
            break
    assert len(seen) == 6 and sorted(seen, key=lambda e: e.when, reverse=True)[:5] == [
        e for e in seen if e.how == "probe"
    ]


def test_panel_takes_as_many_queries_for_many_probes(setting: Any, item: Item, django_assert_max_num_queries) -> None:
    client = setting.team.client("aud")
    launch_probes(item, systems=[setting.system], conditions=[True], times=8, actor=setting.team.aud)
    work()
    with django_assert_max_num_queries(26):
        client.get(url("probe-panel", item), headers=HX)
