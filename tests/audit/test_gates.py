"""The seven gates as pages show them: one set of names, who decided, and what made them stale."""

import re
from typing import Any

from django.urls import reverse

from annotation.actions import save_section
from annotation.document import read_document
from annotation.gates import gate_statuses, gates_shown
from annotation.models import Item
from annotation.states import Gate, State
from audit.panel import panel_of
from audit.text import gate_title
from lhdr_site.shared.templatetags.workbench import GATES, gate_dots, gate_list
from tests.factories import Team

from .judging import answer, answer_phase, bring_to, finish, fresh


def reword(team: Team, item: Item) -> Item:
    item = fresh(item)
    content = read_document(item.document).section("checklist")
    content["checklist"][2]["conclusion"] += " It was 1877."
    return save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.core)


def test_gates_have_one_name_each() -> None:
    assert list(GATES) == [gate.value for gate in Gate]
    assert [gate_title(gate) for gate in Gate] == [str(label) for label, _letter in GATES.values()]


def test_gates_say_who_decided_when_and_on_which_revision(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer(item, team.aud, "path", passed=False, comment="Names the bridge")
    shown = gates_shown(fresh(item))
    assert shown["leakage"]["status"] == "failed" and shown["shortcut"] == {"status": "open"}
    dots = gate_dots(shown)
    assert re.search(r"No path leakage: failed \(bench-aud, \d{4}-\d\d-\d\d \d\d:\d\d \w+, r1\)", dots)
    assert "bench-aud" in gate_list(shown) and "Shortcut filtering: open" in dots


def test_gates_are_named_alike_on_item_audit_queue_and_home(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer(item, team.aud, "path", passed=False, comment="Names the bridge")
    base = f"/b/bench/items/{item.number}/"
    pages: list[tuple[str, str]] = [("aud", base), ("aud", f"{base}audit/"), ("aud", "/b/bench/audit/")]
    finish(item, team.aud, reason="Mend", move=_return())
    for who, address in [*pages[:2], ("ann", "/")]:
        text = team.client(who).get(address).content.decode()
        for gate in Gate:
            assert gate_title(gate) in text, (address, gate)


def _return() -> Any:
    from audit.workflow import Move

    return Move.RETURN


def test_stale_gates_open_with_what_changed_of_their_sections(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer_phase(item, team.aud)
    item = reword(team, item)
    assert gate_statuses(item)["irreducibility"] == "stale" and gate_statuses(item)["leakage"] == "passed"
    groups = panel_of(fresh(item), team.aud).gate_changes
    assert [(g.revision, [c.path for c in g.changes]) for g in groups] == [(1, ["checklist.c3.conclusion"])]
    assert groups[0].titles == ["Answer uniqueness", "Irreducibility"]  # source support was not judged in full
    page = team.client("aud").get(reverse("audit:panel", args=["bench", item.number])).content.decode()
    assert "What changed since these gates were judged" in page
    answer_phase(item, team.aud)
    assert panel_of(fresh(item), team.aud).gate_changes == []
