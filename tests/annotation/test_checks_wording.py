"""Leaks with their spans, actions for conclusions, repetition, private data: both kinds of each."""

from typing import Any

import pytest

from annotation.checks import CheckContext, Finding, Thresholds, run_checks
from annotation.checks.text import Folded, fold, lengths_alike, nearly_same
from annotation.checks.wording import browsing_action, private_data
from annotation.document import read_document
from tests.documents import good_data, good_document


def findings(code: str, *, thresholds: Thresholds | None = None, **changes: Any) -> list[Finding]:
    document = read_document(good_data(**changes))
    context = CheckContext(document, thresholds=thresholds or Thresholds())
    return [finding for finding in run_checks(context) if finding.code == code]


def node(value: str) -> list[dict[str, Any]]:
    return [{"key": "n1", "entity": "Qqq", "properties": [{"name": "p", "value": value, "sources": ["s1"]}]}]


def leaks(value: str, question: str, **changes: Any) -> list[tuple[str, str]]:
    """How and where one property value leaks: (how, marked words) of each span."""
    result = []
    for finding in findings("path_leakage", question=question, nodes=node(value), relations=[], **changes):
        words = {"as it is": "exactly", "but for": "folded", "longer word": "within", "% alike": "nearly"}
        (how,) = [how for some, how in words.items() if some in finding.message]
        result += [(how, question[start:end]) for start, end in finding.spans]
    return result


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, folded",
    [
        ("  Forth\n Bridge! ", "forth bridge"),
        ("Zürich", "zurich"),
        ("Zu\u0308rich", "zurich"),
        ("STRASSE straße", "strasse strasse"),
        ("Cleopatra’s", "cleopatras"),
        ("SR-71", "sr 71"),
        ("\uff34\uff4f\uff4b\uff59\uff4f", "tokyo"),  # full-width letters
        ("Ærøskøbing Łódź", "aeroskobing lodz"),
        ("co\u00adop\u200b", "coop"),  # soft hyphen, zero-width space
        ("ハ バ", "は は\u3099"),  # katakana as hiragana; the mark of voice is no accent
        ("…", ""),
    ],
)
def test_fold_reads_texts_alike_that_a_reader_takes_for_the_same(text: str, folded: str):
    assert fold(text) == folded
    assert Folded.of(text).text == folded


def test_folded_span_leads_back_to_the_typed_characters():
    # folded "a strasse x": strasse is 2..9; typed it is the six characters from 3 on
    within = Folded.of("“A Straße” x")
    assert within.text == "a strasse x"
    assert within.typed[slice(*within.span(2, 9))] == "Straße"


# --- path leakage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, question, expected",
    [
        ("Forth Bridge", "Is the Forth Bridge it?", [("exactly", "Forth Bridge")]),
        ("Forth Bridge", "The Forth Bridge, a Forth Bridge", [("exactly", "Forth Bridge")] * 2),
        ("Forth Bridge", "Is the FORTH–BRIDGE it?", [("folded", "FORTH–BRIDGE")]),
        ("Firth of Forth", "the Firth  of\nForth bridge", [("folded", "Firth  of\nForth")]),
        ("Zürich", "the town of Zurich", [("folded", "Zurich")]),
        ("Zurich", "the town of Zu\u0308rich now", [("folded", "Zu\u0308rich")]),
        ("Cleopatra's Needle", "near Cleopatras needle?", [("folded", "Cleopatras needle")]),
        ("Ελλάδα", "στην ΕΛΛΑΔΑ;", [("folded", "ΕΛΛΑΔΑ")]),
        ("Harvard University", "studied at the Harvard Univercity in", [("nearly", "Harvard Univercity")]),
        ("Penguin Books", "the PenguinBooks cover", [("nearly", "PenguinBooks")]),
        ("Angus Hyland", "drawn by Agnus Hyland?", [("nearly", "Agnus Hyland")]),
        ("Pentagram", "the firm of Pentagramm drew it", [("within", "Pentagramm")]),
        ("Bodleian Library", "the Bodlean Library", [("nearly", "Bodlean Library")]),
        ("Egypt", "the tallest Egyptian one", [("within", "Egyptian")]),
        ("1890", "opened in 1890?", [("exactly", "1890")]),
        ("US", "a US ship", [("exactly", "US")]),
        ("museum", "in a museum of", [("exactly", "museum")]),
        ("大英博物馆", "这座塔在大英博物馆旁边", [("exactly", "大英博物馆")]),
        ("Paris", "位于Paris的塔", [("exactly", "Paris")]),
        ("서울", "서울에서", [("exactly", "서울")]),
        ("武漢長江大橋", "武汉长江大桥的设计者是谁？", [("folded", "武汉长江大桥")]),
        ("广岛", "廣島的这座塔", [("folded", "廣島")]),
        ("武汉长江大桥", "那座《武汉·长江大桥》", [("folded", "武汉·长江大桥")]),
        ("武汉长江大桥", "武汉的长江大桥由谁设计？", [("nearly", "武汉的长江大桥")]),  # 6 of 6 and 7: 12/13 = 92%
        ("武汉长江大桥", "武汉长江桥由谁设计？", [("nearly", "武汉长江桥")]),  # 5 of 6 and 5: 10/11 = 91%
        ("トウキョウ", "とうきょうの塔", [("folded", "とうきょう")]),
        ("กรุงเทพมหานคร", "หอคอยในกรุงเทพมหานครคืออะไร", [("exactly", "กรุงเทพมหานคร")]),
    ],
)
def test_path_leakage_when_a_value_is_in_the_question_marks_it(
    value: str, question: str, expected: list[tuple[str, str]]
):
    assert leaks(value, question) == expected


@pytest.mark.parametrize(
    "value, question",
    [
        ("Forth Bridge", "a bridge over a firth"),
        ("Paris", "a comparison of parish towers"),
        ("range", "an orange cover, oranges"),
        ("Stone", "at Stonehenge"),
        ("Baker", "beside the bakery"),
        ("US", "it tells us much"),
        ("IT", "It is so"),
        ("museum", "The Museum of"),
        ("1890", "the number 18901"),
        ("4 March 1890", "on 4 March 1880"),
        ("Menai Suspension Bridge", "a suspension bridge connecting two shores"),
        ("Harvard University", "he studied at a university"),
        ("塔", "这座塔"),
        ("北京师范大学", "南京师范大学的这座塔"),  # the first character is another
        ("北京大学", "北京的某所大学"),
        ("上海交通大学", "上海外贸大学的校门"),
        ("一九二三年", "一九二四年的事"),
        ("はと", "なのはとても"),  # two kana name nothing
        ("มา", "มาลัย"),
        ("", "anything"),
        ("…", "and so on…"),
        ("x" * 50, "short"),
    ],
)
def test_path_leakage_when_words_are_only_alike_is_silent(value: str, question: str):
    assert leaks(value, question) == []


@pytest.mark.parametrize(
    "place, words",
    [("entity", "Entity Lund Tower"), ("aliases", "Alias Lund Tower"), ("properties", "Property value Lund Tower")],
)
def test_path_leakage_looks_at_entity_aliases_and_properties(place: str, words: str):
    filled: Any = {
        "entity": "Lund Tower",
        "aliases": ["Lund Tower"],
        "properties": [{"name": "p", "value": "Lund Tower"}],
    }[place]
    nodes = good_data()["nodes"]
    nodes[2][place] = filled
    (finding,) = findings("path_leakage", nodes=nodes, question="Who built the Lund Tower?")
    assert finding.anchor == "question"
    assert finding.related == ("n3",)
    assert finding.spans == ((14, 24),)  # "Who built the " has 14 characters
    assert finding.message.startswith(words)


def test_path_leakage_when_nearly_says_how_alike():
    # 17 of the 18 characters agree: 2 * 17 / (18 + 18) = 94.4%
    (finding,) = findings(
        "path_leakage", nodes=node("Harvard University"), relations=[], question="Harvard Univercity?"
    )
    assert "(94% alike)" in finding.message
    assert leaks("Harvard University", "Harvard Univercity?", thresholds=Thresholds(leak_percent=95)) == []


def test_path_leakage_when_the_value_is_the_answer_leaves_it_to_the_other_check():
    assert leaks("Lund Tower", "Is it the Lund Tower?", answer="lund tower") == []
    assert len(findings("answer_in_question", question="Is it the Lund Tower?", answer="lund tower")) == 1


def test_path_leakage_when_entity_and_alias_fold_alike_counts_once():
    nodes = [{"key": "n1", "entity": "Lund Tower", "aliases": ["LUND-TOWER"]}]
    assert len(findings("path_leakage", nodes=nodes, relations=[], question="Which Lund Tower?")) == 1


# --- answer in question -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer, aliases, question, spans",
    [
        ("1588", [], "Was it 1588?", ((7, 11),)),
        ("Lund Tower", [], "Was it LUND tower?", ((7, 17),)),
        ("Lund\nTower", [], "Was it Lund Tower?", ((7, 17),)),
        ("Baker", [], "Was it Baker's?", ((7, 12),)),
        ("tower", ["Lund spire"], "The Lund spire?", ((4, 14),)),
        ("巴黎", [], "它在巴黎吗?", ((2, 4),)),
    ],
)
def test_answer_in_question_when_whole_marks_it(
    answer: str, aliases: list[str], question: str, spans: tuple[tuple[int, int], ...]
):
    (finding,) = findings("answer_in_question", question=question, answer=answer, answer_aliases=aliases)
    assert (finding.level, finding.anchor, finding.spans) == ("error", "question", spans)


@pytest.mark.parametrize(
    "answer, question",
    [
        ("158", "Was it 158?"),  # under 4 characters
        ("1588", "Was it 15880?"),
        ("Lund Tower", "Which tower of Lund?"),
        ("Lund Tower", "Lund Towers?"),
        ("Rome", "a chromed Romeo"),
        ("塔", "这座塔"),
        ("北京师范大学", "南京师范大学的这座塔"),  # the first character is another
        ("北京大学", "北京的某所大学"),
        ("上海交通大学", "上海外贸大学的校门"),
        ("一九二三年", "一九二四年的事"),
        ("はと", "なのはとても"),  # two kana name nothing
        ("มา", "มาลัย"),
    ],
)
def test_answer_in_question_when_only_a_part_is_silent(answer: str, question: str):
    assert findings("answer_in_question", question=question, answer=answer, answer_aliases=[]) == []


# --- actions ----------------------------------------------------------------------------------------------------------

ACTIONS = """
Search for the founder of the museum
Search Google for "Cleopatra's Needle"
Google the name of the engineer
Open the official website of the museum
Visit https://example.org
Click on the second link
Look up the year of construction
Find the page about the obelisk
Find who designed the bridge
Navigate to the history section
Watch the video at 03:41
Go to Wikipedia
Use Google Lens to identify the bridge
Use a reverse image search
Check the museum's page for the date
Enter the name in the search box
Scroll down to the table
Download the PDF
Zoom in on the map
Identify the bridge in the picture
Determine which pope set it up
Watch a film to confirm that there are six statues.
1. Search for Benjamin Baker
First, search the web for the logo.
Step 3: Open Wikipedia and read the infobox
Then visit the museum's website
We search for the name of the designer
I googled the name
The agent opens the page of the museum
You need to look up the ship
Searching for the logo gives Penguin Books
By clicking the link one reaches the museum
A reverse image search shows the Forth Bridge
The name is found by a Google search
打开维基百科页面
首先,搜索该桥的名称
""".strip().splitlines()

STATEMENTS = """
Open University was founded in 1969.
Open access to the paper was granted in 2001.
Open since 1890, the bridge carries two tracks.
Opening the museum in 1977, Queen Elizabeth named the architect.
Google was founded by Larry Page and Sergey Brin.
Google Search was launched in 1997.
Google Maps shows the mark at the end of the pier.
Search engines index the archive of the museum.
The search for the wreck ended in 1985.
Searching for Bobby Fischer is a film by Steven Zaillian.
TinEye is a reverse image search engine.
Visit Britain is the tourist board of Great Britain.
Hiram Bingham returned to visit the site in 1912.
Find a Grave lists Baker as buried in Idbury.
Enter the Dragon is a film of 1973.
Watch Hill is a village in Rhode Island.
Watch the Throne is an album by Jay-Z and Kanye West.
Read is a village in Lancashire.
Read the Docs was founded in 2010.
Click is a film of 2006.
Look Back in Anger is a play by John Osborne.
Lookout Mountain stands in Tennessee.
Go is a board game.
Use of the bridge ended in 1965.
The link between the two is the penguin logo.
The page shows a map of Vienna.
The museum opened the exhibition in 1977.
One of Pentagram's founding partners was Alan Fletcher.
We Are the World was recorded in 1985.
You Only Live Twice was filmed in Japan.
I. M. Pei designed the pyramid.
I Am Legend was written by Richard Matheson.
The user manual names the A17 Pro.
Calculating 1956 - 1619 = 337 years.
Confirm that the bridge is the Forth Bridge.
Identify the man beside the ship as Benjamin Baker.
Determine that the first pier was built in 1883.
访问量最高的博物馆是卢浮宫。
搜索引擎百度成立于2000年。
""".strip().splitlines()


@pytest.mark.parametrize("conclusion", ACTIONS)
def test_browsing_action_when_it_reads_as_one_is_found(conclusion: str):
    assert browsing_action(conclusion)


@pytest.mark.parametrize("conclusion", STATEMENTS)
def test_browsing_action_when_it_states_something_is_silent(conclusion: str):
    assert browsing_action(conclusion) is None


def test_browsing_action_names_the_step_and_the_words():
    checklist = good_data()["checklist"]
    checklist[4]["conclusion"] = "Look up the pharaoh of the inscription."
    (finding,) = findings("browsing_action", checklist=checklist)
    assert finding.anchor == "c5"
    assert finding.message == "Step 5 reads as something to do: “Look up …”"


# --- repetition -------------------------------------------------------------------------------------------------------


def test_near_duplicate_steps_when_alike_names_both():
    checklist = good_data()["checklist"]
    checklist[5]["conclusion"] = "John Fowler and Benjamin Baker designed the Forth bridge"  # step 2 in another order
    (finding,) = findings("near_duplicate_steps", checklist=checklist)
    assert (finding.anchor, finding.related) == ("c6", ("c2",))
    assert finding.message == "Steps 2 and 6 are 100% alike."


@pytest.mark.parametrize(
    ("one", "two", "alike"),
    [
        ("这座桥由本杰明·贝克设计，建于苏格兰", "這座橋由本傑明·貝克設計，建於蘇格蘭", True),
        (
            "这座横跨海湾的铁路桥是由英国工程师本杰明贝克主持设计的",
            "由英国工程师本杰明贝克主持设计的是这座横跨海湾的铁路桥",
            True,
        ),
        ("该方尖碑于一九二三年被运到伦敦的河岸边", "该方尖碑于一九二四年被运到伦敦的河岸边", False),
        ("这座桥由贝克设计", "这艘船由贝克设计", False),
    ],
)
def test_near_duplicate_steps_in_chinese_are_told_by_characters(one: str, two: str, alike: bool):
    checklist = good_data()["checklist"]
    checklist[0]["conclusion"], checklist[1]["conclusion"] = one, two
    assert bool(findings("near_duplicate_steps", checklist=checklist)) is alike


def test_near_duplicate_steps_when_numbers_differ_is_silent():
    checklist = good_data()["checklist"]
    checklist[1]["conclusion"] = "The tower of the library was completed in the year 1619."
    checklist[2]["conclusion"] = "The tower of the library was completed in the year 1691."
    checklist[3]["conclusion"] = checklist[4]["conclusion"] = " "
    assert findings("near_duplicate_steps", checklist=checklist) == []


def test_near_duplicate_question_when_another_asks_it_names_the_item():
    found = [f for f in run_checks(CheckContext(good_document(), twins=[("#2", 97)])) if f.level == "warning"]
    assert [(f.code, f.anchor, f.params["name"]) for f in found] == [("near_duplicate_question", "question", "#2")]


def test_nearly_same_finds_what_asks_the_same_the_likest_first():
    question = fold(good_document().question)
    others = [
        "which club has its name on the wall of a house in the film",
        question.replace("iron", "steel"),
        question[:150],
        "",
        question,
    ]
    assert [position for position, _ in nearly_same(question, others, 90, 5)] == [4, 1]
    assert [position for position, _ in nearly_same(question, others, 90, 1)] == [4]
    assert nearly_same("", others, 90, 5) == []


def test_nearly_same_in_chinese_knows_the_same_clauses_in_another_order():
    one = fold("图中这座横跨海湾的红色铁路桥的设计者还设计过一艘圆筒形的船，它运送的方尖碑最初立在哪座城市？")
    other = fold("最初立在哪座城市的方尖碑由一艘圓筒形的船運送？它的設計者還設計過圖中這座橫跨海灣的紅色鐵路橋。")
    swapped = fold("它运送的方尖碑最初立在哪座城市？图中这座横跨海湾的红色铁路桥的设计者还设计过一艘圆筒形的船")
    assert [p for p, _ in nearly_same(one, [other, swapped, "图中这座塔有多高"], 90, 5)] == [1]


def test_lengths_alike_leave_out_nothing_that_is_near():
    # 90% of 100 characters: from 100 * 0.9 / 1.1 = 81.8 to 100 * 1.1 / 0.9 = 122.2, and 2 to spare
    assert lengths_alike(100, 90) == (79, 124)


# --- private data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, kind, found",
    [
        ("write to jane.doe@example.org.", "an e-mail address", "jane.doe@example.org"),
        ("call +44 20 7946 0958 now", "a telephone number", "+44 20 7946 0958"),
        ("call +1 (202) 555-0123", "a telephone number", "+1 (202) 555-0123"),
        ("call (202) 555-0123", "a telephone number", "(202) 555-0123"),
        ("call 202-555-0123", "a telephone number", "202-555-0123"),
        ("+33.1.42.68.53.00", "a telephone number", "+33.1.42.68.53.00"),
        ("tel. 020 7946 0000", "a telephone number", "tel. 020 7946 0000"),
        ("手机:13812345678", "a telephone number", "手机:13812345678"),
        ("lives at 221B Baker Street", "a street address", "221B Baker Street"),
        ("lives at 1600 Pennsylvania Avenue", "a street address", "1600 Pennsylvania Avenue"),
        ("au 12, rue Lepic", "a street address", "12, rue Lepic"),
        ("in der Hauptstraße 12", "a street address", "Hauptstraße 12"),
        ("住在建国路93号", "a street address", "住在建国路93号"),
    ],
)
def test_private_data_when_it_looks_so_is_found(text: str, kind: str, found: str):
    assert [(k, text[start:end]) for k, start, end in private_data(text)] == [(kind, found)]


@pytest.mark.parametrize(
    "text",
    [
        "from 1914 to 1918 and 1939–1945, on 2026-11-30 10:00:00",
        "ISBN 978-0-14-143951-8, ISBN 0-306-40615-2, ISSN 1234-5678, OCLC 13812345678, id 202-555-0123",
        "41.88680, 12.50490 or +41.88680 +12.50490 or +48.8584, +2.2945",
        "1:50000, 3:2, 1956 - 1619 = 337",
        "1,234,567 people, 1 234 567 8901 stars, 12 345 678 leaves",
        "+3 °C to +10 °C, +20.5 and +30.25 %, +1,200 metres",
        "In 1890 Fleet Street was widened; the 1984 Summer Road trip; 42nd Street",
        "https://www.youtube.com/@state and https://medium.com/@user.name/x",
        "the 7 hills of Rome, 5 King St Pancras",
        "Alexanderplatz in 1945, Hauptstraße",
    ],
)
def test_private_data_when_numbers_mean_something_else_is_silent(text: str):
    assert [text[start:end] for _, start, end in private_data(text)] == []


def test_private_data_marks_the_question_and_names_other_places():
    data = good_data(question="Who is jane@example.org?", design="+44 20 7946 0958")
    data["sources"][2]["quote"] = "Write to jane@example.org"
    found = [f for f in run_checks(CheckContext(read_document(data))) if f.code == "private_data"]
    assert [(f.section, f.anchor, f.spans) for f in found] == [
        ("question", "question", ((7, 23),)),
        ("design", "design", ()),
        ("sources", "s3", ()),
    ]
