"""Credited steps to look at: quotes that are not in the response, and conclusions of which nothing is named in it."""

import pytest

from evaluation.prompts import TEMPLATES, demands_quotes
from evaluation.scoring.doubts import absent_steps, distinctive_terms, doubtful_steps, read_quotes, unquoted_steps
from tests.documents import good_document

VERDICT = "CHECKLIST_SCORE: 1/1\nCHECKLIST_RESULT: [1]\nOVERALL_CORRECTNESS: YES"


# --- quotes


@pytest.mark.parametrize(
    ("line", "response", "found"),
    [
        ('QUOTE 1: "moved in 1588"', "It was moved in 1588.", True),
        ("quote 1: moved in 1588", "It was moved in 1588.", True),
        ("- **QUOTE 1:** “moved in 1588”", "It was moved in 1588.", True),
        ("QUOTE_1：「moved in 1588」", "It was moved in 1588.", True),
        ('QUOTE 1: "moved   in\u00a01588"', "It was moved\nin 1588.", True),
        ('QUOTE 1: "Domenico\'s plan"', "It was Domenico’s plan.", True),
        ('QUOTE 1: "the “old” one"', 'It is the "old" one.', True),
        ('QUOTE 1: "moved in 1588"', "It was **moved** in `1588`.", True),
        ('QUOTE 1: "⟦CHECKLIST·RESULT⟧ of it"', "The CHECKLIST_RESULT of it", True),
        ('QUOTE 1: "CHECKLIST_RESULT of it"', "The CHECKLIST_RESULT of it", True),
        ('QUOTE 1: "⟦QUOTE·1⟧: yes"', "I say QUOTE 1: yes", True),
        ('QUOTE 1: "ab"\nQUOTE 1: "moved in 1588"', "It was moved in 1588.", True),
        ('QUOTE 1: "Moved in 1588"', "It was moved in 1588.", False),
        ('QUOTE 1: "moved … 1588"', "It was moved in 1588.", False),
        ('QUOTE 1: "moved in 1589"', "It was moved in 1588.", False),
        ('QUOTE 1: ""', "It was moved in 1588.", False),
        ('QUOTE 1: "I"', "It was moved in 1588.", False),
        ('QUOTE 1: "."', "It was moved in 1588.", False),
        ('QUOTE 2: "moved in 1588"', "It was moved in 1588.", False),
        ('He says QUOTE 1: "moved in 1588"', "It was moved in 1588.", False),
        ('<think>\nQUOTE 1: "moved in 1588"\n</think>', "It was moved in 1588.", False),
        ("", "It was moved in 1588.", False),
    ],
)
def test_quote_of_a_credited_step(line, response, found):
    assert unquoted_steps(f"{line}\n\n{VERDICT}", [1], response) == ([] if found else [1])


def test_quotes_of_steps_without_credit_are_not_asked_for():
    assert unquoted_steps(VERDICT, [0, 1, 0], "x") == [2]


def test_quotes_are_read_as_they_were_printed():
    assert read_quotes('QUOTE 2: “a、b”\nQUOTE 2: "c"\n QUOTE 10 : d') == {2: ["a、b", "c"], 10: ["d"]}


def test_only_templates_that_ask_for_quotes_are_checked_for_them():
    assert [name for name, text in TEMPLATES.items() if demands_quotes(text)] == ["lhdr-quote-1"]


# --- distinctive terms


@pytest.mark.parametrize(
    ("conclusion", "question", "terms"),
    [
        ("The Lateran Obelisk was moved in 1588.", "", ["lateran", "obelisk", "1588"]),
        ("The Lateran Obelisk was moved in 1588.", "Which obelisk was moved?", ["lateran", "1588"]),
        ("Workers moved it.", "", []),  # one word at the beginning may be any noun
        ("Sixtus V moved it.", "", ["sixtus"]),
        ("Sixtus Quintus moved it.", "", ["sixtus", "quintus"]),
        ("The year was 12,500 before.", "", ["12500"]),
        ("It holds 2 of them.", "", []),
        ("It was launched on 3 May 1921.", "", ["may", "1921"]),
        ("UNESCO listed it.", "", ["unesco"]),
        ("iPhone sales rose; McDonald left.", "", ["mcdonald"]),
        ("Domenico’s plan won: Fontana's.", "", []),
        ("It was Domenico Fontana’s plan.", "", ["domenico", "fontana"]),
        ("The poem is called “the road not taken”.", "", ["road", "taken"]),
        ("The Café Ørsted opened.", "", ["cafe", "ørsted"]),
        ("Its name is Jean-Luc.", "", ["jean", "luc"]),
        ("something happened there", "", []),
        ("", "", []),
        ("方尖碑由教皇移动", "方尖碑何时移动？", ["碑由", "由教", "教皇", "皇移"]),
        ("它建于1588年", "", ["1588", "它建", "建于"]),
    ],
)
def test_distinctive_terms(conclusion, question, terms):
    assert distinctive_terms(conclusion, question) == terms


@pytest.mark.parametrize(
    ("conclusion", "response", "absent"),
    [
        ("The Lateran Obelisk was moved in 1588.", "It is the obelisk of the LATERAN.", False),
        ("The Lateran Obelisk was moved in 1588.", "It happened in 1588.", False),
        ("The Lateran Obelisk was moved in 1588.", "I found the monument and the year.", True),
        ("The Lateran Obelisk was moved in 1588.", "It happened in 15881.", True),
        ("It seats 12,500 people.", "It seats 12.500.", False),
        ("It seats 12,500 people.", "It seats 12500.", False),
        ("It was Émile Zola.", "emile wrote it", False),
        ("something happened there", "nothing", False),  # names nothing, so nothing can be absent
        ("由教皇西斯都五世移动", "教皇", False),
        ("由教皇西斯都五世移动", "那座石柱", True),
        ("由國王移動", "国王", False),  # traditional and simplified are one
    ],
)
def test_absent_steps(conclusion, response, absent):
    assert absent_steps([conclusion], [1], "What?", response) == ([1] if absent else [])
    assert absent_steps([conclusion], [0], "What?", response) == []


def test_doubts_name_the_steps_of_each_flag_and_leave_out_what_is_about_none():
    document = good_document()
    steps = len(document.checklist)
    said = "\n".join(step.conclusion for step in document.checklist)
    everything = [1] * steps
    assert doubtful_steps(TEMPLATES["lhdr-1"], VERDICT, everything, document, said) == {}
    found = doubtful_steps(TEMPLATES["lhdr-quote-1"], VERDICT, everything, document, "nothing at all")
    assert found["quote_not_found"] == list(range(1, steps + 1))
    assert found["distinctive_absent"]
    quoted = "".join(f'QUOTE {n}: "{step.conclusion}"\n' for n, step in enumerate(document.checklist, 1))
    assert doubtful_steps(TEMPLATES["lhdr-quote-1"], quoted + VERDICT, everything, document, said) == {}
