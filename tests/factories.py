"""People, benchmarks and items for tests, made through the real actions."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from annotation import actions, benchmark_actions
from annotation.document import Document
from annotation.models import Benchmark, Item
from annotation.states import Role
from tests.documents import good_document

_numbers = count(1)
PASSWORD = "a password for tests"


def make_user(name: str = "", **fields: Any) -> User:
    name = name or f"person{next(_numbers)}"
    return User.objects.create_user(name, f"{name}@example.org", PASSWORD, **fields)


@dataclass
class Team:
    """A benchmark and its people. `ann` wrote most things, `ann2` is another annotator."""

    benchmark: Benchmark
    root: User
    ann: User
    ann2: User
    aud: User
    core: User
    admin: User
    stranger: User

    def client(self, who: str) -> Client:
        client = Client()
        client.force_login(getattr(self, who))
        return client

    def item(self, document: Document | None = None, author: User | None = None) -> Item:
        """A draft of `ann`; by default a complete one without any error."""
        if document is None:
            document = replace(good_document(), id=f"test-item-{next(_numbers)}")
        return actions.create_item(self.benchmark, actor=author or self.ann, document=document)


def make_team(slug: str = "bench", preset: str = "paper") -> Team:
    root = make_user(f"{slug}-root", is_superuser=True, is_staff=True)
    benchmark = benchmark_actions.create_benchmark(slug, f"Benchmark {slug}", preset, actor=root)
    roles = {"ann": Role.ANNOTATOR, "ann2": Role.ANNOTATOR, "aud": Role.AUDITOR, "core": Role.CORE, "admin": Role.ADMIN}
    people = {name: make_user(f"{slug}-{name}") for name in [*roles, "stranger"]}
    for name, role in roles.items():
        benchmark_actions.set_membership(benchmark, people[name], role, actor=root)
    return Team(benchmark=benchmark, root=root, **people)
