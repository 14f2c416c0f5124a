"""The template tags: every state has its glyph and word, figures are shown as they should be, data is escaped."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django import forms
from django.core.paginator import Paginator
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone

from lhdr_site.shared.gallery import gallery_context
from lhdr_site.shared.templatetags import workbench


def render(source: str, **context: Any) -> str:
    return Template("{% load workbench %}" + source).render(Context(context)).strip()


def texts(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).strip()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.657, "65.7%"), (0.0, "0.0%"), (1.0, "100.0%"), (0.02949, "2.9%"), (0.6578, "65.8%"), (None, "–")],
)
def test_percent_when_given_a_fraction_shows_one_decimal(value: float | None, shown: str) -> None:
    assert workbench.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.5, ".50"), (0.0, ".00"), (1.0, "1.00"), (0.999, "1.00"), (None, "–")])
def test_fraction_when_below_one_drops_the_zero(value: float | None, shown: str) -> None:
    assert workbench.fraction(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.265, "+26.5"), (-0.0386, "−3.9"), (0.0, "0.0"), (-0.0004, "0.0"), (None, "–")]
)
def test_points_when_given_a_difference_shows_its_sign(value: float | None, shown: str) -> None:
    assert workbench.points(value) == shown


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (dt.timedelta(seconds=59), "just now"),
        (dt.timedelta(seconds=-5), "just now"),
        (dt.timedelta(minutes=1), "1 min"),
        (dt.timedelta(minutes=119), "1 h"),
        (dt.timedelta(hours=23, minutes=59), "23 h"),
        (dt.timedelta(hours=24), "yesterday"),
        (dt.timedelta(days=9, hours=23), "9 days"),
        (dt.timedelta(days=10), ""),
    ],
)
def test_time_words_when_given_an_age_are_those_of_the_largest_unit(age: dt.timedelta, shown: str) -> None:
    assert workbench.time_words(age) == shown


def test_relative_time_when_old_shows_the_date_and_the_moment_in_the_title() -> None:
    moment = timezone.now() - dt.timedelta(days=40)
    html = workbench.relative_time(moment)
    assert str(timezone.localtime(moment).year) in texts(html)
    assert 'datetime="' + timezone.localtime(moment).isoformat(timespec="seconds") in html
    assert f'title="{timezone.localtime(moment):%Y-%m-%d %H:%M} UTC"' in html


def test_save_state_when_of_another_day_names_the_day() -> None:
    def shown(age: dt.timedelta) -> str:
        at = timezone.now() - age
        return texts(render_to_string("components/save_state.html", workbench.save_state("saved", at=at)))

    yesterday = timezone.localdate() - dt.timedelta(days=1)
    assert f"Saved {yesterday:%Y-%m-%d} " in shown(dt.timedelta(days=1))
    assert str(yesterday.year) not in shown(dt.timedelta())


def test_progress_bar_when_given_counts_draws_them_in_order_of_being_done() -> None:
    # of 100: 61 completed from 0 to 61, 3 failed to 64, 4 running to 68; pending stays empty; each but the last has
    # a gap of 0.2 after it
    bar = workbench.progress_bar({"running": 4, "pending": 32, "failed": 3, "completed": 61}, total=100)
    assert [(s.x, s.width, s.hue) for s in bar["segments"]] == [
        ("0.00%", "60.80%", "green"),
        ("61.00%", "2.80%", "red"),
        ("64.00%", "3.80%", "blue"),
    ]
    assert bar["label"] == "Running: 4; Pending: 32; Failed: 3; Completed: 61; of 100"


def test_progress_bar_when_empty_draws_nothing() -> None:
    assert workbench.progress_bar({}, total=0) == {"segments": [], "label": "", "large": False}


def test_interval_when_at_the_edge_stays_inside_the_bar() -> None:
    drawn = workbench.interval(0.029, 0.0, 0.07)
    assert (drawn["mark"], drawn["band_x"], drawn["band_width"]) == ("2.90%", "0.00%", "7.00%")
    assert workbench.interval(None) == {"value": None}


def test_step_credit_when_blocked_links_the_blockers() -> None:
    assert texts(render("{% step_credit 'blocked' by anchor='r' %}", by=[3, 4])) == "Stated, blocked by 3 , 4"
    assert 'href="#r3"' in render("{% step_credit 'blocked' by anchor='r' %}", by=[3, 4])
    assert texts(render("{% step_credit 'missing' %}")) == "Missing"


@pytest.mark.parametrize(
    ("outcome", "word"), [("correct", "correct"), (False, "wrong"), ("unparseable", "unparseable"), (None, "–")]
)
def test_verdict_mark_when_given_an_outcome_says_it(outcome: str | bool | None, word: str) -> None:
    assert texts(workbench.verdict_mark(outcome)) == word


def test_states_when_unknown_are_refused() -> None:
    for tag in (workbench.item_state, workbench.response_status, workbench.run_state, workbench.verdict_mark):
        with pytest.raises(KeyError):
            tag("gone")


def test_gate_dots_when_given_an_items_summary_show_all_seven_in_order() -> None:
    html = workbench.gate_dots({"metadata": {"status": "stale"}, "leakage": "failed"})
    assert html.count("<svg") == 7
    assert (
        'aria-label="Answer uniqueness: open; No path leakage: failed; Irreducibility: open; Source support: open; '
        'Multimodal necessity: open; Shortcut filtering: open; Metadata consistency: stale"'
    ) in html


def test_gate_codes_when_compared_are_those_of_the_workflow() -> None:
    from annotation.states import Gate, GateStatus, State

    assert list(workbench.GATES) == [gate.value for gate in Gate]
    assert set(workbench.GATE_STATUSES) == {"hidden", *GateStatus}  # hidden from blind second auditors
    assert set(workbench.ITEM_STATES) == {state.value for state in State}


def test_role_word_when_given_a_code_or_a_member_says_it() -> None:
    from annotation.states import Role

    assert [workbench.role_word(role) for role in Role] == ["annotator", "auditor", "core team", "admin"]
    assert workbench.role_word("core") == "core team"


def test_tags_when_given_markup_escape_it() -> None:
    evil = "<img src=x onerror=alert(1)>"
    person = type("P", (), {"pk": 1, "get_full_name": lambda s: evil, "get_username": lambda s: "x"})()
    pages = [
        render("{% key_badge e title=e href=e %}{% badge e %}{% avatar p %}", e=evil, p=person),
        render("{% gate_dots g %}{% gate_list g %}", g=[workbench.GateRow("x", evil, evil, "open", evil)]),
        render("{% metric_tile e e of=e note=e title=e %}{% empty_state e e url='/' action=e %}", e=evil),
        render("{% dialog 'd' e %}{{ e }}{% enddialog %}{% menu e %}{{ e }}{% endmenu %}", e=evil),
        render("{% step_credit 'blocked' b %}{% pagination summary=e next_url='/' %}", b=[evil], e=evil),
        render("{% tabs t 'a' e %}", t=[{"name": "a", "label": evil, "url": evil}], e=evil),
        render("{% include 'components/finding.html' with level='error' title=e text=e reason=e %}", e=evil),
        render("{% include 'components/note.html' with level='info' title=e text=e %}", e=evil),
    ]
    for page in pages:
        assert "<img" not in page
        assert "&lt;img" in page


class TwoFields(forms.Form):
    name = forms.CharField(max_length=3, help_text="Three letters.")
    kind = forms.ChoiceField(choices=[("a", "A"), ("b", "B")], widget=forms.RadioSelect)


def test_field_when_wrong_ties_help_and_errors_to_the_control() -> None:
    html = render("{% field form.name data_guard='x' %}", form=TwoFields({"name": "abcd"}))
    assert 'aria-describedby="id_name_help id_name_errors"' in html
    assert 'aria-invalid="true"' in html
    assert 'data-guard="x"' in html
    assert 'id="id_name_errors"' in html
    assert 'id="id_name_help"' in html
    assert html.count("aria-describedby") == 1


def test_field_when_radio_is_a_fieldset_with_a_label_each() -> None:
    html = render("{% field form.kind %}", form=TwoFields({"name": "abc"}))
    assert "<fieldset" in html
    assert 'aria-describedby="id_kind_errors"' in html
    assert 'for="id_kind_0"' in html
    assert texts(html).startswith("Kind A B")


def test_form_errors_when_valid_says_nothing() -> None:
    assert render("{% form_errors form %}", form=TwoFields({"name": "abc", "kind": "a"})) == ""
    assert 'href="#id_name"' in render("{% form_errors form %}", form=TwoFields({"name": "abcd", "kind": "a"}))


def test_pagination_when_given_a_page_keeps_the_query() -> None:
    request = RequestFactory().get("/items", {"q": "a b", "page": "2"})
    page = Paginator(range(120), 50).page(2)
    html = render("{% pagination page=page %}", page=page, request=request)
    assert 'href="?q=a+b&amp;page=1"' in html
    assert 'href="?q=a+b&amp;page=3"' in html
    assert "51 to 100 of 120" in html


def test_gallery_when_rendered_shows_every_state() -> None:
    request = RequestFactory().get("/gallery")
    html = Template("{% extends 'gallery.html' %}").render(
        Context({**gallery_context(), "request": request, "user": type("Nobody", (), {"is_authenticated": False})()})
    )
    for table in (workbench.ITEM_STATES, workbench.RESPONSE_STATUSES, workbench.RUN_STATES, workbench.VERDICTS):
        for look in table.values():
            assert str(look.word) in html
