"""Root causes drawn on an item's checklist, and findings of item health that become errata: for whom, with what."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from audit.models import Errata
from evaluation.models import Verdict
from lhdr_site.shared.findings import read_finding, sign_finding
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_results import judged_run

MEMBERS = [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]


@pytest.fixture
def judged(setting: Setting) -> Setting:
    """Three systems on three items of ten steps; nobody solves the third, and all end on another answer there."""
    for name, right, stated in (("A", 10, [10, 8, 5]), ("B", 5, [10, 4, 5]), ("C", 0, [10, 0, 5])):
        judged_run(setting, name, [True, right > 4, False], stated)
    return setting


def cause(number: int, query: str = "") -> str:
    return reverse("evaluation:cause-item", args=["bench", number]) + query


def health(number: int, query: str) -> str:
    return reverse("evaluation:health-flag", args=["bench", number]) + query


def numbers(setting: Setting) -> list[int]:
    rows = setting.release.release_items.order_by("position")
    return list(rows.values_list("item__number", flat=True))


@pytest.mark.parametrize(("who", "expected"), MEMBERS)
def test_item_is_drawn_with_what_its_steps_cost_for_members(judged: Setting, who: str, expected: int) -> None:
    Verdict.objects.filter(response__release_item__position=0).update(vector=[1, 0] + [1] * 8)
    reply = judged.team.client(who).get(cause(numbers(judged)[0]))
    assert reply.status_code == expected
    if expected == 200:
        text = reply.content.decode()
        assert "g-heat-4" in text and "Most break first at step 2: 3 of 3." in text
        assert "3 of 3 responses first break here" in text and 'href="#step-' in text
        assert text.count('<tr id="step-') == 10 and "over 10%" in text


def test_drawn_item_leads_to_the_next_and_takes_few_queries(
    judged: Setting, django_assert_max_num_queries: Any
) -> None:
    client = judged.team.client("ann")
    table = client.get(reverse("evaluation:analysis", args=["bench", "causes"]))
    links = [row["address"] for row in table.context["result"].tables[0].rows]
    assert len(links) == 3 and all(link.startswith("items/") for link in links)
    with django_assert_max_num_queries(22):
        first = client.get(reverse("evaluation:analysis", args=["bench", "causes"]) + links[0])
    assert first.status_code == 200 and first.context["previous"] == "" and "1 of 3" in first.content.decode()
    assert client.get(first.context["following"]).context["place"] == 2
    for path in (cause(999), cause(numbers(judged)[0], "?release=no"), cause(numbers(judged)[0], "?judge=no")):
        assert client.get(path).status_code == 404


def test_item_without_any_verdict_says_so(judged: Setting) -> None:
    Verdict.objects.filter(response__release_item__position=0).update(unparseable="gone", vector=None)
    text = judged.team.client("ann").get(cause(numbers(judged)[0])).content.decode()
    assert "nothing is known of where it breaks" in text and "g-heat-1" not in text.partition("wb-legend")[0]


@pytest.mark.parametrize(("who", "expected"), MEMBERS)
def test_finding_of_health_fills_in_the_flag_and_its_evidence_is_kept(judged: Setting, who: str, expected: int) -> None:
    client, number = judged.team.client(who), numbers(judged)[2]
    page = client.get(health(number, "?what=items"), follow=True)
    assert page.status_code == expected
    if expected == 404:
        return
    text = page.content.decode()
    assert "None of 3 systems solves it." in text and "Evidence from an analysis" in text
    address = page.redirect_chain[-1][0]
    grounds = "I looked: the key is from another year."
    reply = client.post(address, {"kind": "answer", "anchor": "", "grounds": grounds})
    assert reply.status_code == 302
    row = Errata.objects.get()
    assert (row.grounds, row.kind, row.item.number) == (grounds, "answer", number)
    assert row.evidence["never solved"] == "yes" and row.evidence["solved by"] == "0"
    assert "/results/health/" in row.evidence["address"] and "runs" in row.evidence["computed from"]
    assert "never solved" in client.get(reply.headers["Location"]).content.decode()


def test_step_and_consensus_name_what_is_meant(judged: Setting) -> None:
    client = judged.team.client("ann")
    result = client.get(reverse("evaluation:analysis", args=["bench", "health"]))
    base = reverse("evaluation:analysis", args=["bench", "health"])
    tables = {table.key: table for table in result.context["result"].tables}
    assert "btn btn-sm" in result.content.decode() and tables["consensus"].rows
    step = client.get(base + tables["steps"].rows[0]["flag_address"])
    finding = read_finding(parse_qs(urlsplit(step.headers["Location"]).query)["finding"][0], "bench", step_number(step))
    assert finding and finding["kind"] == "step" and finding["anchor"] and "stated by" in finding["grounds"]
    other = client.get(base + tables["consensus"].rows[0]["flag_address"], follow=True).content.decode()
    assert "and the key says" in other and "systems that agree" in other
    for query in ("?what=items&step=x", "?what=systems", "?what=steps&step=99", ""):
        assert client.get(health(numbers(judged)[2], query)).status_code == 404
    assert client.get(health(numbers(judged)[0], "?what=items")).status_code == 404, "nothing was found there"


def step_number(reply: Any) -> int:
    return int(urlsplit(reply.headers["Location"]).path.split("/items/")[1].split("/")[0])


def test_finding_that_was_not_signed_here_or_is_of_another_item_fills_in_nothing(judged: Setting) -> None:
    first, second, _third = numbers(judged)
    token = sign_finding("bench", first, {"kind": "answer", "anchor": "", "grounds": "Spoofed", "evidence": {"a": "b"}})
    client = judged.team.client("ann")
    for wrong in (token[:-3] + "abc", token, "x"):
        page = client.get(reverse("audit:item-flag", args=["bench", second]), {"finding": wrong})
        assert page.status_code == 200 and "Spoofed" not in page.content.decode()
        assert "could not be read from the address" in page.content.decode()
    assert (
        "Spoofed" in client.get(reverse("audit:item-flag", args=["bench", first]), {"finding": token}).content.decode()
    )


def test_what_is_to_be_done_is_in_no_file(judged: Setting) -> None:
    client = judged.team.client("ann")
    csv = client.get(reverse("evaluation:analysis-csv", args=["bench", "health", "items"])).getvalue().decode()
    tex = client.get(reverse("evaluation:analysis-tex", args=["bench", "health", "items"])).content.decode()
    assert "flag" not in csv.splitlines()[0] and "Flag" not in tex
