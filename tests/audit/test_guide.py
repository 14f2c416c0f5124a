"""The guide's tables of criteria and of stale gates are those of the code.

To renew them: `LHDR_WRITE_DOCS=1 pytest tests/audit/test_guide.py`.
"""

import os
from pathlib import Path

import pytest

from annotation.document import SECTIONS
from annotation.states import GATE_SECTIONS, Gate, Role
from audit.workflow import PHASES
from lhdr_site.shared.templatetags.workbench import GATES

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "audit.md"
WHO = {Role.AUDITOR: "auditors", Role.CORE: "core team"}


def criteria() -> str:
    lines = ["| phase | who | criterion | feeds |", "| --- | --- | --- | --- |"]
    for phase in PHASES:
        name = f"{phase.number}. {phase.title}"
        for position, criterion in enumerate(phase.criteria):
            first, who = (name, WHO[phase.role]) if position == 0 else ("", "")
            gate = str(GATES[criterion.gate][0]) if criterion.gate else "calibration"
            lines.append(f"| {first} | {who} | {criterion.title} | {gate} |")
    return "\n".join(lines)


def stale() -> str:
    sections = [name for name in SECTIONS if name != "design"]
    lines = ["| gate, by edited section | " + " | ".join(sections) + " |", "| --- |" + " --- |" * len(sections)]
    for gate in Gate:
        marks = ["stale" if name in GATE_SECTIONS[gate] else "" for name in sections]
        lines.append(f"| {GATES[gate][0]} | " + " | ".join(marks) + " |")
    return "\n".join(lines)


@pytest.mark.parametrize(("name", "table"), [("criteria", criteria()), ("stale", stale())])
def test_table_of_the_guide_is_that_of_the_code(name: str, table: str) -> None:
    text = GUIDE.read_text()
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = text.split(start)
    inside, after = rest.split(end)
    if os.environ.get("LHDR_WRITE_DOCS"):
        GUIDE.write_text(f"{before}{start}\n\n{table}\n\n{end}{after}")
    else:
        assert inside.strip() == table, "LHDR_WRITE_DOCS=1 pytest tests/audit/test_guide.py renews it"


def test_no_gate_depends_on_the_design() -> None:
    assert all("design" not in sections for sections in GATE_SECTIONS.values())
