"""The registry of checks: their order, levels under each preset, what a dismissal holds on to, and the page of docs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation.checks import LEVELS, CheckContext, Finding, reference, register, registry, run_checks
from annotation.document import SECTIONS, empty_document, read_document
from tests.documents import good_data, good_document

ROOT = Path(__file__).resolve().parents[2]
ESSENTIAL = {"empty_field", "cycle", "dangling_link"}
ERRORS = ESSENTIAL | {"too_few_steps", "no_non_text_step", "missing_source", "answer_in_question"}
INFOS = {"multi_branch_without_merge", "linear_with_several_roots", "steps_per_level"}


def one(code: str, data: dict[str, Any]) -> tuple[Finding, Any]:
    """The only finding of a check, and the document it is about."""
    document = read_document(data)
    (finding,) = [finding for finding in run_checks(CheckContext(document)) if finding.code == code]
    return finding, document


def test_good_document_when_complete_has_only_information():
    stored = frozenset({"1" * 64, "2" * 64})
    context = CheckContext(
        good_document(),
        stored_images=stored,
        categories=frozenset({"geography"}),
        operation_tags=frozenset({"constraint", "temporal"}),
    )
    assert [finding.code for finding in run_checks(context)] == ["steps_per_level"]


def test_levels_under_paper_are_those_of_the_design():
    levels = {code: check.level_under("paper") for code, check in registry().items()}
    assert {code for code, level in levels.items() if level == "error"} == ERRORS
    assert {code for code, level in levels.items() if level == "info"} == INFOS


def test_levels_under_sandbox_keep_only_empty_cycle_and_dangling_as_errors():
    for code, check in registry().items():
        expected = "warning" if code in ERRORS - ESSENTIAL else check.level_under("paper")
        assert check.level_under("sandbox") == expected, code


def test_run_checks_when_sandbox_lowers_the_findings():
    data = good_data(answer_sources=[], checklist=good_data()["checklist"][:3])
    for preset, expected in (("paper", "error"), ("sandbox", "warning")):
        findings = {f.code: f for f in run_checks(CheckContext(read_document(data), preset=preset))}
        assert findings["missing_source"].level == findings["too_few_steps"].level == expected


def test_run_checks_orders_by_section_then_severity():
    data = good_data(answer_sources=[], category=None, template="linear", nodes=[])
    data["question"] += " Is it 1588? Write to jane.doe@example.org."
    data["images"][0]["alt"] = ""
    findings = run_checks(CheckContext(read_document(data)))
    places = [(list(SECTIONS).index(f.section), ["error", "warning", "info"].index(f.level)) for f in findings]
    assert places == sorted(places)
    assert len({f.section for f in findings}) >= 5


def test_register_when_the_code_is_taken_refuses():
    with pytest.raises(ValueError, match="cycle"):
        register(type(registry()["cycle"]))


def test_every_finding_names_a_place_of_its_section_and_fills_its_sentence():
    data = good_data(answer="", question="See Thutmosis III, jane@example.org.", category=None, operation_tags=["odd"])
    data["checklist"][1]["prerequisites"] = ["c1", "gone"]
    data["checklist"][4] |= {"conclusion": "Search for the pharaoh.", "sources": [], "nodes": []}
    data["sources"][0]["url"] = "1.https://example.org"
    data["images"][0] |= {"sha256": "", "file": "", "alt": ""}
    document = read_document(data)
    findings = run_checks(CheckContext(document, operation_tags=frozenset()))
    assert len({f.code for f in findings}) >= 10
    lists = {"graph": ("nodes", "relations")}
    for finding in findings:
        keys = {e.key for name in lists.get(finding.section, (finding.section,)) for e in getattr(document, name, ())
                if hasattr(e, "key")}  # fmt: skip
        assert finding.anchor in keys | set(SECTIONS[finding.section]), finding
        assert "{" not in finding.message
        assert finding.remedy == registry()[finding.code].how_to_mend


@pytest.mark.parametrize("language", ["en", "zh"])
def test_run_checks_when_nothing_is_there_says_so_and_does_not_raise(language: str):
    errors = [f.anchor for f in run_checks(CheckContext(empty_document("x", language))) if f.level == "error"]
    assert errors == ["question", "answer", "checklist"]


# --- dismissals ---------------------------------------------------------------------------------------------------


def leaking(**changes: Any) -> dict[str, Any]:
    return good_data(question=good_data()["question"] + " It is not the Forth Bridge.", **changes)


def moved(data: dict[str, Any]) -> None:
    data["checklist"].insert(0, data["checklist"].pop(6))


def action(data: dict[str, Any]) -> None:
    data["checklist"][1]["conclusion"] = "Look up the engineers of the bridge."


def few_nodes(data: dict[str, Any]) -> None:
    data["nodes"].pop(0)
    data["relations"].pop(0)


@pytest.mark.parametrize(
    "code, trigger, unrelated",
    [
        ("path_leakage", lambda d: d.update(leaking()), lambda d: d["nodes"][0].update(aliases=["Firth crossing"])),
        ("browsing_action", action, moved),
        ("browsing_action", action, lambda d: d["checklist"][1].update(sources=["s1", "s2"])),
        ("too_few_nodes", few_nodes, lambda d: d["nodes"][0].update(entity="Baker")),
        ("image_description", lambda d: d["images"][0].update(alt=""), lambda d: d["images"][0].update(caption="New")),
    ],
)
def test_fingerprint_when_something_else_changes_stays(
    code: str, trigger: Callable[[dict[str, Any]], Any], unrelated: Callable[[dict[str, Any]], Any]
):
    data = good_data()
    trigger(data)
    before, document = one(code, data)
    unrelated(data)
    after, changed = one(code, data)
    assert (before.subject, before.fingerprint(document)) == (after.subject, after.fingerprint(changed))


@pytest.mark.parametrize(
    "code, trigger, change",
    [
        ("path_leakage", lambda d: d.update(leaking()), lambda d: d.update(question=d["question"] + " Really not.")),
        ("browsing_action", action, lambda d: d["checklist"][1].update(conclusion="Look up the designers.")),
        ("too_few_nodes", few_nodes, lambda d: d["nodes"].pop()),
    ],
)
def test_fingerprint_when_its_content_changes_lapses_but_the_subject_stays(
    code: str, trigger: Callable[[dict[str, Any]], Any], change: Callable[[dict[str, Any]], Any]
):
    data = good_data()
    trigger(data)
    before, document = one(code, data)
    change(data)
    after, changed = one(code, data)
    assert before.subject == after.subject
    assert before.fingerprint(document) != after.fingerprint(changed)


def test_subject_when_two_values_of_a_node_leak_differs():
    data = good_data(question="Neither the Forth Bridge nor the Firth of Forth rail bridge is older?")
    findings = [f for f in run_checks(CheckContext(read_document(data))) if f.code == "path_leakage"]
    assert [f.related for f in findings] == [("n1",), ("n1",)]
    assert len({f.subject for f in findings}) == 2


# --- the page, and speed ------------------------------------------------------------------------------------------


def test_docs_page_lists_every_check():
    text = (ROOT / "docs/checks.md").read_text(encoding="utf-8")
    assert text == reference.page()
    assert all(f"`{code}`" in text for code in registry())


def test_import_of_the_checks_loads_neither_django_nor_rapidfuzz():
    code = "import sys, annotation.checks; print([m for m in ('django', 'rapidfuzz') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text", ["x" * 50_000, "啊" * 50_000, "A-" * 25_000, "+1" * 25_000, "click " * 8_000, "@" * 50_000]
)
def test_run_checks_when_a_text_is_very_long_comes_to_an_end(text: str):
    data = good_data(question=text, answer=text, design=text, checklist=[{"key": "c1", "conclusion": text}])
    data["sources"][0]["url"] = f"https://{text}"
    assert run_checks(CheckContext(read_document(data)))


# --- the list of design -----------------------------------------------------------------------------------------------


def test_registry_has_every_check_with_its_level_words_and_place():
    by_level = {level: {c.code for c in registry().values() if c.level == level} for level in LEVELS}
    assert by_level == {
        "error": set(
            "empty_field too_few_steps no_non_text_step missing_source answer_in_question cycle dangling_link".split()
        ),
        "warning": set(
            "path_leakage too_few_nodes long_answer browsing_action near_duplicate_steps near_duplicate_question"
            " uncovered_element disconnected_graph dead_step several_sinks step_before_prerequisite redundant_edge"
            " wikipedia_share one_page duplicate_url malformed_url image_description image_not_stored"
            " no_question_image missing_metadata unknown_slug private_data".split()
        ),
        "info": {"multi_branch_without_merge", "linear_with_several_roots", "steps_per_level"},
    }
    errors_of_the_sandbox = {c.code for c in registry().values() if c.level_under("sandbox") == "error"}
    assert errors_of_the_sandbox == {"empty_field", "cycle", "dangling_link"}
    for check in registry().values():
        assert check.why and check.how_to_mend and check.section in SECTIONS, check.code
        assert f"### {check.title}\n" in reference.page()
