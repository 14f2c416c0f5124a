"""Studies: who may, what a plan takes, what filling asks and what it leaves alone, budgets, freezing, the matrix."""

from decimal import Decimal

import pytest
from django.db import IntegrityError

from audit.release_actions import cut_release
from evaluation import actions, marking_actions, steps, study_actions
from evaluation.models import Run, RunState, Study
from evaluation.study_queries import Hole, Matrix, adoptable_runs, lines_of
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import work_through
from tests.factories import make_team

ALL = [1] * 10


def plan(setting, **changes):
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    return {**data, **changes}


def make_study(setting, **changes):
    return study_actions.create_study(setting.benchmark, plan(setting, **changes), actor=setting.team.admin)


def fill(setting, study):
    return study_actions.fill_holes(study, actor=setting.team.admin)


def work_all(study):
    for run in study.runs.order_by("pk"):
        work_through(run)


def newest(study):
    return study.events.values_list("kind", flat=True)[0]


def paths(error):
    return [problem["path"] for problem in error.value.details["problems"]]


# --- who may, and what a plan takes


@pytest.mark.parametrize("who, allowed", [("ann", False), ("aud", False), ("core", False), ("admin", True)])
def test_studies_are_managed_by_admins_alone(setting, who, allowed):
    person = getattr(setting.team, who)
    study = make_study(setting)
    run = work_through(setting.launch())
    acts = [
        lambda: study_actions.create_study(setting.benchmark, plan(setting, name="Other"), actor=person),
        lambda: study_actions.change_study(study, {"note": "x"}, actor=person),
        lambda: study_actions.adopt_run(study, run, actor=person),
        lambda: study_actions.fill_holes(study, actor=person),
        lambda: study_actions.pause_study(study, actor=person),
        lambda: study_actions.resume_study(study, actor=person),
        lambda: study_actions.cancel_study(study, actor=person),
        lambda: study_actions.freeze_study(study, actor=person),
    ]
    for act in acts:
        if allowed:
            act()
        else:
            with pytest.raises(NotAllowed, match="admin"):
                act()
    assert study.events.count() == (4 if allowed else 1)  # nothing to pause, resume, cancel or fill


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"systems": []}, "systems"),
        ({"judges": []}, "judges"),
        ({"conditions": []}, "conditions"),
        ({"conditions": ["sideways"]}, "conditions"),
        ({"name": ""}, "name"),
        ({"samples": 0}, "samples"),
        ({"samples": 21}, "samples"),
        ({"repeats": 21}, "repeats"),
        ({"concurrency": 0}, "concurrency"),
        ({"budget": Decimal(0)}, "budget"),
        ({"token_budget": 0}, "token_budget"),
    ],
)
def test_plan_with_bad_data_is_refused_naming_the_field(setting, changes, path):
    with pytest.raises(Invalid) as error:
        make_study(setting, **changes)
    assert paths(error) == [path]
    study = make_study(setting)
    with pytest.raises(Invalid) as error:
        study_actions.change_study(study, changes, actor=setting.team.admin)
    assert paths(error) == [path]
    assert Study.objects.count() == 1 and study.events.count() == 1


def test_plan_with_rows_of_others_or_a_person_is_refused(setting):
    other = make_team("other")
    other.benchmark.endpoints.add(setting.endpoint)
    fields = {"endpoint": setting.endpoint, "model": "m"}
    strange = actions.create_judge(other.benchmark, {"name": "strange", **fields}, actor=other.admin)
    run = work_through(setting.launch(items=["bench-0"]))
    person = marking_actions.record_human_verdict(run.responses.get(), True, ALL, actor=setting.team.aud).judge
    elsewhere = Endpoint.objects.create(name="elsewhere", base_url="http://127.0.0.1:9/v1")
    setting.benchmark.endpoints.add(elsewhere)
    far = setting.new_system(endpoint=elsewhere)
    setting.benchmark.endpoints.remove(elsewhere)
    for changes, path in (
        ({"judges": [strange]}, "judges"),
        ({"judges": [person]}, "judges"),
        ({"main_judge": setting.new_judge()}, "main_judge"),
        ({"systems": [far]}, "systems"),
    ):
        with pytest.raises(Invalid) as error:
            make_study(setting, **changes)
        assert paths(error) == [path]


def test_plan_with_a_name_that_is_taken_is_refused(setting):
    make_study(setting)
    with pytest.raises(Invalid, match="is taken already"):
        make_study(setting)


def test_plan_when_changed_says_what_changed_and_only_then(setting):
    study = make_study(setting)
    judge = setting.new_judge(name="second")
    changed = {"judges": [setting.judge, judge], "budget": Decimal("2.50"), "note": ""}
    study_actions.change_study(study, changed, actor=setting.team.admin)
    study_actions.change_study(study, changed, actor=setting.team.admin)
    event = study.events.get(kind="study.changed")
    assert event.data["changes"] == {
        "judges": [[setting.judge.name], [setting.judge.name, "second"]],
        "budget": [None, "2.50"],
    }


def test_plan_keeps_what_has_worked_and_the_release(setting):
    other = setting.new_system()
    study = make_study(setting, systems=[setting.system, other], conditions=["with_image", "without_image"], samples=2)
    fill(setting, study)
    for run in study.runs.filter(condition="without_image"):
        actions.cancel_run(run, actor=setting.team.admin)
    work_all(study)
    judge = setting.new_judge()
    newer = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    for changes, path in (
        ({"systems": [other]}, "systems"),
        ({"judges": [judge], "main_judge": judge}, "judges"),
        ({"conditions": ["without_image"]}, "conditions"),
        ({"samples": 1}, "samples"),
        ({"release": newer}, "release"),
    ):
        with pytest.raises(Invalid) as error:
            study_actions.change_study(study, changes, actor=setting.team.admin)
        assert paths(error) == [path]
    # what was cancelled may go
    study_actions.change_study(study, {"conditions": ["with_image"]}, actor=setting.team.admin)


# --- filling


def test_fill_asks_and_judges_every_planned_cell_once(setting, demo_server):
    study = make_study(
        setting,
        systems=[setting.system, setting.new_system()],
        judges=[setting.judge, setting.new_judge()],
        conditions=["without_image", "with_image"],
    )
    assert study.conditions == ["with_image", "without_image"]
    filled = fill(setting, study)
    assert (len(filled.launched), filled.responses, filled.verdicts, filled.refused) == (4, 0, 0, [])
    assert fill(setting, study) == ([], 0, 0, 0, [])  # all of it is under way
    work_all(study)
    matrix = Matrix(study)
    assert matrix.is_complete and matrix.state == "complete"
    assert (matrix.responses.done, matrix.verdicts.done) == (4 * 3, 4 * 3 * 2)
    asked = len(demo_server.requests)
    assert asked == 12 + 24
    assert fill(setting, study) == ([], 0, 0, 0, [])
    work_all(study)
    assert len(demo_server.requests) == asked
    assert [event.kind for event in study.events.all()] == ["study.finished", "study.filled", "study.created"]


def test_fill_tries_failed_again_and_adds_judges_samples_and_repeats(setting, demo_server):
    study = make_study(setting)
    fill(setting, study)
    work_all(study)
    run = study.runs.get()
    broken = run.responses.first()
    broken.verdicts.all().delete()
    run.responses.filter(pk=broken.pk).update(status="failed", error_kind="timeout", text="")
    unread = run.verdicts.first()
    run.verdicts.filter(pk=unread.pk).update(answer_correct=None, vector=None, unparseable="no verdict")
    kept = set(run.verdicts.exclude(pk=unread.pk).values_list("pk", flat=True))
    row = Matrix(study).rows[0]
    assert row.responses.holes == [Hole("failed", 1, "timeout")]
    assert row.cells[0].holes == [Hole("unparseable", 1), Hole("no_response", 1)]
    change = {"judges": [setting.judge, setting.new_judge()], "samples": 2, "repeats": 2}
    study = study_actions.change_study(study, change, actor=setting.team.admin)
    estimate = Matrix(study).estimate
    # responses: 1 that failed, 3 of the second sample; verdicts: 6 x 2 x 2 planned, of which 1 is there
    assert (estimate.runs, estimate.responses, estimate.verdicts) == (0, 4, 24 - 1)
    filled = fill(setting, study)
    assert (filled.launched, filled.responses) == ([], 4)
    before = len(demo_server.requests)
    work_all(study)
    assert Matrix(study).is_complete
    assert len(demo_server.requests) - before == 4 + 23
    assert kept <= set(study.runs.get().verdicts.values_list("pk", flat=True))
    assert study.runs.get() == run and (run.refresh_from_db(), run.samples, run.repeats)[1:] == (2, 2)


def test_fill_launches_anew_what_was_cancelled(setting):
    study = make_study(setting)
    fill(setting, study)
    assert study_actions.cancel_study(study, actor=setting.team.admin) == 1
    matrix = Matrix(study)
    assert matrix.rows[0].responses.holes == [Hole("cancelled", 3)]
    assert fill(setting, study).launched == [2]
    work_all(study)
    assert Matrix(study).is_complete


def test_fill_does_what_it_can_and_says_what_it_cannot(setting):
    elsewhere = Endpoint.objects.create(name="elsewhere", base_url="http://127.0.0.1:9/v1")
    setting.benchmark.endpoints.add(elsewhere)
    far = setting.new_system(name="far", endpoint=elsewhere)
    study = make_study(setting, systems=[setting.system, far])
    setting.benchmark.endpoints.remove(elsewhere)
    filled = fill(setting, study)
    assert filled.launched == [1]
    [(system, _condition, why)] = filled.refused
    assert system == "far" and "may not use" in why
    with pytest.raises(Invalid, match="far"):
        fill(setting, study)


def test_fill_leaves_a_pause_to_the_person_who_made_it(setting):
    study = make_study(setting)
    fill(setting, study)
    assert study_actions.pause_study(study, actor=setting.team.admin) == 1
    matrix = Matrix(study)
    assert matrix.state == "paused" and matrix.rows[0].responses.holes == [Hole("paused", 3)]
    assert matrix.estimate.calls == 0
    assert fill(setting, study) == ([], 0, 0, 0, [])
    assert study.runs.get().state == RunState.PAUSED
    assert study_actions.resume_study(study, actor=setting.team.admin) == 1
    work_all(study)
    assert Matrix(study).is_complete


def test_estimate_is_what_like_calls_have_cost_and_counts_the_unknown(setting):
    work_through(setting.launch())
    Run.objects.get().responses.update(cost=Decimal("0.20"))
    Run.objects.get().verdicts.update(cost=Decimal("0.03"))
    study = make_study(setting, systems=[setting.system, setting.new_system()], conditions=["without_image"])
    estimate = Matrix(study).estimate
    assert (estimate.runs, estimate.responses, estimate.verdicts) == (2, 6, 6)
    assert estimate.cost == Decimal("0.20") * 3 + Decimal("0.03") * 6
    assert estimate.unknown == 3  # nobody has asked the other system yet


# --- budgets


@pytest.mark.parametrize("budget", [{"budget": Decimal("0.01")}, {"token_budget": 10}])
def test_budget_of_a_study_holds_over_all_its_runs(setting, budget):
    study = make_study(setting, systems=[setting.system, setting.new_system()])
    fill(setting, study)
    first, second = study.runs.order_by("pk")
    work_through(first)
    Run.objects.filter(pk=first.pk).update(spent=Decimal("0.01"), tokens=10)
    study = study_actions.change_study(study, budget, actor=setting.team.admin)
    work_through(second)
    assert second.state == RunState.STOPPED and "study" in second.stop_reason
    assert second.responses.filter(status="pending").count() == 3
    matrix = Matrix(study)
    assert matrix.state == "stopped" and not matrix.budget_left
    assert matrix.rows[1].responses.holes == [Hole("budget", 3)]
    assert newest(study) == "study.stopped"
    [name] = budget
    for act in (study_actions.fill_holes, study_actions.resume_study):
        with pytest.raises(Invalid, match="used up") as error:
            act(study, actor=setting.team.admin)
        assert paths(error) == [name]
    study = study_actions.change_study(study, {name: 10**6}, actor=setting.team.admin)
    assert fill(setting, study).resumed == 1
    work_all(study)
    assert Matrix(study).is_complete
    assert newest(study) == "study.finished"


# --- adopting


def test_adopted_run_fills_its_place_in_the_plan(setting):
    run = work_through(setting.launch())
    trial = work_through(setting.launch(is_trial=True))
    study = make_study(setting, judges=[setting.judge, setting.new_judge()])
    assert list(adoptable_runs(study)) == [run]
    study_actions.adopt_run(study, run, actor=setting.team.admin)
    assert not adoptable_runs(study)
    filled = fill(setting, study)
    assert (filled.launched, filled.responses, filled.verdicts) == ([], 0, 3)
    work_all(study)
    assert Matrix(study).is_complete
    for wrong, why in ((trial, "finished run"), (run, "belongs to")):
        with pytest.raises(Conflict, match=why):
            study_actions.adopt_run(study, wrong, actor=setting.team.admin)
    again = work_through(setting.launch())
    with pytest.raises(Conflict, match="already"):
        study_actions.adopt_run(study, again, actor=setting.team.admin)


def test_adopted_run_must_be_of_the_plan(setting):
    study = make_study(setting)
    twice = work_through(setting.launch(samples=2))
    strange = work_through(setting.launch(system=setting.new_system(name="Not planned")))
    with pytest.raises(Invalid, match="change the plan"):
        study_actions.adopt_run(study, twice, actor=setting.team.admin)
    with pytest.raises(Invalid, match="Not planned"):
        study_actions.adopt_run(study, strange, actor=setting.team.admin)
    newer = cut_release(setting.benchmark, "r2", actor=setting.team.admin)
    with pytest.raises(Invalid, match="another release"):
        study_actions.adopt_run(study, work_through(setting.launch(release=newer)), actor=setting.team.admin)


# --- freezing


def test_frozen_study_changes_no_more(setting):
    study = make_study(setting)
    with pytest.raises(Conflict, match="nothing to freeze"):
        study_actions.freeze_study(study, actor=setting.team.admin)
    fill(setting, study)
    with pytest.raises(Conflict, match="nothing to freeze"):
        study_actions.freeze_study(study, actor=setting.team.admin)
    work_all(study)
    other = work_through(setting.launch())
    study_actions.freeze_study(study, actor=setting.team.admin)
    run = study.runs.get()
    admin = {"actor": setting.team.admin}
    acts = [
        lambda: study_actions.change_study(study, {"note": "x"}, **admin),
        lambda: study_actions.fill_holes(study, **admin),
        lambda: study_actions.adopt_run(study, other, **admin),
        lambda: study_actions.freeze_study(study, **admin),
        lambda: study_actions.resume_study(study, **admin),
        lambda: actions.resume_run(run, **admin),
        lambda: actions.retry_failed(run, **admin),
        lambda: actions.rejudge(run, setting.new_judge(), **admin),
        lambda: actions.cancel_run(run, **admin),
        lambda: marking_actions.record_human_verdict(run.responses.first(), True, ALL, actor=setting.team.aud),
        lambda: setting.launch(study=study),
    ]
    before = [list(rows.order_by("pk").values()) for rows in (run.responses, run.verdicts, run.events)]
    for act in acts:
        with pytest.raises(Conflict) as error:
            act()
        assert error.value.code == "study_frozen"
    assert before == [list(rows.order_by("pk").values()) for rows in (run.responses, run.verdicts, run.events)]
    assert Matrix(Study.objects.get()).state == "frozen"
    with pytest.raises(IntegrityError, match="guarded"):
        Study.objects.update(frozen=None)


def test_freezing_waits_for_runs_that_have_not_ended(setting):
    study = make_study(setting, systems=[setting.system, setting.new_system()])
    fill(setting, study)
    first, second = study.runs.order_by("pk")
    work_through(first)
    for state in ("running", "paused", "stopped"):
        Run.objects.filter(pk=second.pk).update(state=state)
        with pytest.raises(Conflict, match=r"not ended: 2\."):
            study_actions.freeze_study(study, actor=setting.team.admin)
    actions.cancel_run(second, actor=setting.team.admin)
    study_actions.freeze_study(study, actor=setting.team.admin)


# --- noting the end


def test_end_of_a_study_is_noted_once_each_time_it_was_set_going(setting):
    study = make_study(setting, systems=[setting.system, setting.new_system()])
    fill(setting, study)
    first, second = study.runs.order_by("pk")
    work_through(first)
    assert newest(study) == "study.filled"
    work_through(second)
    steps.sweep()
    steps.sweep()
    assert [event.kind for event in study.events.all()][:2] == ["study.finished", "study.filled"]
    actions.rejudge(first, setting.new_judge(), actor=setting.team.admin)
    work_through(first)
    assert [event.kind for event in study.events.all()][:2] == ["study.finished", "study.finished"]


def test_end_of_a_study_is_noted_by_the_sweep_where_the_worker_died_before(setting):
    study = make_study(setting)
    fill(setting, study)
    Run.objects.update(state="stopped")
    steps.sweep()
    assert study.events.get(kind="study.stopped").data == {"finished": 0, "stopped": 1}


# --- reading


def test_matrix_and_list_take_as_many_queries_for_large_studies(setting, django_assert_num_queries):
    small = make_study(setting)
    fill(setting, small)
    large = make_study(
        setting,
        name="Large",
        systems=[setting.system, setting.new_system(), setting.new_system()],
        judges=[setting.judge, setting.new_judge(), setting.new_judge()],
        conditions=["with_image", "without_image"],
    )
    fill(setting, large)
    Run.objects.update(state="stopped")
    for study in (small, large):
        with django_assert_num_queries(5):
            matrix = Matrix(study)
            assert not matrix.is_complete
        with django_assert_num_queries(2):
            assert matrix.estimate.calls > 0
    for studies in ([small], [small, large]):
        with django_assert_num_queries(5):
            lines = lines_of(studies)
    assert [(line.systems, line.judges, line.runs, line.total, line.counts) for line in lines] == [
        (1, 1, 1, 3, {"pending": 3}),
        (3, 3, 6, 18, {"pending": 18}),
    ]


def test_matrix_says_where_an_endpoint_is_broken(setting):
    study = make_study(setting)
    fill(setting, study)
    Endpoint.objects.update(broken="401 five times")
    for state in ("queued", "stopped"):
        Run.objects.update(state=state)
        matrix = Matrix(study)
        assert matrix.rows[0].responses.holes == [Hole("broken", 3)] and matrix.estimate.calls == 0
    Endpoint.objects.update(broken="")
    assert Matrix(study).rows[0].responses.holes == [Hole("stopped", 3)]
