"""The demo content as plain files: what it promises to hold is there, and it holds together. Imports no Django."""

import hashlib
import importlib.util
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
CATEGORIES = {"media", "people", "organizations", "geography", "society", "academia", "technology", "sports"}
STATES = {
    "draft", "submitted", "secondary_audit", "multimodal_audit", "factual_audit", "approved", "locked", "returned",
    "rejected",
}  # fmt: skip
SYSTEMS = {"demo-atlas-search", "demo-lumen-vision", "demo-cartographer-research", "demo-weaver-agent"}
JUDGES = {"demo-judge-halden", "demo-judge-kestrel"}
SPOKEN = {"ok", "length"}  # behaviours whose text is judged

Row = dict[str, Any]


def read_rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


ITEMS = {item["id"]: item for item in read_rows("items.jsonl")}
WHOLE = [item for item in ITEMS.values() if item["extra"]["demo_state"] != "draft"]
LOCKED = [item for item in WHOLE if item["extra"]["demo_state"] == "locked"]
ROWS = read_rows("recordings.jsonl")
RESPONSES = [row for row in ROWS if row["role"] == "system"]
VERDICTS = [row for row in ROWS if row["role"] == "judge"]

every_item = pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))
every_whole_item = pytest.mark.parametrize("item", WHOLE, ids=[item["id"] for item in WHOLE])


def ancestors(item: Row) -> dict[str, set[str]]:
    """Step key -> keys of all steps it rests on. Fails where a prerequisite does not stand earlier in the list."""
    above: dict[str, set[str]] = {}
    for step in item["checklist"]:
        assert set(step["prerequisites"]) <= set(above), f"{step['key']} names a step that is not before it"
        above[step["key"]] = set(step["prerequisites"]).union(*(above[key] for key in step["prerequisites"]))
    return above


def hidden_texts(item: Row) -> Iterator[str]:
    for node in item["nodes"]:
        yield node["entity"]
        yield from node["aliases"]
        yield from (prop["value"] for prop in node["properties"])


def verdict_blocks(text: str) -> list[tuple[list[int], bool]]:
    spoken = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    vectors = re.findall(r"CHECKLIST_RESULT:\**\s*\[([01,]+)\]", spoken)
    answers = re.findall(r"OVERALL_CORRECTNESS:\**\s*(YES|NO)\b", spoken)
    assert len(vectors) == len(answers)
    return [([int(c) for c in v.split(",")], a == "YES") for v, a in zip(vectors, answers, strict=True)]


def last_verdict(judge: str, system: str, item: str, condition: str = "with_image") -> tuple[list[int], bool] | None:
    """The last block of the verdict, or None where its vector has the wrong length or there is no verdict."""
    wanted = (judge, system, item, condition)
    for row in VERDICTS:
        if (row["model"], row["system"], row["item"], row["condition"]) == wanted:
            vector, answer = verdict_blocks(row["text"])[-1]
            return (vector, answer) if len(vector) == len(ITEMS[item]["checklist"]) else None
    return None


# --- items --------------------------------------------------------------------------------------------------------


def test_items_show_every_category_template_and_state() -> None:
    assert len(WHOLE) >= 14
    assert {item["category"] for item in WHOLE} == {item["category"] for item in LOCKED} == CATEGORIES
    assert {item["template"] for item in LOCKED} == {"linear", "multi_branch"}
    assert {item["extra"]["demo_state"] for item in ITEMS.values()} == STATES
    assert len(LOCKED) >= 6
    assert {item["language"] for item in WHOLE} == {"en", "zh"}


def test_items_file_is_canonical() -> None:
    lines = (DEMO / "items.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == len(ITEMS), "two items share an id"
    for line in lines:
        again = json.dumps(json.loads(line), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert again.encode() == line


@every_item
def test_item_says_that_it_is_demo_data(item: Row) -> None:
    assert item["schema"] == "lhdr.item/1"
    assert item["id"].startswith("demo-")
    assert item["extra"]["demo"] is True
    for source in item["sources"]:
        assert source["url"].startswith("https://")
        assert source["claim"]
        assert source["accessed"] == "2026-11-30"
        assert (source["quote"], source["extra"]["verified"]) == ("", False)


@every_item
def test_item_links_resolve(item: Row) -> None:
    keys = {part: {row["key"] for row in item[part]} for part in ("nodes", "relations", "sources", "images")}
    holders = [{"sources": item["answer_sources"]}, *item["rivals"], *item["nodes"], *item["relations"]]
    holders += [*item["checklist"], *(prop for node in item["nodes"] for prop in node["properties"])]
    for holder in holders:
        for part, known in keys.items():
            assert set(holder.get(part, [])) <= known, (part, holder)
    assert all(set(source["captures"]) <= keys["images"] for source in item["sources"])
    properties = {node["key"]: {prop["name"] for prop in node["properties"]} for node in item["nodes"]}
    for relation in item["relations"]:
        assert relation["to"] in keys["nodes"]
        assert relation["via"] in properties[relation["from"]]


@every_whole_item
def test_whole_item_has_a_sound_dependency_graph(item: Row) -> None:
    steps, above = item["checklist"], ancestors(item)
    assert 10 <= len(steps) <= 14
    # One sink, the last step, on which every other step bears.
    assert above[steps[-1]["key"]] | {steps[-1]["key"]} == set(above)
    for step in steps:
        for key in step["prerequisites"]:
            assert not any(key in above[other] for other in step["prerequisites"]), f"{key} -> {step['key']} is implied"
    merges = [step["key"] for step in steps if len(step["prerequisites"]) > 1]
    assert bool(merges) == (item["template"] == "multi_branch")


@every_whole_item
def test_whole_item_is_covered_and_supported(item: Row) -> None:
    assert 5 <= len(item["nodes"]) <= 6
    steps = item["checklist"]
    for part in ("nodes", "relations"):
        assert {key for step in steps for key in step[part]} == {row["key"] for row in item[part]}
    for supported in [*item["nodes"], *item["relations"], *steps]:
        assert supported["sources"], supported["key"]
    assert item["answer_sources"]
    for step in steps:
        assert step["why_needed"]
        assert step["volatility"] in {"stable", "slow", "volatile"}
        assert (step["effect"] is not None) == (step["modality"] != "text"), step["key"]
    first = steps[0]
    assert first["images"] and first["effect"]
    assert {image["key"] for image in item["images"] if image["role"] == "question"} >= set(first["images"])
    for rival in item["rivals"]:
        assert rival["answer"] != item["answer"]
        assert rival["excluded_by"] and rival["sources"]
    assert 1 <= len(item["rivals"]) <= 3
    assert item["as_of"] == "2026-11-30"
    assert "emo data" in item["design"] or "演示数据" in item["design"]


@every_whole_item
def test_whole_item_rests_on_six_pages_and_little_wikipedia(item: Row) -> None:
    urls = [source["url"] for source in item["sources"]]
    assert len(urls) == len(set(urls)) >= 6
    wiki = [source for source in item["sources"] if "wikipedia.org" in source["url"]]
    assert all(source["kind"] in {"wikipedia", "map"} for source in wiki)
    assert len(wiki) <= 0.4 * len(urls)


@every_whole_item
def test_whole_item_hides_its_path_and_its_answer(item: Row) -> None:
    question = item["question"].casefold()
    for text in hidden_texts(item):
        assert len(text) < 5 or text.casefold() not in question, text
    for answer in (item["answer"], *item["answer_aliases"]):
        assert not re.search(rf"\b{re.escape(answer.casefold())}\b", question), answer


def test_drafts_show_what_checks_find() -> None:
    drafts = [item for item in ITEMS.values() if item["extra"]["demo_state"] == "draft"]
    assert len(drafts) == 3
    leaking, searching, notes = (
        ITEMS[f"demo-draft-{name}"] for name in ("leaking-span", "search-steps", "first-notes")
    )
    assert any(len(text) >= 5 and text in leaking["question"] for text in hidden_texts(leaking))
    assert any(not step["sources"] for step in leaking["checklist"])
    needed = {key for step in searching["checklist"] for key in step["prerequisites"]}
    assert len({step["key"] for step in searching["checklist"]} - needed) == 3
    assert any(step["conclusion"].startswith("Search for") for step in searching["checklist"])
    assert (notes["category"], notes["template"]) == (None, None)
    assert len(notes["checklist"]) < 10


# --- pictures -----------------------------------------------------------------------------------------------------


@every_item
def test_item_pictures_are_what_the_document_says(item: Row) -> None:
    assert any(image["role"] == "question" for image in item["images"])
    for image in item["images"]:
        if not image["file"]:
            assert item["extra"]["demo_state"] == "draft" and image["url"]
            continue
        path = DEMO / image["file"]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == image["sha256"] == path.stem
        assert len(data) < 150_000
        picture = Image.open(io.BytesIO(data))
        assert (picture.format, image["media_type"]) == ("PNG", "image/png")
        assert picture.size == (image["width"], image["height"])
        assert picture.width >= 1000
        assert not picture.info.keys() - {"transparency"}, "a picture carries metadata"
        if item in WHOLE:
            assert image["alt"] and image["caption"]
            assert (image["license"], image["credit"]) == ("CC0-1.0", "LHDR Workbench demo")


def test_every_picture_is_used() -> None:
    used = {image["file"] for item in ITEMS.values() for image in item["images"] if image["file"]}
    assert used == {f"images/{path.name}" for path in (DEMO / "images").iterdir()}


def test_pictures_when_drawn_again_are_the_same() -> None:
    spec = importlib.util.spec_from_file_location("draw_images", DEMO / "draw_images.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.PICTURES) == len(list((DEMO / "images").iterdir()))
    # Another Pillow may compress or round otherwise: a picture need only look like one of the stored ones.
    stored = [Image.open(path).convert("RGB") for path in (DEMO / "images").iterdir()]
    for name in ("flag_pair", "two_rights"):
        data = module.PICTURES[name]().png()
        assert data == module.PICTURES[name]().png()
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        distances = [
            sum(ImageStat.Stat(ImageChops.difference(picture, other)).mean)
            for other in stored
            if other.size == picture.size
        ]
        assert min(distances, default=999) < 3, name


# --- recordings ---------------------------------------------------------------------------------------------------


def test_recordings_hold_every_cell_once() -> None:
    cells = [(row["model"], row["item"], row["condition"]) for row in RESPONSES]
    expected = {(system, item["id"], "with_image") for system in SYSTEMS for item in LOCKED}
    expected |= {("demo-lumen-vision", item["id"], "without_image") for item in LOCKED}
    assert len(cells) == len(set(cells))
    assert set(cells) == expected
    judged = [(row["model"], row["system"], row["item"], row["condition"]) for row in VERDICTS]
    spoken = {(row["model"], row["item"], row["condition"]) for row in RESPONSES if row["behaviour"] in SPOKEN}
    assert len(judged) == len(set(judged))
    assert set(judged) == {(judge, *cell) for judge in JUDGES for cell in spoken}
    assert all(row["demo"] is True for row in ROWS)


def test_responses_can_be_told_apart_and_have_a_plausible_length() -> None:
    texts = [row["text"] for row in RESPONSES if row["text"]]
    assert len(texts) == len(set(texts))
    assert not any(one != other and one in other for one in texts for other in texts)
    for row in RESPONSES:
        if row["behaviour"] in SPOKEN:
            assert 60 <= len(row["text"].split()) <= 200, (row["model"], row["item"])
            assert not re.search("CHECKLIST_|OVERALL_", row["text"])


def test_responses_show_every_behaviour() -> None:
    status = {row["behaviour"]: row["status"] for row in RESPONSES}
    assert status == {"ok": 200, "length": 200, "empty": 200, "content_filter": 200, "refused": 403, "error": 500}
    for row in RESPONSES:
        assert bool(row["text"]) == (row["behaviour"] not in {"empty", "content_filter"})
        if row["behaviour"] == "length":
            assert row["text"][-1].isalpha(), "a cut response ends in mid-sentence"
    assert any(row["usage"] is None for row in RESPONSES if row["behaviour"] == "ok")
    cited = {item["id"]: {source["url"] for source in item["sources"]} for item in LOCKED}
    for row in RESPONSES:
        assert {note["url"] for note in row["annotations"]} <= cited[row["item"]]
        assert not (row["annotations"] and row["model"] == "demo-lumen-vision"), "a tool-free system cites nothing"


def test_verdicts_show_every_kind() -> None:
    blocks = [verdict_blocks(row["text"]) for row in VERDICTS]
    steps = [len(ITEMS[row["item"]]["checklist"]) for row in VERDICTS]
    assert any(len(found) > 1 and found[0] != found[-1] for found in blocks), "several blocks"
    assert any("<think>" in row["text"] for row in VERDICTS)
    short = {row["model"] for row, found, n in zip(VERDICTS, blocks, steps, strict=True) if len(found[-1][0]) < n}
    assert short == JUDGES, "each judge has a vector that is too short"
    scores = [re.findall(r"CHECKLIST_SCORE:\**\s*(\d+)/", row["text"])[-1] for row in VERDICTS]
    wrong = [row["text"] for row, s, found in zip(VERDICTS, scores, blocks, strict=True) if int(s) != sum(found[-1][0])]
    assert len(wrong) == 1, "one score disagrees with its vector"


def test_verdicts_show_every_outcome() -> None:
    outcomes = set()
    for row in RESPONSES:
        verdict = last_verdict("demo-judge-halden", row["model"], row["item"], row["condition"])
        if verdict is None:
            continue
        (vector, answer), item = verdict, ITEMS[row["item"]]
        stated = {step["key"] for step, flag in zip(item["checklist"], vector, strict=True) if flag}
        above = ancestors(item)
        if any(above[key] - stated for key in stated):
            outcomes.add("stated but blocked")
        if answer:
            outcomes.add("right, all steps" if len(stated) == len(vector) else "right, a step missing")
        elif len(stated) >= 0.7 * len(vector):
            outcomes.add("wrong, far along")
    assert outcomes == {"stated but blocked", "right, all steps", "right, a step missing", "wrong, far along"}


def test_judges_agree_mostly_and_not_always() -> None:
    same, differ, answers = 0, 0, 0
    for row in RESPONSES:
        one, other = (last_verdict(judge, row["model"], row["item"], row["condition"]) for judge in sorted(JUDGES))
        if one and other:
            pairs = list(zip(one[0], other[0], strict=True))
            differ += sum(a != b for a, b in pairs)
            same += sum(a == b for a, b in pairs)
            answers += one[1] != other[1]
    assert 0.9 < same / (same + differ) < 1
    assert answers == 1


def test_overall_accuracy_spreads_from_a_tenth_to_a_half() -> None:
    def accuracy(system: str) -> float:
        verdicts = [last_verdict("demo-judge-halden", system, item["id"]) for item in LOCKED]
        return sum(verdict is not None and verdict[1] for verdict in verdicts) / len(LOCKED)

    # 4, 3, 2 and 1 of the 8 locked items.
    assert [
        accuracy(system) for system in ("demo-cartographer-research", "demo-atlas-search", "demo-weaver-agent")
    ] == [
        0.5,
        0.375,
        0.25,
    ]
    assert accuracy("demo-lumen-vision") == 0.125


def test_probes_are_recorded_for_the_item_in_phase_3_with_and_without_its_picture() -> None:
    rows = read_rows("probes.jsonl")
    [item] = [item for item in ITEMS.values() if item["extra"]["demo_state"] == "multimodal_audit"]
    cells = {(row["model"], row["condition"]) for row in rows}
    assert len(cells) == len(rows) == 2 * len({model for model, _condition in cells}) and cells
    assert {row["item"] for row in rows} == {item["id"]} and all(row["demo"] is True for row in rows)
    sources = {source["url"] for source in item["sources"]}
    assert all({note["url"] for note in row["annotations"]} <= sources for row in rows)
    answers = {row["text"].rpartition("Final answer: ")[2] == item["answer"] for row in rows}
    assert answers == {True, False}, "a shortcut is found, and not by every system"


def test_links_are_of_sources_that_stand_there_and_none_pretends_to_have_been_opened() -> None:
    rows = read_rows("links.jsonl")
    assert all(
        row["demo"] is True and row["source"] in {s["key"] for s in ITEMS[row["item"]]["sources"]} for row in rows
    )
    answers = [answer for row in rows for answer in row["answers"]]
    assert all(answer["reason"].startswith("Demo data, nothing was asked") for answer in answers)
    assert {answer["status"] for answer in answers} == {"ok", "dead", "unverifiable"}
    # What a release rests on is checked again by itself after a while, and the demo asks nobody.
    assert {ITEMS[row["item"]]["extra"]["demo_state"] for row in rows}.isdisjoint(
        {"locked", "approved", "factual_audit"}
    )
