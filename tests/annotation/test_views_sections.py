"""Sections over HTTP: a form that is opened and sent back changes nothing, and nothing that is typed gets lost."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import actions
from annotation.document import SECTIONS, read_document
from annotation.models import Comment, Item
from annotation.states import State
from tests.annotation.pages import HTMX, form_fields, open_form, texts, url
from tests.documents import good_data
from tests.factories import Team


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark").get(pk=item.pk)


def content(item: Item, section: str) -> dict[str, Any]:
    return read_document(fresh(item).document).section(section)


def rich_item(team: Team) -> Item:
    """An item in which every section holds something that its form does not show."""
    data = good_data(id="rich")
    data["nodes"][0] |= {"extra": {"wikidata": "Q1"}}
    data["nodes"][0]["properties"].append(
        {"name": "emblem", "value": "red", "modality": "image", "sources": [], "extra": {"x": 1}}
    )
    data["rivals"][0] |= {"extra": {"seen": "yes"}}
    data["images"][0]["regions"] = [{"key": "g1", "x": 1, "y": 2, "width": 3, "height": 4, "note": "here"}]
    data["checklist"][2] |= {"conclusion": '\nTwo lines,\r\nthe first empty < & > "quoted".', "extra": {"old": 3}}
    data["design"] = "\n\n# Design\n\n`a` < b\n"
    data |= {"category": "unknown-one", "operation_tags": ["numerical", "own-tag"], "extra": {"source": "import"}}
    return team.item(read_document(data))


# --- opening and saving -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", SECTIONS)
def test_form_when_sent_back_untouched_changes_nothing(team: Team, section: str) -> None:
    item, client = rich_item(team), team.client("ann")
    response = client.post(url(item, f"{section}/"), open_form(client, item, section))
    assert response.status_code == 302
    assert response["Location"] == url(item) + f"#{section}"
    assert fresh(item).document_hash == item.document_hash
    assert fresh(item).revision_number == 1


@pytest.mark.parametrize(
    ("section", "field", "value", "path"),
    [
        ("question", "question", "Which one?", ("question",)),
        ("question", "rivals-1-excluded_by", "It is smaller.", ("rivals", 0, "excluded_by")),
        ("design", "design", "# New", ("design",)),
        ("graph", "nodes-2-entity", "Sir B. Baker", ("nodes", 1, "entity")),
        ("graph", "relations-1-via", "engineer", ("relations", 0, "via")),
        ("checklist", "checklist-3-effect", "bridges", ("checklist", 2, "effect")),
        ("sources", "sources-1-locator", "p. 2", ("sources", 0, "locator")),
        ("images", "images-2-role", "question", ("images", 1, "role")),
        ("metadata", "template", "linear", ("template",)),
    ],
)
def test_field_when_changed_is_saved_and_the_rest_kept(
    team: Team, section: str, field: str, value: str, path: tuple[Any, ...]
) -> None:
    item, client = rich_item(team), team.client("ann")
    before = content(item, section)
    response = client.post(url(item, f"{section}/"), open_form(client, item, section) | {field: value, "message": "m"})
    assert response.status_code == 302
    place: Any = before
    for part in path[:-1]:
        place = place[part]
    assert place[path[-1]] != value
    place[path[-1]] = value
    assert content(item, section) == before
    revision = item.revisions.get(number=2)
    assert (revision.section, revision.message, revision.author) == (section, "m", team.ann)


def test_save_for_htmx_answers_with_the_card_and_the_parts_it_changes(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    response = client.post(url(item, "question/"), open_form(client, item, "question") | {"question": "Why?"}, **HTMX)
    html = response.content.decode()
    assert response.status_code == 200
    assert response["HX-Trigger-After-Settle"] == "item-saved"
    assert html.lstrip().startswith('<section class="wb-card" id="question"')
    assert "Why?" in html
    for part in (
        'id="item-head" hx-swap-oob="true"',
        'id="outline"',
        '<section class="wb-card" id="sources"',
    ):
        assert part in html
    assert "<!DOCTYPE" not in html
    assert '<section class="wb-card" id="graph"' not in html  # a question changes nothing there


def test_save_for_htmx_reads_the_item_to_find_it_and_under_the_lock(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "Another way."}
    with CaptureQueriesContext(connection) as queries:
        html = client.post(url(item, "design/"), fields, **HTMX).content.decode()
    reads = [q["sql"] for q in queries if q["sql"].startswith("SELECT") and '"annotation_item"."document"' in q["sql"]]
    assert len(reads) == 2
    assert len(queries) <= 32, [q["sql"][:90] for q in queries]
    item.refresh_from_db()
    assert item.checked_hash == item.document_hash
    assert f"{item.warnings}" in html


def test_save_that_unlinks_answers_with_every_section(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "sources") | {"sources-8-remove": "1", "unlink_removed": "lose"}
    html = client.post(url(item, "sources/"), fields, **HTMX).content.decode()
    assert html.count(" data-section ") == len(SECTIONS)


def test_save_with_a_used_key_makes_one_revision(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "Once."}
    for _attempt in range(2):
        assert client.post(url(item, "design/"), fields).status_code == 302
    assert fresh(item).revision_number == 2


def test_section_for_htmx_is_the_card_and_for_others_the_page(team: Team) -> None:
    item, client = team.item(), team.client("ann2")
    assert b"<!DOCTYPE" not in client.get(url(item, "checklist/"), **HTMX).content
    assert client.get(url(item, "checklist/"))["Location"] == url(item) + "#checklist"


def test_form_without_script_has_three_empty_rows_that_are_ignored(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist")
    assert {"checklist-11-conclusion", "checklist-13-conclusion"} <= set(fields)
    assert "checklist-14-conclusion" not in fields


# --- rows ---------------------------------------------------------------------------------------------------------


def test_new_steps_get_fresh_keys_and_row_numbers_become_links(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {
        "checklist-11-conclusion": "A new one.",
        "checklist-11-prerequisites": "3, c5；10",
        "checklist-13-conclusion": "One after an empty row.",
        "checklist-13-prerequisites": "11",
    }
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    steps = content(item, "checklist")["checklist"]
    # rows 11 and 13 were shown with the keys c11 and c13
    assert [(s["key"], s["prerequisites"]) for s in steps[10:]] == [("c11", ["c3", "c5", "c10"]), ("c13", ["c11"])]


def test_new_key_when_a_comment_names_it_is_passed_over(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    Comment.objects.create(item=item, body="On a step that was removed", author=team.aud, anchor="c11")
    fields = open_form(client, item, "checklist")
    assert fields["checklist-11-newkey"] == "c12"
    # A form from before the comment: its new row was shown as c11, and another one names it so.
    fields |= {"checklist-11-conclusion": "New.", "checklist-11-newkey": "c11"}
    fields |= {"checklist-12-conclusion": "Next.", "checklist-12-newkey": "c12", "checklist-12-prerequisites": "c11"}
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    added = content(item, "checklist")["checklist"][10:]
    assert [(s["key"], s["prerequisites"]) for s in added] == [("c12", []), ("c13", ["c12"])]


def test_new_node_can_be_linked_in_the_same_form(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "graph") | {"nodes-6-entity": "Domenico Fontana", "relations-5-from": "n5"}
    fields |= {"relations-5-to": fields["nodes-6-newkey"], "relations-5-via": "builder"}
    assert client.post(url(item, "graph/"), fields).status_code == 302
    graph = content(item, "graph")
    assert (graph["nodes"][-1]["key"], graph["relations"][-1]["to"]) == ("n6", "n6")


def test_new_node_when_its_key_is_gone_takes_its_links_along(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "graph") | {"nodes-6-entity": "Domenico Fontana", "relations-5-from": "n5"}
    fields["relations-5-to"] = fields["nodes-6-newkey"]
    Comment.objects.create(item=item, body="About an old node", author=team.aud, anchor="n6")
    assert client.post(url(item, "graph/"), fields).status_code == 302
    graph = content(item, "graph")
    assert (graph["nodes"][-1]["key"], graph["relations"][-1]["to"]) == ("n7", "n7")


def test_pasted_lines_become_rows(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    lines = "1. First pasted\n\n- second pasted\n 2024 was a leap year\n"
    client.post(url(item, "checklist/"), open_form(client, item, "checklist") | {"checklist-paste": lines})
    added = content(item, "checklist")["checklist"][10:]
    assert [s["conclusion"] for s in added] == ["First pasted", "second pasted", "2024 was a leap year"]
    urls = "https://en.wikipedia.org/wiki/A\nhttps://a.example/b.PDF\nhttps://www.youtube.com/watch?v=1\nnot a url"
    client.post(url(item, "sources/"), open_form(client, item, "sources") | {"sources-paste": urls})
    added = content(item, "sources")["sources"][8:]
    assert [s["kind"] for s in added] == ["wikipedia", "pdf", "video", "web"]
    assert [s["key"] for s in added] == ["s9", "s10", "s11", "s12"]


def test_rows_when_reordered_keep_their_links(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist")
    # Row 7 (c7) moves to the front, as the script does it: the order of fields, and numbers that follow.
    moved = {n: v for n, v in fields.items() if n.startswith("checklist-7-")}
    order = [7, 1, 2, 3, 4, 5, 6, 8, 9, 10]
    rest = {n: v for n, v in fields.items() if not n.startswith("checklist-7-")}
    for name in [n for n in (*rest, *moved) if n.endswith("-prerequisites")]:
        box = moved if name in moved else rest
        box[name] = ", ".join(str(order.index(int(n)) + 1) for n in box[name].split(", ") if n)
    client.post(url(item, "checklist/"), {**moved, **rest})
    before = {s.key: s.prerequisites for s in read_document(item.document).checklist}
    after = read_document(fresh(item).document).checklist
    assert [s.key for s in after] == [f"c{n}" for n in order]
    assert {s.key: s.prerequisites for s in after} == before


# --- what cannot be saved -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "changes", "sentence", "beside"),
    [
        ("checklist", {"checklist-2-prerequisites": "1, 99"}, "Step 2 needs step 99", "checklist-2-prerequisites"),
        ("checklist", {"checklist-2-prerequisites": "12"}, "no step with this number", "checklist-2-prerequisites"),
        ("checklist", {"checklist-2-prerequisites": "9" * 400}, "Step 2 needs step", "checklist-2-prerequisites"),
        ("checklist", {"checklist-3-sources": "s77"}, "c3 refers to the source s77", "checklist-3-sources"),
        ("checklist", {"checklist-3-nodes": "n/7"}, "must be a key", "checklist-3-nodes"),
        ("checklist", {"checklist-3-modality": "smell"}, "must be one of", "checklist-3-modality"),
        ("checklist", {"checklist-1-key": "c2"}, "already used", "checklist-1-conclusion"),
        ("graph", {"nodes-1-properties": "a | b | c | d | e"}, "more than four parts", "nodes-1-properties"),
        ("graph", {"nodes-1-properties": "a | b | smell"}, "must be one of", "nodes-1-properties"),
        ("graph", {"relations-1-to": ""}, "must be a key", "relations-1-to"),
        ("graph", {"relations-1-to": "n99"}, "r1 refers to the node n99", "relations-1-from"),
        ("sources", {"sources-1-accessed": "yesterday"}, "a day", "sources-1-accessed"),
        ("question", {"as_of": "2026-02-31x"}, "a day", "question-as_of"),
        ("question", {"answer_sources": "s99"}, "answer refers to the source s99", "question-answer_sources"),
        ("question", {"rivals-1-sources": "s98"}, "rival 1 refers to the source s98", "rivals-1-sources"),
        ("metadata", {"template": "round"}, "must be one of", "metadata-template"),
    ],
)
@pytest.mark.parametrize("kind", [{}, HTMX], ids=["page", "htmx"])
def test_bad_field_when_saved_is_422_beside_its_control_with_all_text(
    team: Team, section: str, changes: dict[str, str], sentence: str, beside: str, kind: Any
) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, section) | changes
    response = client.post(url(item, f"{section}/"), fields | {"message": "My words"}, **kind)
    html = response.content.decode()
    assert response.status_code == 422
    assert ("<!DOCTYPE" in html) is not bool(kind)
    kept = form_fields(html)
    assert {**kept, "save_key": ""} == {**fields, "message": "My words", "save_key": ""}
    notes = html.split(f'id="f-{beside}-e"')[1].split("</ul>")[0]
    assert sentence in notes
    assert fresh(item).document_hash == item.document_hash


def test_cycle_when_saved_is_spelled_out(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-3-prerequisites": "2, 5"}
    response = client.post(url(item, "checklist/"), fields)
    assert response.status_code == 422
    assert "c3 -&gt; c5 -&gt; c4 -&gt; c3" in response.content.decode()
    assert form_fields(response.content.decode())["checklist-3-prerequisites"] == "2, 5"


def test_removed_step_when_needed_offers_to_inherit_or_lose(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-3-remove": "1"}
    response = client.post(url(item, "checklist/"), fields)
    html = response.content.decode()
    assert response.status_code == 422
    assert "c3 cannot be removed while others refer to it: c4." in html
    kept = form_fields(html)
    assert kept["checklist-3-remove"] == "1" and kept["checklist-3-conclusion"] == fields["checklist-3-conclusion"]
    assert 'value="inherit"' in html
    assert client.post(url(item, "checklist/"), kept | {"unlink_removed": "inherit"}).status_code == 302
    assert {s["key"]: s["prerequisites"] for s in content(item, "checklist")["checklist"]}["c4"] == ["c2"]


def test_removed_source_when_linked_offers_to_remove_the_links(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "sources") | {"sources-8-remove": "1"}
    html = client.post(url(item, "sources/"), fields, **HTMX).content.decode()
    assert 'value="lose"' in html and 'value="inherit"' not in html
    assert client.post(url(item, "sources/"), form_fields(html) | {"unlink_removed": "lose"}).status_code == 302
    assert content(item, "question")["answer_sources"] == []


def test_save_without_the_base_hash_is_422_with_all_text(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    response = client.post(url(item, "design/"), {"design": "Typed long and well."})
    assert response.status_code == 422
    assert form_fields(response.content.decode())["design"] == "Typed long and well."
    assert fresh(item).revision_number == 1


def test_save_of_100_kilobytes_is_kept_and_shown(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    text = "Lang " * 20_000
    assert client.post(url(item, "design/"), open_form(client, item, "design") | {"design": text}).status_code == 302
    assert content(item, "design")["design"] == text
    assert client.get(url(item)).status_code == 200


def test_save_with_a_nul_is_refused(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "a\x00b"}
    response = client.post(url(item, "design/"), fields)
    assert response.status_code == 400
    assert "cannot be stored" in response.content.decode()
    assert fresh(item).revision_number == 1


def test_save_with_half_a_surrogate_stores_the_replacement_character(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    body = b"design=a%ED%A0%80b&base_hash=" + item.section_hashes["design"].encode()
    response = client.post(url(item, "design/"), body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 302
    assert content(item, "design")["design"] == "a\ufffd\ufffd\ufffdb"


@pytest.mark.parametrize("rest", ["nonsense/", "nonsense/edit/", "question/nonsense/"])
def test_unknown_section_is_not_found(team: Team, rest: str) -> None:
    assert team.client("ann").get(url(team.item(), rest)).status_code == 404


def test_garbage_row_names_are_ignored(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {
        "checklist--conclusion": "x",
        "checklist-1000000000000000-conclusion": "x",
        "checklist-1-evil": "x",
        "checklist-é-conclusion": "x",
    }
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    assert fresh(item).revision_number == 1


# --- conflicts ----------------------------------------------------------------------------------------------------


def conflict(team: Team, section: str, theirs: dict[str, str], mine: dict[str, str]) -> tuple[Item, Any, str]:
    item, client = team.item(), team.client("ann")
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    fields, other = open_form(client, item, section), team.client("ann2")
    assert other.post(url(item, f"{section}/"), open_form(other, item, section) | theirs).status_code == 302
    response = client.post(url(item, f"{section}/"), fields | mine, **HTMX)
    assert response.status_code == 409
    return item, client, response.content.decode()


def test_conflict_in_different_rows_is_merged_in_the_form(team: Team) -> None:
    item, client, html = conflict(
        team,
        "checklist",
        {"checklist-2-conclusion": "Theirs.", "checklist-11-conclusion": "Their new one."},
        {"checklist-5-conclusion": "Mine.", "checklist-11-conclusion": "My new one."},
    )
    assert "hold" in html and "Keep mine" in html and "Take theirs" in html
    merged = form_fields(html)
    assert (merged["checklist-2-conclusion"], merged["checklist-5-conclusion"]) == ("Theirs.", "Mine.")
    assert client.post(url(item, "checklist/"), merged).status_code == 302
    steps = {s["key"]: s["conclusion"] for s in content(item, "checklist")["checklist"]}
    assert (steps["c11"], steps["c12"]) == ("Their new one.", "My new one.")


def test_conflict_in_one_field_shows_both_and_keeps_mine_in_the_form(team: Team) -> None:
    item, client, html = conflict(team, "question", {"question": "Their words?"}, {"question": "My words?"})
    assert "Their" in html and "<del>" in html and "both of you changed" in html
    kept = form_fields(html)
    assert kept["question"] == "My words?"
    assert client.post(url(item, "question/"), kept).status_code == 302
    assert content(item, "question")["question"] == "My words?"
    assert [r.author for r in item.revisions.order_by("number")] == [team.ann, team.ann2, team.ann]


def test_conflict_in_some_fields_keeps_mine_there_and_theirs_elsewhere(team: Team) -> None:
    _item, _client, html = conflict(
        team,
        "checklist",
        {"checklist-2-conclusion": "Theirs in 2.", "checklist-4-conclusion": "Theirs in 4."},
        {"checklist-4-conclusion": "Mine in 4.", "checklist-6-conclusion": "Mine in 6."},
    )
    kept = form_fields(html)
    assert [kept[f"checklist-{n}-conclusion"] for n in (2, 4, 6)] == ["Theirs in 2.", "Mine in 4.", "Mine in 6."]


def test_conflict_over_a_removed_row_keeps_all_of_mine(team: Team) -> None:
    _item, _client, html = conflict(
        team,
        "question",
        {"rivals-1-remove": "1", "question": "Theirs?"},
        {"rivals-1-excluded_by": "Mine.", "answer": "Mine"},
    )
    kept = form_fields(html)
    assert (kept["rivals-1-excluded_by"], kept["answer"]) == ("Mine.", "Mine")
    assert "Rival" in html


def test_conflict_with_broken_rows_is_422_first_and_keeps_the_text(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-2-prerequisites": "77", "base_hash": "old"}
    response = client.post(url(item, "checklist/"), fields)
    assert response.status_code == 422
    kept = form_fields(response.content.decode())
    assert (kept["checklist-2-prerequisites"], kept["base_hash"]) == ("77", "old")


# --- who ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 200), ("ann2", 403), ("aud", 403), ("core", 403), ("stranger", 404)]
)
def test_form_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    for section in SECTIONS:
        assert team.client(who).get(url(item, f"{section}/edit/"), **HTMX).status_code == status


@pytest.mark.parametrize(("who", "status"), [("ann", 302), ("ann2", 403), ("admin", 403), ("stranger", 404)])
def test_save_by_role(team: Team, who: str, status: int) -> None:
    item = team.item()
    fields = open_form(team.client("ann"), item, "design") | {"design": "Mine"}
    response = team.client(who).post(url(item, "design/"), fields)
    assert response.status_code == status
    assert (fresh(item).revision_number == 2) is (who == "ann")
    if status == 403:
        assert "co-editors edit it" in response.content.decode()
        assert form_fields(response.content.decode())["design"] == "Mine"


def test_save_after_submission_is_403_with_the_reason_and_all_text(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "design") | {"design": "Too late"}
    Item.objects.filter(pk=item.pk).update(state=State.SECONDARY_AUDIT.value)
    response = client.post(url(item, "design/"), fields, **HTMX)
    assert response.status_code == 403
    assert "only core members edit it now" in response.content.decode()
    assert form_fields(response.content.decode())["design"] == "Too late"


def test_draft_when_posted_to_the_form_comes_back_unsaved(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-12-conclusion": "Typed yesterday"}
    response = client.post(url(item, "checklist/edit/"), fields, **HTMX)
    kept = form_fields(response.content.decode())
    assert (kept["checklist-12-conclusion"], kept["base_hash"]) == ("Typed yesterday", fields["base_hash"])
    assert 'data-guard="dirty"' in response.content.decode()
    assert fresh(item).revision_number == 1


def test_drawing_shows_the_steps_as_typed_with_the_numbers_of_their_rows(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-1-remove": "1", "checklist-2-prerequisites": ""}
    html = client.post(url(item, "checklist/drawing/"), fields, **HTMX).content.decode()
    assert "Step 2: Benjamin Baker" in html and "Step 1:" not in html
    html = client.post(url(item, "checklist/drawing/"), fields | {"checklist-3-prerequisites": "4"}).content.decode()
    assert "A circle: c3 -&gt; c4 -&gt; c3" in html
    half = fields | {"checklist-3-modality": "sme"}
    assert client.post(url(item, "checklist/drawing/"), half).status_code == 204
    assert client.get(url(item, "checklist/drawing/")).status_code == 405
    assert team.client("stranger").post(url(item, "checklist/drawing/"), fields).status_code == 404
    assert fresh(item).revision_number == 1


def test_preview_renders_safe_markdown_for_members_only(team: Team) -> None:
    item = team.item()
    address = reverse("annotation:markdown-preview", args=[team.benchmark.slug, item.number])
    html = team.client("aud").post(address, {"design": "**b** <script>x</script>"}).content.decode()
    assert "<strong>b</strong>" in html and "<script" not in html
    assert team.client("stranger").post(address, {"design": "b"}).status_code == 404
    assert team.client("aud").get(address).status_code == 405


def test_design_and_its_preview_show_the_elements_it_names(team: Team, django_assert_max_num_queries: Any) -> None:
    text = "From [[n1]] by [[r1]] and [[c1]], see [[s1]], [[i1]] and [[n77]]."
    item = team.item(read_document(good_data(id="named", design=text)))
    client = team.client("aud")
    with django_assert_max_num_queries(5):
        preview = client.post(url(item, "preview/"), {"design": text}).content.decode()
    for html in (preview, client.get(url(item)).content.decode()):
        for key, about in (
            ("n1", "Forth Bridge"),
            ("r1", "Forth Bridge → Benjamin Baker"),
            ("c1", "The bridge in the"),
        ):
            place = {"n": "node", "r": "relation", "c": "step"}[key[0]]
            assert f'href="#{place}-{key}">{key}</a>' in html
            assert about in html
        assert html.count("no such element") == 1
        assert 'href="https://www.theforthbridges.org/forth-bridge/"' in html


# --- the graph ----------------------------------------------------------------------------------------------------


def test_properties_are_rows_in_their_node_and_lines_are_added(team: Team) -> None:
    item, client = rich_item(team), team.client("ann")
    fields = open_form(client, item, "graph")
    assert fields["nodes-1-prop-2-name"] == "emblem"
    assert fields["nodes-1-properties"] == ""
    fields |= {
        "nodes-1-prop-1-name": "",  # n1's first property is emptied: it goes
        "nodes-1-prop-1-value": " ",
        "nodes-1-prop-1-modality": "",
        "nodes-1-prop-1-sources": "",
        "nodes-1-prop-2-value": "a | b\nc",
        "nodes-2-prop-x9-name": "born",
        "nodes-2-prop-x9-sources": "s2; s3",
        "nodes-2-properties": "diploma | 1956 | image | s1\nlast",
    }
    assert client.post(url(item, "graph/"), fields).status_code == 302
    first, second, *_others = content(item, "graph")["nodes"]
    assert first["properties"] == [
        {"name": "emblem", "value": "a | b\nc", "modality": "image", "sources": [], "extra": {"x": 1}}
    ]
    assert [(p["name"], p["value"], p["modality"], p["sources"]) for p in second["properties"][1:]] == [
        ("born", "", None, ["s2", "s3"]),
        ("diploma", "1956", "image", ["s1"]),
        ("last", "", None, []),
    ]


def test_property_with_a_source_that_is_gone_comes_back_with_its_text(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "graph") | {"nodes-1-prop-1-sources": "s99", "nodes-1-prop-1-value": "kept <b>"}
    response = client.post(url(item, "graph/"), fields)
    assert response.status_code == 422
    assert "s99" in texts(response.content.decode())
    assert form_fields(response.content.decode())["nodes-1-prop-1-value"] == "kept <b>"
    lines = {"nodes-1-properties": "a | b | c | d | e"}
    assert "more than four parts" in client.post(url(item, "graph/"), fields | lines).content.decode()


def test_graph_drawing_follows_the_form_and_says_what_is_amiss(team: Team) -> None:
    item, client = team.item(), team.client("aud")
    fields = open_form(team.client("ann"), item, "graph") | {
        "nodes-5-remove": "1",
        "nodes-6-entity": "Rome",
        "relations-1-to": "n1",
        "relations-5-from": "n2",
        "relations-5-to": "n3",
        "relations-5-via": "Ship designed",
        "relations-6-from": "n6",
    }
    html = client.post(url(item, "graph/drawing/"), fields).content.decode()
    assert 'data-key="n6"' in html and 'data-key="n5"' not in html
    said = texts(html)
    assert "r1 leads from n1 to itself" in said
    assert "r4: there is no node n5" in said
    assert "“ship” is no property of n2" in said
    assert said.count("is no property of n2") == 1
    assert "r6: one of its ends is not named yet" in said
    assert "No step covers n6 r5" in said
    assert fresh(item).revision_number == 1
    assert client.post(url(item, "graph/drawing/"), {"nodes-1-entity": "\x00"}).status_code in (204, 400, 422)
    assert client.get(url(item, "graph/drawing/")).status_code == 405
    assert team.client("stranger").post(url(item, "graph/drawing/"), fields).status_code == 404


def test_graph_read_shows_coverage_and_relations_without_their_property(team: Team) -> None:
    data = good_data(id="bare")
    data["checklist"][2]["nodes"] = []
    item = team.item(read_document(data))
    html = team.client("aud").get(url(item)).content.decode()
    assert 'data-element="n1" data-steps="c1 c2"' in html
    assert "“designer” is no property of n1" in texts(html)
    assert "No step covers n2" in texts(html)
    assert '<a class="wb-key" href="#step-c5" data-step="c5"' in html


# --- the question -------------------------------------------------------------------------------------------------


def test_blurs_of_the_typed_question_are_shown_to_members_and_nothing_is_saved(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    address = url(item, "question/blurs/")
    typed = {"question": "One\r\nin 1887 by Thutmose III?", "answer": "the 1880s", "language": "en"}
    html = client.post(address, typed).content.decode()
    assert 'data-blur="the late 1880s" data-was="1887" data-start="7"' in html
    assert 'data-blur="a person" data-was="Thutmose III"' in html
    assert texts(html).count("still holds the answer") == 1  # the second rendering
    assert "No number, date or name" in client.post(address, {"question": "Why?"}).content.decode()
    for odd in ("9" * 500, "<b>1887</b>", "٣٣٧ 三" * 50):
        assert "<b>1887</b><" not in client.post(address, {"question": odd}).content.decode().replace(
            "<b>1887</b>\n", ""
        )
    assert team.client("aud").post(address, typed).status_code == 200
    assert team.client("stranger").post(address, typed).status_code == 404
    assert client.get(address).status_code == 405
    assert fresh(item).revision_number == 1


def test_rivals_link_their_sources_and_are_marked_until_ruled_out(team: Team) -> None:
    rivals = [
        {"answer": "1586", "excluded_by": "It is shorter.", "sources": ["s6"]},
        {"answer": "1587", "excluded_by": " ", "sources": ["s6"]},
        {"answer": "1589", "excluded_by": "It stands elsewhere.", "sources": []},
    ]
    item = team.item(read_document(good_data(id="rivals", rivals=rivals)))
    html = team.client("aud").get(url(item)).content.decode()
    said = texts(html)
    assert "1586 It is shorter. s6 Begun for Thutmose III at Karnak 1587" in said
    assert said.count("Not ruled out yet") == 2
    assert "no constraint is named" in said and "no source shows it" in said
    form = team.client("ann").get(url(item, "question/edit/")).content.decode()
    assert texts(form).count("Not ruled out yet") == 2
