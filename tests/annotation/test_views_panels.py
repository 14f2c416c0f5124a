"""Checks beside an item, and who may see all panels."""

from typing import Any

import pytest

from annotation import actions, steps
from annotation.document import read_document
from annotation.finding_queries import current_findings
from annotation.models import Dismissal, Item
from annotation.queries import item_page
from tests.annotation.pages import HTMX, PLAIN_AND_HTMX, open_form, texts, url
from tests.documents import good_data
from tests.factories import Team


def item_with_warning(team: Team) -> tuple[Item, Any]:
    data = good_data(id="warn")
    data["checklist"][9]["prerequisites"] = ["c9", "c8"]  # c8 is implied by c9
    item = team.item(read_document(data))
    return item, next(f for f in current_findings(item) if f.code == "redundant_edge")


PANELS = ["checks/", "comments/", "history/"]


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 200), ("aud", 200), ("admin", 200), ("stranger", 404)]
)
def test_panels_by_role(team: Team, panel: str, who: str, status: int) -> None:
    item = team.item()
    part = team.client(who).get(url(item, panel), **HTMX)
    page = team.client(who).get(url(item, panel))
    assert (part.status_code, page.status_code) == (status, status)
    if status == 200:
        assert "<!DOCTYPE" not in part.content.decode()
        assert "<!DOCTYPE" in page.content.decode()


# --- checks -------------------------------------------------------------------------------------------------------


def test_checks_say_what_is_wrong_why_and_how_to_mend(team: Team) -> None:
    item, finding = item_with_warning(team)
    words = texts(team.client("ann").get(url(item, "checks/"), **HTMX).content.decode())
    assert finding.message in words and finding.remedy in words and finding.check.why[:30] in words


def dismiss(
    team: Team, item: Item, finding: Any, who: str = "ann", reason: str = "It helps readers.", **kind: Any
) -> Any:
    fields = {"subject": finding.subject, "fingerprint": finding.fingerprint, "reason": reason}
    return team.client(who).post(url(item, "checks/dismiss/"), fields, **kind)


def test_warning_when_dismissed_shows_the_reason_and_can_be_taken_back(team: Team) -> None:
    item, finding = item_with_warning(team)
    html = dismiss(team, item, finding, **HTMX).content.decode()
    assert "bench-ann: It helps readers." in texts(html)
    assert 'id="count-checks" hx-swap-oob="true"' in html
    html = team.client("ann").post(url(item, "checks/recall/"), {"subject": finding.subject}, **HTMX).content.decode()
    assert "It helps readers." not in html
    assert not Dismissal.objects.exists()


def test_dismissal_when_its_content_changes_lapses(team: Team) -> None:
    item, finding = item_with_warning(team)
    assert dismiss(team, item, finding).status_code == 302
    item.refresh_from_db()
    content = read_document(item.document).section("checklist")
    content["checklist"][9]["prerequisites"] = ["c9", "c8", "c7"]
    item = actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)
    assert [f.shown_level for f in current_findings(item) if f.code == "redundant_edge"] == ["warning", "warning"]


@pytest.mark.parametrize(
    ("reason", "fields", "status", "sentence"),
    [
        ("  ", {}, 422, "Say why this warning does not apply."),
        ("ok", {"subject": "unknown"}, 409, "ran anew"),
    ],
)
def test_dismissal_when_refused_keeps_the_text(
    team: Team, reason: str, fields: dict[str, str], status: int, sentence: str
) -> None:
    item, finding = item_with_warning(team)
    data = {"subject": finding.subject, "fingerprint": finding.fingerprint, "reason": reason} | fields
    for kind in PLAIN_AND_HTMX:
        response = team.client("ann").post(url(item, "checks/dismiss/"), data, **kind)
        assert response.status_code == status
        assert sentence in response.content.decode()
    assert not Dismissal.objects.exists()


def test_error_cannot_be_dismissed(team: Team) -> None:
    item = team.item(read_document(good_data(id="err", answer="")))
    finding = next(f for f in current_findings(item) if f.level == "error")
    assert dismiss(team, item, finding).status_code == 422
    assert f'value="{finding.subject}"' not in team.client("ann").get(url(item, "checks/"), **HTMX).content.decode()


def save(team: Team, item: Item, section: str, **changes: Any) -> Item:
    item.refresh_from_db()
    content = read_document(item.document).section(section) | changes
    item = actions.save_section(item, section, content, item.section_hashes[section], actor=team.ann)
    steps.check_item(item.pk)
    item.refresh_from_db()
    return item


def new_ones(item: Item) -> list[str]:
    return [f.code for f in current_findings(item) if f.is_new]


def test_findings_are_new_with_the_save_that_brought_them_and_no_longer(team: Team) -> None:
    item, _finding = item_with_warning(team)
    steps.check_item(item.pk)
    item.refresh_from_db()
    assert new_ones(item) == []  # nothing is new in a first revision
    item = save(team, item, "question", answer="", answer_sources=[])
    assert new_ones(item) == ["empty_field"]
    assert item_page(item, team.ann).since_last_save == "1 new"
    steps.check_item(item.pk)
    Item.objects.filter(pk=item.pk).update(checked_hash="")  # as a twin would
    steps.check_item(item.pk)
    item.refresh_from_db()
    assert new_ones(item) == ["empty_field"]
    item = save(team, item, "design", design="Another way.")
    assert (new_ones(item), item_page(item, team.ann).since_last_save) == ([], "")
    item = save(team, item, "question", answer="1588", answer_sources=[], answer_aliases=[])
    # the empty answer is mended, but now it has no source
    assert new_ones(item) == ["missing_source"]
    assert item_page(item, team.ann).since_last_save == "1 mended, 1 new"


def test_findings_not_stored_yet_are_new_too(team: Team) -> None:
    item, _finding = item_with_warning(team)
    steps.check_item(item.pk)
    item.refresh_from_db()
    content = read_document(item.document).section("metadata") | {"category": None}
    item = actions.save_section(item, "metadata", content, item.section_hashes["metadata"], actor=team.ann)
    assert new_ones(item) == ["missing_metadata"]


def test_save_says_what_it_brought_and_opens_that_alone(team: Team) -> None:
    item, _finding = item_with_warning(team)
    steps.check_item(item.pk)
    item.refresh_from_db()
    client = team.client("ann")
    fields = open_form(client, item, "metadata") | {"category": ""}
    html = client.post(url(item, "metadata/"), fields, **HTMX).content.decode()
    assert '<div id="checks-said" hx-swap-oob="innerHTML">1 new</div>' in html
    panel = client.get(url(item, "checks/"), **HTMX).content.decode()
    assert panel.count('<details class="wb-check" open>') == 1
    opened = panel.split('<details class="wb-check" open>')[1].split("</h4>")[0]
    assert "The item has no category." in opened and "new" in opened
    assert "With the last save (r2): 1 new." in texts(panel)
    assert "/help/checks/#category-template-or-operation-tag-is-missing" in panel


def test_quiet_mode_is_ones_own_and_hides_until_asked(team: Team) -> None:
    item, _finding = item_with_warning(team)
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    client = team.client("ann")
    assert client.post(url(item, "checks/quiet/"), {"quiet": "on"})["Location"] == url(item) + "?panel=checks#panel"
    page = client.get(url(item)).content.decode()
    assert 'class="wb-3 is-quiet"' in page and 'aria-pressed="true"' in page
    assert 'class="wb-3 is-quiet"' not in client.get(url(item, "?checks=all")).content.decode()
    assert 'class="wb-3 is-quiet"' not in team.client("ann2").get(url(item)).content.decode()
    part = client.post(url(item, "checks/quiet/"), {"quiet": "off"}, **HTMX)
    assert part["HX-Trigger-After-Settle"] == "quiet-changed" and "data-quiet" not in part.content.decode()
    assert 'class="wb-3 is-quiet"' not in client.get(url(item)).content.decode()


def test_quiet_mode_says_that_errors_keep_an_item_from_submission(team: Team) -> None:
    item = team.item(read_document(good_data(id="err", answer="", answer_sources=[])))
    actions.set_quiet_checks(True, actor=team.ann)
    words = texts(team.client("ann").get(url(item, "checks/"), **HTMX).content.decode())
    assert "Submitting waits all the same: 1 error to mend first." in words


def test_quiet_mode_is_for_those_who_draft(team: Team) -> None:
    item = team.item()
    for who in ("aud", "core", "ann2"):
        assert team.client(who).post(url(item, "checks/quiet/"), {"quiet": "on"}).status_code == 302
        html = team.client(who).get(url(item)).content.decode()
        assert "is-quiet" not in html and "checks/quiet/" not in html
    assert team.client("stranger").post(url(item, "checks/quiet/"), {"quiet": "on"}).status_code == 404


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("core", 403), ("stranger", 404)])
def test_dismissal_by_others_is_refused(team: Team, who: str, status: int) -> None:
    item, finding = item_with_warning(team)
    assert dismiss(team, item, finding, who=who).status_code == status
    assert team.client(who).post(url(item, "checks/recall/"), {"subject": finding.subject}).status_code == status
    assert not Dismissal.objects.exists()
