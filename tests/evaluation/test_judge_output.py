"""What judges print, by kind: what is read, what is refused, and that garbage takes no time to speak of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.scoring.judge_output import Unparseable, Verdict, parse_judge_output, read_as_published

PLAIN = "CHECKLIST_SCORE: 2/3\nCHECKLIST_RESULT: [1,0,1]\nOVERALL_CORRECTNESS: YES"
OTHER = "CHECKLIST_SCORE: 1/3\nCHECKLIST_RESULT: [0,0,1]\nOVERALL_CORRECTNESS: NO"
YES, NO = Verdict(True, (1, 0, 1)), Verdict(False, (1, 0, 1))


def with_answer(answer: str) -> str:
    return f"CHECKLIST_SCORE: 2/3\nCHECKLIST_RESULT: [1,0,1]\nOVERALL_CORRECTNESS: {answer}"


def with_vector(vector: str) -> str:
    return f"CHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: YES"


def reason(text: str, steps: int = 3) -> str:
    read = parse_judge_output(text, steps)
    assert isinstance(read, Unparseable), read
    return read.reason


def test_every_recorded_output_is_read_as_expected(cases):
    rows = [json.loads(line) for line in (cases / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        read, expect = parse_judge_output(row["text"], row["n"]), row["expect"]
        if "unparseable" in expect:
            assert isinstance(read, Unparseable) and expect["unparseable"] in read.reason, row["name"]
        else:
            assert read == Verdict(expect["answer"], tuple(expect["vector"]), tuple(expect["flags"])), row["name"]
    assert len(rows) == 16


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\u2028"),
        "\ufeff" + PLAIN,
        PLAIN.lower(),
        PLAIN.title(),
        f"```\n{PLAIN}\n```",
        "> " + PLAIN.replace("\n", "\n> "),
        "- " + PLAIN.replace("\n", "\n- "),
        "1. CHECKLIST_SCORE: 2/3\n2. CHECKLIST_RESULT: [1,0,1]\n3. OVERALL_CORRECTNESS: YES",
        PLAIN.replace("_", r"\_").replace("[", r"\[").replace("]", r"\]"),
        "**CHECKLIST_RESULT**: **[1, 0, 1]**\n**OVERALL_CORRECTNESS:** **YES**",
        "`CHECKLIST_RESULT: [1,0,1]`\n`OVERALL_CORRECTNESS: YES`",
        "### CHECKLIST_RESULT\n\n[1,0,1]\n\n### OVERALL_CORRECTNESS\n\n**YES**\n",
        "CHECKLIST_RESULT:\n```json\n[1,0,1]\n```\nOVERALL_CORRECTNESS:\nYES",
        "| key | value |\n|---|---|\n| CHECKLIST_RESULT | [1,0,1] |\n| OVERALL_CORRECTNESS | YES | no doubt |",
        "| CHECKLIST_RESULT | [1,0,1] |\n|---|---|\n| OVERALL_CORRECTNESS | YES |",
        "| CHECKLIST_SCORE | CHECKLIST_RESULT | OVERALL_CORRECTNESS |\n|---|:-:|---|\n| 2/3 | [1,0,1] | **YES** |",
        "**CHECKLIST_RESULT** | **OVERALL_CORRECTNESS** | why no\n-|-|-\n`[1,0,1]` | YES | no doubt\n\nThat is all.",
        '{"CHECKLIST_SCORE": "2/3", "CHECKLIST_RESULT": [1, 0, 1], "OVERALL_CORRECTNESS": "YES", "why": "no error"}',
        '{\n "checklist_result": [\n 1,\n 0,\n 1\n ],\n "overall_correctness": "yes"\n}',
        "CHECKLIST_RESULT = [1,0,1]; OVERALL_CORRECTNESS = YES",
        "Here is my verdict: CHECKLIST_RESULT: [1,0,1], OVERALL_CORRECTNESS: YES.",
        "CHECKLIST_RESULT -> [1,0,1]\nOVERALL_CORRECTNESS => YES",
        "CHECKLIST_RESULT:\n- [1,0,1]\n\nOVERALL_CORRECTNESS:\n- YES",
        "Checklist Result: [1,0,1]\nOverall Correctness: Yes",
        "CHECKLIST_RESULT (by step): [1,0,1]\nOVERALL_CORRECTNESS: YES",
        "<CHECKLIST_RESULT>[1,0,1]</CHECKLIST_RESULT>\n<OVERALL_CORRECTNESS>YES</OVERALL_CORRECTNESS>",
        "CHECKLIST_RESULT：【1、0、1】\nOVERALL_CORRECTNESS：ＹＥＳ",
        "OVERALL_CORRECTNESS: YES\nCHECKLIST_RESULT: [1,0,1]",
        "Step 2 is missing.\n\n" + PLAIN + "\n\nStep 2 was not stated at all.",
    ],
)
def test_parse_reads_the_same_verdict_in_every_dress(text):
    assert parse_judge_output(text, 3) == YES


@pytest.mark.parametrize(
    "vector",
    [
        "[1,0,1]",
        "[ 1 , 0 , 1 ]",
        "[1 0 1]",
        "[1;0;1]",
        "[1、0、1]",
        "[1,0,1,]",
        "[1,\n 0,\n 1\n]",
        "[true, false, true]",
        "[True,False,1]",
        '["1", "0", "1"]',
        "[**1**, 0, `1`]",
        "1, 0, 1",
        '"[1,0,1]"',
        "[1,0,1] (two of three, see [1])",
    ],
)
def test_parse_reads_a_vector(vector):
    assert parse_judge_output(with_vector(vector), 3) == YES


@pytest.mark.parametrize(
    ("vector", "why"),
    [
        ("[1,0]", "vector length 2, expected 3"),
        ("[1,0,1,1]", "vector length 4, expected 3"),
        ("[]", "vector value"),
        ("[1,,1]", "vector value"),
        ("[,1,0,1]", "vector value"),
        ("[1,0,1,,]", "vector value"),
        ("[101]", "vector value '101'"),
        ("101", "vector value '101'"),
        ("[1,0,2]", "vector value '2'"),
        ("[1,0,-1]", "vector value '-1'"),
        ("[1,0,0.5]", "vector value '0.5'"),
        ("[1,0,null]", "vector value 'null'"),
        ("[yes,no,yes]", "vector value 'yes'"),
        ("[1 (found), 0, 1]", "vector value"),
        ("[[1,0,1]]", "vector value"),
        ("[1,0,…]", "vector value"),
        ("2/3", "vector value"),
        ("[1,0,1] -> [1,1,1]", "vector stated twice"),
        ("none", "vector missing"),
        ("", "vector missing"),
        ("(1,0,1)", "vector missing"),
        ("[1,0,1", "vector cut off"),
    ],
)
def test_parse_refuses_a_vector_that_it_would_have_to_repair(vector, why):
    assert why in reason(with_vector(vector))


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("YES", YES),
        ("YES.", YES),
        ("Yes, it matches", YES),
        ("[YES]", YES),
        ("**YES**", YES),
        ('"YES"', YES),
        ("YES!", YES),
        ("YES (there are no errors)", YES),
        ("YES because both name it", YES),
        ("NO", NO),
        ("no", NO),
        ("_No_", NO),
        ("[NO]", NO),
        ("NO - it says 319", NO),
        ("**NO** (the answer is 319)", NO),
        ("NO, the year is not given", NO),
    ],
)
def test_parse_reads_an_answer(answer, verdict):
    assert parse_judge_output(with_answer(answer), 3) == verdict


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "YES/NO",
            "[YES/NO]",
            "YES|NO",
            "YES or NO",
            "Yes/no",
            "YES/no answer",
            "yes or no",
            "NO/YES",
            "[YES] / [NO]",
        ),
        *("NOT SURE", "NOT YES", "Not clear", "UNKNOWN", "N/A", "NONE", "PARTIALLY", "Probably YES", "true", "1", ""),
        *("NO ANSWER", "NO DECISION", "NO clear verdict", "NO_ANSWER", "YES?", "YES IF lenient", "YESNO", "YESTERDAY"),
        *("NO, it misses the year, but YES for the name", "YES, but no", "~~YES~~ NO", "YES -> NO"),
    ],
)
def test_parse_refuses_an_answer_that_is_no_clear_yes_or_no(answer):
    assert "verdict" in reason(with_answer(answer))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>For instance {OTHER}</think>\n{PLAIN}",
        f"<thinking>{OTHER}</thinking>{PLAIN}",
        f"<Reasoning>\n{OTHER}\n</Reasoning>\n{PLAIN}",
        f"{PLAIN}\n<think>{OTHER}</think>",
        f"<think>a <think>b</think> {OTHER}</think>{PLAIN}",
        f"<think>a <reasoning>b {OTHER}</think>{PLAIN}",
        f"<think>a </reasoning> {OTHER}</think>{PLAIN}",
        f"[THINK]{OTHER}[/THINK]{PLAIN}",
        f"◁think▷{OTHER}◁/think▷{PLAIN}",
        f"<think/>{PLAIN}",
        f"it may be {OTHER}\n</think>\n{PLAIN}",  # the opening tag was in the prompt
        "CHECKLIST_RESULT: <think>[0,0,0]</think> [1,0,1]\nOVERALL_CORRECTNESS: YES",
    ],
)
def test_parse_ignores_what_was_only_thought(text):
    assert parse_judge_output(text, 3) == YES


@pytest.mark.parametrize("text", [f"<think>{PLAIN}", f"{PLAIN}\n<think>or", f"<think><think></think>{PLAIN}"])
def test_parse_of_an_unclosed_think_block_is_unparseable(text):
    assert reason(text) == "unclosed think block"


def test_parse_of_a_verdict_that_was_only_thought_is_unparseable():
    assert "no verdict" in reason(f"<think>{PLAIN}</think>")


def test_parse_of_several_blocks_takes_the_last_and_says_so():
    assert parse_judge_output(f"{OTHER}\n\nOn reflection:\n{PLAIN}", 3) == Verdict(True, (1, 0, 1), ("several",))


def test_parse_of_several_blocks_with_the_answer_first_pairs_each_with_its_own():
    text = "OVERALL_CORRECTNESS: YES\nCHECKLIST_RESULT: [1,1,1]\nOVERALL_CORRECTNESS: NO\nCHECKLIST_RESULT: [1,0,1]"
    assert parse_judge_output(text, 3) == Verdict(False, (1, 0, 1), ("several",))


def test_parse_when_the_last_of_several_blocks_is_broken_is_unparseable():
    assert reason(f"{OTHER}\n{with_vector('[1,0]')}") == "vector length 2, expected 3"
    assert "verdict" in reason(f"{OTHER}\n{with_answer('NOT SURE')}")


def test_parse_when_an_earlier_block_is_broken_reads_the_last():
    echo = "CHECKLIST_SCORE: k/n\nCHECKLIST_RESULT: [..]\nOVERALL_CORRECTNESS: YES|NO"
    assert parse_judge_output(f"{echo}\n\n{PLAIN}", 3) == YES


@pytest.mark.parametrize(
    "start",
    [
        "CHECKLIST_SCORE: 3/3",
        "CHECKLIST_SCORE: 3/3\nCHECKLIST_RESULT:",
        "CHECKLIST_SCORE: 3/3\nCHECKLIST_RESULT: [",
        "CHECKLIST_RESULT: [1,1,",
        "So CHECKLIST_RESULT: [1,1,",
        "CHECKLIST_RESULT: [1,1,1]",
        "CHECKLIST_RESULT: [1,0,1]",
        "CHECKLIST_RESULT: [1,1,1]\nOVERALL_CORRECTNESS:",
        "CHECKLIST_RESULT: [1,1,1]\nOVERALL_CORRECTNESS: Y",
        "OVERALL_CORRECTNESS: NO",
        "OVERALL_CORRECTNESS: MAYBE",
        "OVERALL_CORRECTNESS - MAYBE",
        '{"note": "again", "OVERALL_CORRECTNESS": "UNSURE"}',
    ],
)
def test_parse_when_a_later_block_is_cut_off_never_falls_back_on_the_earlier(start):
    reason(f"{PLAIN}\n\n{start}")


def test_parse_when_an_answer_first_block_is_cut_off_never_falls_back_on_the_earlier():
    reason("OVERALL_CORRECTNESS: YES\nCHECKLIST_RESULT: [1,0,1]\n\nOVERALL_CORRECTNESS: YES")


@pytest.mark.parametrize(
    "prose",
    [
        "The CHECKLIST_RESULT: format is followed above.",
        "OVERALL_CORRECTNESS is YES because both name the same year.",
        "I used CHECKLIST_RESULT and OVERALL_CORRECTNESS as asked.",
        "The OVERALL_CORRECTNESS: line holds one word.",
    ],
)
def test_parse_ignores_keys_that_prose_mentions(prose):
    assert parse_judge_output(f"{prose}\n{PLAIN}\n{prose}", 3) == YES


@pytest.mark.parametrize("again", ["OVERALL_CORRECTNESS: YES", "Hence CHECKLIST_RESULT: [1,0,1]."])
def test_parse_of_a_value_said_again_keeps_the_block_and_says_several(again):
    assert parse_judge_output(f"{PLAIN}\n{again}", 3) == Verdict(True, (1, 0, 1), ("several",))


def test_parse_of_a_different_value_said_later_in_prose_is_unparseable():
    reason(f"{PLAIN}\nHence CHECKLIST_RESULT: [1,1,1].")
    reason(f"{PLAIN}\nThis CHECKLIST_RESULT [1,1,1] would be kinder.")


@pytest.mark.parametrize(
    ("score", "flags"),
    [
        ("2/3", ()),
        ("[2]/3", ()),
        ("[2/3]", ()),
        ("2 / 3", ()),
        ("2", ()),
        ("**2/3**", ()),
        ("two of three", ()),  # not readable, and not scored
        ("3/3", ("inconsistent",)),
        ("2/4", ("inconsistent",)),
        ("1", ("inconsistent",)),
        ("2.5/3", ("inconsistent",)),
    ],
)
def test_parse_compares_the_score_with_the_vector(score, flags):
    text = f"CHECKLIST_SCORE: {score}\nCHECKLIST_RESULT: [1,0,1]\nOVERALL_CORRECTNESS: YES"
    assert parse_judge_output(text, 3) == Verdict(True, (1, 0, 1), flags)


def test_parse_compares_the_score_of_its_own_block():
    first = "CHECKLIST_RESULT: [0,0,1]\nOVERALL_CORRECTNESS: NO\n"
    assert parse_judge_output(first + PLAIN, 3) == Verdict(True, (1, 0, 1), ("several",))
    wrong = first + PLAIN.replace("2/3", "1/3")
    assert parse_judge_output(wrong, 3) == Verdict(True, (1, 0, 1), ("several", "inconsistent"))
    after = "CHECKLIST_RESULT: [1,0,1]\nOVERALL_CORRECTNESS: YES\nCHECKLIST_SCORE: 3/3"
    assert parse_judge_output(after, 3) == Verdict(True, (1, 0, 1), ("inconsistent",))


@pytest.mark.parametrize(
    ("text", "word"), [("", "empty"), (" \n\t", "empty"), ("It is right.", "no verdict"), (OTHER[-23:], "vector")]
)
def test_parse_of_an_output_without_a_block_is_unparseable(text, word):
    assert word in reason(text)


def test_parse_gives_the_places_of_what_it_read():
    text = "<think>x</think>\r\n" + PLAIN
    read = parse_judge_output(text, 3)
    assert [text[start:end] for start, end in read.spans] == ["CHECKLIST_RESULT: [1,0,1]", "OVERALL_CORRECTNESS: YES"]
    table = "|CHECKLIST_RESULT|OVERALL_CORRECTNESS|\n|---|---|\n|[1,0,1]|YES|"
    read = parse_judge_output(table, 3)
    assert [table[start:end] for start, end in read.spans] == ["[1,0,1]", "YES"]


def test_parse_of_a_table_of_several_rows_is_unparseable():
    reason("| CHECKLIST_RESULT | OVERALL_CORRECTNESS |\n|---|---|\n| [1,0,1] | YES |\n| [1,1,1] | NO |")
    reason("| CHECKLIST_RESULT | OVERALL_CORRECTNESS |\n| [1,1,1] | NO |\n| [1,0,1] | YES |")


def test_parse_of_a_table_without_a_cell_for_each_key_is_unparseable():
    reason("| CHECKLIST_RESULT | OVERALL_CORRECTNESS |\n|---|---|\n| [1,0,1]")
    reason("| CHECKLIST_RESULT | OVERALL_CORRECTNESS |\n|---|---|")
    reason("| CHECKLIST_RESULT | OVERALL_CORRECTNESS |")


def test_parse_of_a_checklist_without_steps_raises():
    with pytest.raises(ValueError, match="at least one step"):
        parse_judge_output(PLAIN, 0)


@given(st.text(st.sampled_from('[]01,;: \n*_`"|<>/ABYESNOthink') | st.characters(), max_size=80), st.integers(1, 4))
def test_parse_of_anything_answers_with_as_many_flags_as_steps_or_a_reason(noise, steps):
    for text in (noise, f"{PLAIN}\n{noise}", f"CHECKLIST_RESULT: {noise}\nOVERALL_CORRECTNESS: {noise}"):
        read = parse_judge_output(text, steps)
        assert read.reason if isinstance(read, Unparseable) else len(read.vector) == steps


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30), st.booleans())
def test_parse_reads_back_every_verdict(vector, answer):
    text = f"CHECKLIST_SCORE: {sum(vector)}/{len(vector)}\nCHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: "
    assert parse_judge_output(text + ("YES" if answer else "NO"), len(vector)) == Verdict(answer, tuple(vector))


LONG = 300_000


@pytest.mark.parametrize("start", ["", "CHECKLIST_RESULT: [", "OVERALL_CORRECTNESS: YES"])
@pytest.mark.parametrize(
    "piece",
    [
        *("[", "]", "[0", "[1 0]", "1,", " ", "\n", "`", "*", "_", "/", " or", "no ", "9", "(", "|", "- ", "\\"),
        *("<", "<think ", "<think>", "</think>", "<think>a</think>", "<think></reasoning>", "[think]"),
        *(
            "CHECKLIST_RESULT",
            "CHECKLIST_RESULT: [",
            "CHECKLIST_RESULT (",
            "OVERALL_CORRECTNESS: ",
            "CHECKLIST_SCORE: 1",
            "|CHECKLIST_RESULT|",
            "|CHECKLIST_RESULT|CHECKLIST_RESULT\n|-\n",
        ),
    ],
)
def test_parse_of_long_garbage_ends(start, piece):
    # Each takes a few hundredths of a second; with a quadratic step it takes minutes, and the suite does not end.
    parse_judge_output(start + piece * (LONG // len(piece)), 3)
    read_as_published(start + piece * (LONG // len(piece)))


@pytest.mark.parametrize(
    ("first", "then"), [("CHECKLIST_RESULT:", "`" * 14), ("<think>" * 70_000, "</reasoning>")], ids=["fence", "tags"]
)
def test_parse_of_a_megabyte_of_garbage_ends(first, then):
    parse_judge_output(first + then * 70_000, 3)


@pytest.mark.parametrize(
    ("text", "answer", "vector"),
    [
        (PLAIN, True, (1, 0, 1)),
        (f"{PLAIN}\n{OTHER}", True, (1, 0, 1)),  # the first of each wins
        (f"<think>{OTHER}</think>{PLAIN}", False, (0, 0, 1)),
        ("**CHECKLIST_RESULT**: [ 1, 0 ]", None, (1, 0)),
        ("overall_correctness: no", False, None),
        ("CHECKLIST_RESULT: [true, False, 2]", None, (1, 0, 0)),
        ("CHECKLIST_RESULT: []", None, ()),
        ("CHECKLIST_RESULT: [1, 0", None, None),
        ("OVERALL_CORRECTNESS: YESTERDAY", None, None),
        ("", None, None),
    ],
)
def test_read_as_published_takes_the_first_of_each_half(text, answer, vector):
    assert read_as_published(text) == (answer, vector)
