"""Systems and judges that never ran are edited and deleted; what has run is only copied."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation import errands
from evaluation.configuration_actions import change_configuration, delete_configuration
from evaluation.ledger import ledger_page
from evaluation.models import ConfigurationEvent, Judge, System
from evaluation.probe_actions import launch_probes
from evaluation.study_actions import create_study
from evaluation.try_actions import try_system
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.probing import item_with_picture
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_configurations import judge_data, system_data

KINDS = ("system", "judge")


def row_of(setting: Setting, kind: str) -> Any:
    return setting.system if kind == "system" else setting.judge


def url(name: str, row: Any) -> str:
    return reverse(f"evaluation:{name}", args=[row.benchmark.slug, row.pk])


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_never_ran_is_changed_and_deleted_with_events(setting: Setting, kind: str) -> None:
    row, admin = row_of(setting, kind), setting.team.admin
    old = row.model
    assert change_configuration(row, {"model": "another", "max_tries": 2}, actor=admin).model == "another"
    event = ConfigurationEvent.objects.get()
    assert (event.kind, event.actor) == (f"{kind}.changed", admin)
    assert event.data["changes"]["model"] == [old, "another"]
    delete_configuration(row, actor=admin)
    assert not type(row).objects.filter(pk=row.pk).exists()
    assert ConfigurationEvent.objects.first().kind == f"{kind}.deleted"
    with pytest.raises(Conflict):
        delete_configuration(row, actor=admin)


def _launch(setting: Setting) -> None:
    setting.launch()


def _plan(setting: Setting) -> None:
    data = {"name": "S", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    create_study(setting.benchmark, data, actor=setting.team.admin)


def _probe(setting: Setting) -> None:
    from evaluation.probe_actions import launch_probes

    item = item_with_picture(setting)
    launch_probes(item, systems=[setting.system], conditions=[False], judge=setting.judge, actor=setting.team.core)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", [_launch, _plan, _probe])
def test_one_that_was_used_is_neither_changed_nor_deleted(setting: Setting, kind: str, use: Any) -> None:
    use(setting)
    row = row_of(setting, kind)
    for act in (lambda: change_configuration(row, {"model": "x"}, actor=setting.team.admin),
                lambda: delete_configuration(row, actor=setting.team.admin)):  # fmt: skip
        with pytest.raises(Conflict, match="has run"):
            act()
    row.refresh_from_db()
    assert row.model != "x" and not ConfigurationEvent.objects.exists()


def test_system_that_was_tried_can_be_deleted_and_stays_in_the_exposure_ledger(setting: Setting) -> None:
    try_system(setting.system, release=setting.release, actor=setting.team.admin)
    with pytest.raises(Conflict):
        delete_configuration(setting.system, actor=setting.team.admin)
    errands.run_errands(60)
    delete_configuration(setting.system, actor=setting.team.admin)
    [entry], _next = ledger_page(setting.benchmark)
    assert (entry.how, entry.name) == ("tryout", setting.system.name)


def test_change_that_cannot_be_is_refused_and_nothing_is_written(setting: Setting) -> None:
    other = setting.new_system()
    for changes in ({"name": other.name}, {"model": ""}, {"extra_body": {"messages": []}}):
        with pytest.raises(Invalid):
            change_configuration(setting.system, changes, actor=setting.team.admin)
    with pytest.raises(Invalid):
        change_configuration(setting.judge, {"prompt_version": "none"}, actor=setting.team.admin)
    with pytest.raises(NotAllowed):
        change_configuration(setting.system, {"model": "x"}, actor=setting.team.core)
    assert not ConfigurationEvent.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("core", 403), ("admin", 302), ("stranger", 404)])
def test_edit_and_delete_by_role_are_for_admins_only(setting: Setting, kind: str, who: str, expected: int) -> None:
    row, browser = row_of(setting, kind), setting.team.client(who)
    data = system_data(setting) if kind == "system" else judge_data(setting)
    assert browser.get(url(f"{kind}-edit", row)).status_code == (200 if who == "admin" else expected)
    assert browser.post(url(f"{kind}-edit", row), data).status_code == expected
    assert type(row).objects.filter(name=data["name"]).exists() == (who == "admin")
    assert browser.post(url(f"{kind}-delete", row)).status_code == expected
    assert type(row).objects.filter(pk=row.pk).exists() == (who != "admin")


@pytest.mark.parametrize("kind", KINDS)
def test_pages_offer_edit_and_delete_until_it_has_run(setting: Setting, kind: str) -> None:
    row, browser = row_of(setting, kind), setting.team.client("admin")
    form = browser.get(url(f"{kind}-edit", row)).content.decode()
    assert f'value="{row.name}"' in form and f"Edit {row.name}" in form
    preset = browser.post(url(f"{kind}-edit", row), {"name": "typed", "preset": "openai-search"}).content.decode()
    assert 'value="typed"' in preset and "web_search" in preset
    edit, delete = url(f"{kind}-edit", row), url(f"{kind}-delete", row)
    page = browser.get(url(f"{kind}-page", row)).content.decode()
    assert edit in page and delete in page
    setting.launch()
    page = browser.get(url(f"{kind}-page", row)).content.decode()
    assert edit not in page and delete not in page
    assert browser.get(edit).status_code == 302 and browser.post(delete).status_code == 409
    assert System.objects.exists() and Judge.objects.exists()


def test_trail_tells_of_changes_and_deletions(setting: Setting) -> None:
    from lhdr_site.shared.events import SOURCES

    change_configuration(setting.system, {"model": "another"}, actor=setting.team.admin)
    delete_configuration(setting.judge, actor=setting.team.admin)
    source = SOURCES["configurations"]
    said = [(source.words(event), source.about(event)[0]) for event in source.rows(setting.benchmark.pk)]
    assert "deleted the judge" in said[0][0] and said[0][1] == setting.judge.name
    assert said[1][0].endswith("model") and said[1][1] == setting.system.name


def test_probe_of_what_was_changed_or_deleted_meanwhile_takes_it_as_it_is(setting: Setting) -> None:
    item, admin, auditor = item_with_picture(setting), setting.team.admin, setting.team.aud
    system, judge = (
        System.objects.get(pk=setting.system.pk),
        Judge.objects.get(pk=setting.judge.pk),
    )  # as a page read them
    change_configuration(setting.system, {"model": "another"}, actor=admin)
    change_configuration(setting.judge, {"name": "Renamed"}, actor=admin)
    [probe] = launch_probes(item, systems=[system], conditions=[False], judge=judge, actor=auditor)
    assert (probe.model, probe.judge_name) == ("another", "Renamed")
    gone = setting.new_system(name="Gone")
    delete_configuration(System.objects.get(pk=gone.pk), actor=admin)
    with pytest.raises(Conflict, match="deleted meanwhile"):
        launch_probes(item, systems=[gone], conditions=[False], actor=auditor)
