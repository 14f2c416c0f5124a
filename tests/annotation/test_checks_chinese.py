"""A whole item in Chinese: no finding while it is good, and each fault of its wording is found, in both scripts."""

from collections.abc import Callable
from typing import Any

import pytest

from annotation.checks import CheckContext, Finding, run_checks
from annotation.document import read_document
from tests.documents import good_data

QUESTION = (
    "图中是一座横跨海湾的铁路桥。它的两位设计者之一还设计了一艘铁船，把一座古代石碑拖到了北方的一座首都。"
    "最初下令刻这座石碑的君主还命人开凿了另一座，如今它是仍然矗立的同类中最高的。这最后一座在今天的位置重新立起是哪一年？"
)
CONCLUSIONS = (
    "图中的桥是福斯桥。",
    "福斯桥由本杰明·贝克和约翰·福勒设计。",
    "贝克还设计了圆筒形的“克利奥帕特拉”号。",
    "“克利奥帕特拉”号把克利奥帕特拉方尖碑运到伦敦。",
    "那块花岗岩最早在图特摩斯三世治下立于赫利奥波利斯。",
    "图特摩斯三世还在卡纳克开凿了一座单独的方尖碑。",
    "在仍然矗立的埃及方尖碑中，圣若望拉特朗大殿旁的那座最高。",
    "法老在卡纳克未完成的作品成了拉特朗方尖碑。",
    "教宗西斯都五世命人从大竞技场挖出它的三段。",
    "多梅尼科·丰塔纳于1588年8月在罗马把它重新立起。",
)
NODES = (
    ("福斯桥", ["福斯铁路桥"], "启用", "1890年3月4日"),
    ("本杰明·贝克", ["贝克爵士"], "设计的船", "克利奥帕特拉号"),
    ("克利奥帕特拉方尖碑", [], "地点", "维多利亚堤岸"),
    ("图特摩斯三世", ["托特密斯三世"], "王朝", "第十八王朝"),
    ("拉特朗方尖碑", [], "高度", "32.18米"),
)


def chinese() -> dict[str, Any]:
    data = good_data(
        id="zh", language="zh", question=QUESTION, answer_aliases=["1588年"], design="从桥到工程师，再到石碑。"
    )
    for step, conclusion in zip(data["checklist"], CONCLUSIONS, strict=True):
        step |= {"conclusion": conclusion, "why_needed": "下一步由此开始。"}
    for node, (entity, aliases, name, value) in zip(data["nodes"], NODES, strict=True):
        node |= {"entity": entity, "aliases": aliases}
        node["properties"] = [{"name": name, "value": value, "modality": "text", "sources": node["sources"]}]
    return data


def found(change: Callable[[dict[str, Any]], Any] = lambda data: None) -> list[Finding]:
    data = chinese()
    change(data)
    return [f for f in run_checks(CheckContext(read_document(data))) if f.level != "info"]


def test_good_chinese_document_has_no_finding() -> None:
    assert [f.message for f in found()] == []


def test_good_chinese_document_in_traditional_characters_has_no_finding() -> None:
    traditional = str.maketrans("图铁桥设计两还艘个开凿军后来", "圖鐵橋設計兩還艘個開鑿軍後來")
    assert found(lambda d: d.update(question=QUESTION.translate(traditional))) == []


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("path_leakage", lambda d: d.update(question=QUESTION + "它不是福斯桥。")),
        ("path_leakage", lambda d: d.update(question=QUESTION + "與圖特摩斯三世有關。")),  # in traditional characters
        ("path_leakage", lambda d: d.update(question=QUESTION + "即克利奥帕特拉的方尖碑。")),  # nearly
        ("answer_in_question", lambda d: d.update(answer="方尖碑", question=QUESTION.replace("石碑", "方尖碑", 1))),
        ("answer_in_question", lambda d: d.update(answer="鐵路橋")),
        (
            "long_answer",
            lambda d: d.update(answer="那座方尖碑在教宗西斯都五世的命令下于一五八八年八月重新立起来"),
        ),  # 29, so 15
        ("browsing_action", lambda d: d["checklist"][2].update(conclusion="打开贝克的页面。")),
        ("browsing_action", lambda d: d["checklist"][2].update(conclusion="首先搜索福斯桥的设计者。")),
        (
            "near_duplicate_steps",
            lambda d: d["checklist"][3].update(conclusion="貝克還設計圓筒形的「克利奧帕特拉」號"),
        ),
        ("private_data", lambda d: d.update(design="联系电话：010-62751234")),
        ("private_data", lambda d: d["checklist"][1].update(why_needed="他住在建国门外大街12号。")),
        ("empty_field", lambda d: d["checklist"][4].update(conclusion="\u3000")),
    ],
)
def test_fault_in_chinese_is_found_and_nothing_else(code: str, change: Callable[[dict[str, Any]], Any]) -> None:
    assert {f.code for f in found(change)} == {code}


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(answer="贝克", answer_aliases=[]),
        lambda d: d.update(answer="一五八八年八月十日，罗马的圣若望广场"),  # 17 characters, so 9 words
        lambda d: d["checklist"][2].update(conclusion="搜索引擎谷歌由拉里·佩奇和谢尔盖·布林创立。"),
        lambda d: d["nodes"][0].update(aliases=["桥"]),
    ],
)
def test_what_only_looks_like_a_fault_in_chinese_is_not_found(change: Callable[[dict[str, Any]], Any]) -> None:
    assert [f.message for f in found(change)] == []
