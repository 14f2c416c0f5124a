"""A query that is compiled once answers like the one it was made of, whatever numbers it is asked with."""

import datetime as dt
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef

from annotation.models import Benchmark, Membership
from lhdr_site.shared.prepared import Prepared


def _member(benchmark: int, person: int) -> Any:
    own = Membership.objects.filter(benchmark=benchmark, user=OuterRef("pk"))
    return User.objects.filter(pk=person).values("username", since=F("date_joined"), is_member=Exists(own))


MEMBER = Prepared(_member, "benchmark", "person")


def test_prepared_query_asks_once_and_answers_for_each_number(team: Any, django_assert_num_queries: Any) -> None:
    other = Benchmark.objects.create(slug="other", name="Other", canary="x")
    for person in (team.ann, team.stranger, team.aud):
        for benchmark in (team.benchmark, other):
            with django_assert_num_queries(1):
                row = MEMBER.get(benchmark=benchmark.pk, person=person.pk)
            assert row == _member(benchmark.pk, person.pk).get()
            assert row is not None and isinstance(row["since"], dt.datetime) and isinstance(row["is_member"], bool)
    assert MEMBER.get(benchmark=team.benchmark.pk, person=0) is None


def test_prepared_query_sees_what_changed_since_it_was_compiled(team: Any) -> None:
    ask = {"benchmark": team.benchmark.pk, "person": team.stranger.pk}
    before = MEMBER.get(**ask)
    Membership.objects.create(benchmark=team.benchmark, user=team.stranger, role=1)
    after = MEMBER.get(**ask)
    assert before and after and (before["is_member"], after["is_member"]) == (False, True)


def test_prepared_objects_are_those_of_the_queryset_with_what_is_joined(
    team: Any, django_assert_num_queries: Any
) -> None:
    def build(person: int, slug: str) -> Any:
        members = Membership.objects.select_related("benchmark").defer("benchmark__canary")
        return members.filter(user=person, benchmark__slug=slug).annotate(name=F("user__username"))

    prepared = Prepared(build, "person", "slug", texts=["slug"])
    for person in (team.ann, team.aud):
        with django_assert_num_queries(1):
            [row] = prepared.objects(person=person.pk, slug=team.benchmark.slug)
            assert (row.benchmark, row.user_id, row.name) == (team.benchmark, person.pk, person.username)
        assert row == build(person.pk, team.benchmark.slug).get() and not row._state.adding
        with django_assert_num_queries(1):
            assert row.benchmark.canary == team.benchmark.canary
    assert prepared.objects(person=team.ann.pk, slug="other") == []
