"""Signs that a system has seen the data set: each flag with what raises it and what must not."""

from dataclasses import replace

import pytest

from evaluation.contamination import contamination_flags, is_under
from tests.documents import good_document

CANARY = "lhdr:winter:0123456789abcdef0123456789abcdef"
HIDDEN = (
    "The harbour ledger of the northern company names every ferry that crossed the sound before the bridge was opened."
)
CHINESE = "北方公司的港口账簿记录了大桥开通之前横渡海峡的每一艘渡轮以及它们的船长姓名"
QUESTION = (
    "Which obelisk was moved in the year in which the ferry shown in the picture crossed the sound for the last time?"
)


def flags(text="", *, thinking="", citations=(), name="Winter Ferries", why=HIDDEN, question=QUESTION):
    document = good_document(question=question)
    first, *rest = document.checklist
    document = replace(document, checklist=(replace(first, why_needed=why), *rest))
    addresses = ["https://data.example/sets/winter", "mirror.example"]
    return contamination_flags(
        text, thinking, list(citations), document, canaries=[CANARY], addresses=addresses, name=name
    )


def cited(url, title=""):
    return [{"url": url, "title": title}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"text": "It was 1588."}, []),
        ({}, []),
        # canary
        ({"text": f"As said in {CANARY}."}, ["canary"]),
        ({"text": "0123456789ABCDEF0123456789ABCDEF"}, ["canary"]),
        ({"thinking": CANARY}, ["canary"]),
        ({"citations": cited("https://x.example", CANARY)}, ["canary"]),
        ({"text": "lhdr:winter:0123"}, []),
        # where it is published
        ({"citations": cited("https://data.example/sets/winter/metadata.jsonl")}, ["dataset_host"]),
        ({"citations": cited("http://WWW.Data.example/sets/winter?x=1")}, ["dataset_host"]),
        ({"text": "See https://cdn.mirror.example/a.png."}, ["dataset_host"]),
        ({"citations": cited("https://data.example/sets/winterfell")}, []),
        ({"citations": cited("https://notmirror.example/")}, []),
        ({"text": "mirror.example is a host"}, []),
        # its name
        ({"text": "From the WINTER  ferries benchmark."}, ["benchmark_named"]),
        ({"citations": cited("https://x.example", "Winter Ferries: a data set")}, ["benchmark_named"]),
        ({"text": "Winter Ferries", "question": "What are winter ferries?"}, []),
        ({"text": "midwinter ferriesque"}, []),
        ({"text": "In winter.", "name": "Winter"}, []),
        ({"text": "In WinterBench2.", "name": "WinterBench2"}, ["benchmark_named"]),
        ({"text": "In winterbench2.", "name": "WinterBench2"}, []),
        ({"text": "根据长程深研评测集的内容", "name": "长程深研评测集"}, ["benchmark_named"]),
        ({"text": "冬季", "name": "冬季"}, []),
        # what the item hides
        ({"text": f"I know that {HIDDEN.lower()}"}, ["key_text"]),
        ({"text": " ".join(HIDDEN.split()[2:15])}, ["key_text"]),
        ({"text": " ".join(HIDDEN.split()[2:14])}, []),
        ({"text": HIDDEN, "question": f"{QUESTION} {HIDDEN}"}, []),
        ({"text": CHINESE[3:23], "why": CHINESE}, ["key_text"]),
        ({"text": CHINESE[3:13] + "，" + CHINESE[13:23], "why": CHINESE}, ["key_text"]),
        ({"text": CHINESE[3:22], "why": CHINESE}, []),
        # the question itself is no sign, also at length
        ({"text": f"You ask: {QUESTION}"}, []),
        ({"citations": cited("https://x.example", QUESTION)}, []),
        ({"text": f"{CANARY} {HIDDEN} https://mirror.example"}, ["canary", "dataset_host", "key_text"]),
    ],
)
def test_contamination_flags(given, expected):
    assert flags(**given) == expected


def test_nothing_published_flags_nothing():
    assert not is_under("https://x.example/", "")


def test_a_citation_without_address_or_title_is_passed_over():
    assert flags(citations=[{"title": None}, {}]) == []
