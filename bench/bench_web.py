"""The web server over real HTTP, as the Procfile starts it, beside a bare Django server on the same database; start-up.

Run `python -m bench.bench_web`. No worker runs beside it: what a worker does after a save is a row of its own.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

from bench.common import (
    BIN,
    ROOT,
    Client,
    Row,
    free_port,
    in_turn,
    item_data,
    measure,
    memory_of,
    milliseconds,
    print_rows,
    row,
    scratch,
    serving,
    set_up,
)

PEOPLE, ROUNDS = 8, 3
SITE, BARE = "lhdr_site.wsgi:application", "bench.bare:application"
TABLES = (
    "CREATE TABLE bench_item (id integer PRIMARY KEY, document text NOT NULL)",
    "CREATE TABLE bench_revision (item integer, number integer, document text NOT NULL, PRIMARY KEY (item, number))",
)


def run(sizes: Sequence[int] = (1_000, 10_000), repeats: int = 30) -> list[Row]:
    """Lists at each number of items; with all of them an item opened and saved; memory throughout."""
    return measure("bench.bench_web", sizes=sizes, repeats=repeats)


def run_start(repeats: int = 3) -> list[Row]:
    """Commands in a fresh process, and the first page after `lhdr up` on an empty data folder and on a used one."""
    django, numpy = [sys.executable, "-m", "django", "--help"], [sys.executable, "-c", "import argparse, json, numpy"]
    rows = [
        _command("lhdr --help, beside django --help", [BIN / "lhdr", "--help"], django, repeats),
        _command("lhdr score --help, beside importing NumPy", [BIN / "lhdr", "score", "--help"], numpy, repeats),
    ]
    first, again, bare = [], [], []
    for _ in range(repeats):
        with scratch() as env:
            first.append(_until_first_page(env))
            again.append(_until_first_page(env))
            start = time.perf_counter()
            with serving(BARE, env) as (port, _pid):
                Client(port).wait("/")
                bare.append(time.perf_counter() - start)
    return [
        *rows,
        row("lhdr up to the first page, new data folder, demo loaded", first, bare, "s"),
        row("lhdr up to the first page, used data folder", again, bare, "s", "≤ 5 s"),
    ]


def _command(name: str, ours: list[Any], baseline: list[Any], repeats: int) -> Row:
    def once(command: list[Any]) -> None:
        subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)

    with scratch() as env:
        del env["DJANGO_SETTINGS_MODULE"]  # bare Django is to load none of our apps
        return row(name, *in_turn(lambda: once(ours), lambda: once(baseline), repeats))


def _until_first_page(env: dict[str, str]) -> float:
    port = free_port()
    env = {**env, "PORT": str(port), "LHDR_DEMO_PORT": str(free_port())}
    start = time.perf_counter()
    site = subprocess.Popen([BIN / "lhdr", "up"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
    try:
        Client(port).wait("/login/")
        return time.perf_counter() - start
    finally:
        site.terminate()
        site.wait()


# --- in a process and an installation of its own ------------------------------------------------------------------


def _measure(sizes: list[int], repeats: int) -> list[Row]:
    team = set_up()
    with serving(SITE) as (port, pid), serving(BARE) as (bare_port, bare_pid):
        bench = _Bench(team, port, bare_port, repeats)
        memory = {"idle": (memory_of(pid), memory_of(bare_pid))}
        rows = []
        for size in sorted(sizes):
            bench.fill(size)
            rows += bench.lists()
            memory[f"after lists of {size:,} items"] = (memory_of(pid), memory_of(bare_pid))
        rows += [*bench.item(), *bench.saves(), bench.saves_at_once()]
        memory["after all of this"] = (memory_of(pid), memory_of(bare_pid))
        rows.append(bench.twins(min(10 * max(sizes), 100_000)))
    return rows + [row(f"server memory, {when}", [a], [b], "MB", "≤ 120 MB") for when, (a, b) in memory.items()]


class _Bench:
    """Eight people, their items first in a benchmark, and a client each to the site and to the bare server."""

    def __init__(self, team: Any, port: int, bare_port: int, repeats: int):
        from django.db import connection

        from annotation.benchmark_actions import set_membership
        from annotation.states import Role
        from tests.factories import make_user

        self.team, self.repeats, self.count = team, repeats, 0
        self.people = [make_user() for _ in range(PEOPLE)]
        for person in self.people:
            set_membership(team.benchmark, person, Role.ANNOTATOR, actor=team.admin)
        with connection.cursor() as cursor:
            for statement in TABLES:
                cursor.execute(statement)
        self.clients = [Client(port, _session(person)) for person in self.people]
        self.bares = [Client(bare_port) for _ in self.people]
        self.client, self.bare = self.clients[0], self.bares[0]
        self.client.wait("/")
        self.bare.wait("/")
        for person in self.people:
            self._insert(person, 1)

    def fill(self, size: int) -> None:
        """So many items in all, checked, as the worker leaves them."""
        from django.db.models import F
        from django.db.models.fields.json import KT

        from annotation.models import Item

        while self.count < size:
            self._insert(self.team.ann, min(size - self.count, 1_000))
        # Running the checks of all of them is not what is measured here.
        Item.objects.update(checked_hash=F("document_hash"), twins_hash=KT("section_hashes__question"))

    def _insert(self, author: Any, count: int) -> None:
        from django.db import connection, transaction

        from annotation.actions import insert_items
        from annotation.document import canonical_bytes, read_document

        with transaction.atomic():
            documents = [read_document(item_data(n)) for n in range(self.count + 1, self.count + count + 1)]
            insert_items(self.team.benchmark, documents, author=author, kind="import")
            with connection.cursor() as cursor:
                rows = [(n, canonical_bytes(d.to_json()).decode()) for n, d in enumerate(documents, self.count + 1)]
                cursor.executemany("INSERT INTO bench_item VALUES (%s, %s)", rows)
        self.count += count

    # --- what is measured

    def _beside(self, name: str, path: str, aim: str, bare: str) -> Row:
        """A page or JSON address beside the bare server's; a page there has as many elements as ours."""
        text = self.client.get(path)
        if not path.startswith("/api/"):
            bare += f"{text.count(b'</') + text.count(b'<input') + text.count(b'<use')}/"
        return row(name, *in_turn(lambda: self.client.get(path), lambda: self.bare.get(bare), self.repeats), aim=aim)

    def lists(self) -> list[Row]:
        from django.urls import reverse

        from annotation.models import Item

        rows = []
        before_last = Item.objects.order_by("-updated", "-pk")[max(self.count - 51, 0)]
        last = "?" + urlencode({"after": f"{before_last.updated.isoformat()},{before_last.pk}"})
        for kind, url, aim in (("JSON", "api-items", "≤ 15 ms"), ("page", "annotation:item-list", "≤ 30 ms, ≤ 4x")):
            for where, cursor in (("first", ""), ("last", last)):
                name = f"list of 50 of {self.count:,}, {where}, {kind}"
                rows.append(self._beside(name, reverse(url, args=["bench"]) + cursor, aim, "/items/"))
        return [*rows, *self._checks()]

    def _checks(self) -> list[Row]:
        """What the worker does after each save; beside it, reading the questions among which it looks for twins."""
        return [
            row(f"checks of an item among {self.count:,}", *self._check(), aim="≤ 15 ms"),
            row(f"checks of an item with a new question among {self.count:,}", *self._check(twins_hash="")),
        ]

    def _check(self, **unknown: str) -> tuple[list[float], list[float]]:
        from django.db import connection

        from annotation.models import Item
        from annotation.steps import check_item

        item = Item.objects.get(number=1)

        def check() -> None:
            Item.objects.filter(pk=item.pk).update(checked_hash="", **unknown)
            check_item(item.pk)

        def read() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT item_id, folded FROM annotation_itemquestion")
                cursor.fetchall()

        return in_turn(check, read, min(self.repeats, 10))

    def twins(self, size: int) -> Row:
        """A new question among so many; what is added for it are questions alone, as nothing else is read."""
        from annotation.checks.text import fold
        from annotation.models import Item, ItemQuestion

        bare = Item.objects.get(number=1)
        for first in range(self.count + 1, size + 1, 5_000):
            numbers = range(first, min(first + 5_000, size + 1))
            texts = {n: item_data(n)["question"] for n in numbers}
            items = [
                Item(benchmark=bare.benchmark, number=n, uid=f"bare-{n}", author=bare.author, section_hashes={},
                     document={}, question=texts[n])
                for n in numbers
            ]  # fmt: skip
            folded = [(item, fold(item.question)) for item in Item.objects.bulk_create(items)]
            ItemQuestion.objects.bulk_create(
                ItemQuestion(item=item, benchmark=bare.benchmark, folded=text, length=len(text))
                for item, text in folded
            )
        return row(f"checks of an item with a new question among {size:,}", *self._check(twins_hash=""), aim="≤ 400 ms")

    def item(self) -> list[Row]:
        from django.urls import reverse

        page, data = reverse("annotation:item-page", args=["bench", 1]), reverse("api-item", args=["bench", 1])
        return [
            self._beside("open an item, JSON", data, "≤ 8 ms", "/item/1/"),
            self._beside("open an item, page", page, "≤ 40 ms, ≤ 4x", "/item/1/"),
        ]

    def saves(self) -> list[Row]:
        by_json = in_turn(self._saver(0), self._bare_saver(0), self.repeats)
        by_form = in_turn(self._form_saver(1), self._bare_saver(1), self.repeats)
        return [
            row("save the checklist, JSON", *by_json, aim="≤ 15 ms"),
            row("save the design by its form, with the page's new parts", *by_form, aim="≤ 15 ms"),
        ]

    def saves_at_once(self) -> Row:
        """Each of eight people saves an item of their own, again and again. Raises when a save is lost."""
        from annotation.models import Item, Revision

        savers = [self._saver(person) for person in range(PEOPLE)]
        bare_savers = [self._bare_saver(person) for person in range(PEOPLE)]
        before, ours, bare = Revision.objects.count(), [], []
        for _round in range(ROUNDS):
            ours.append(_saves_a_second(savers, self.repeats))
            bare.append(_saves_a_second(bare_savers, self.repeats))
        made, wanted = Revision.objects.count() - before, ROUNDS * PEOPLE * self.repeats
        newest = sum(Item.objects.filter(number__lte=PEOPLE).values_list("revision_number", flat=True))
        if made != wanted or newest != Revision.objects.filter(item__number__lte=PEOPLE).count():
            raise RuntimeError(f"{wanted} saves at once made {made} revisions")
        return row(f"{PEOPLE} people saving at once, none lost", ours, bare, "saves/s", "≥ 150 saves/s")

    def _saver(self, person: int) -> Callable[[], None]:
        """Saves the checklist of one's item, each time with another last conclusion."""
        from django.urls import reverse

        client, number = self.clients[person], person + 1
        checklist = item_data(number)["checklist"]
        item = json.loads(client.get(reverse("api-item", args=["bench", number])))
        path, base = reverse("api-section", args=["bench", number, "checklist"]), item["section_hashes"]["checklist"]
        turns = itertools.count(item["revision"])

        def save() -> None:
            nonlocal base
            checklist[-1]["conclusion"] = f"It ends in the harbour of {next(turns)}."
            body = json.dumps({"base_hash": base, "content": {"checklist": checklist}}).encode()
            base = json.loads(client.send("PUT", path, body, Content_Type="application/json"))["hash"]

        return save

    def _form_saver(self, person: int) -> Callable[[], None]:
        """Saves the design of one's item as the browser does: what comes back are the parts of the page that change."""
        from django.urls import reverse

        from annotation.document import canonical_hash

        client, number = self.clients[person], person + 1
        path = reverse("annotation:section-save", args=["bench", number, "design"])
        design, turns = item_data(number)["design"], itertools.count()

        def save() -> None:
            nonlocal design
            fields = {"base_hash": canonical_hash({"design": design}), "design": f"It leads there, way {next(turns)}."}
            form = {"Content_Type": "application/x-www-form-urlencoded", "HX_Request": "true"}
            client.send("POST", path, urlencode(fields).encode(), **form)
            design = fields["design"]

        return save

    def _bare_saver(self, person: int) -> Callable[[], None]:
        from annotation.document import canonical_bytes, read_document

        body = canonical_bytes(read_document(item_data(person + 1)).to_json())

        def save() -> None:
            self.bares[person].send("POST", f"/save/{person + 1}/", body)

        return save


def _saves_a_second(savers: Sequence[Callable[[], None]], saves: int) -> float:
    def work(save: Callable[[], None]) -> None:
        for _ in range(saves):
            save()

    with ThreadPoolExecutor(len(savers)) as people:
        taken = milliseconds(lambda: list(people.map(work, savers)))
    return len(savers) * saves / taken * 1000


def _session(person: Any) -> str:
    from django.test import Client as TestClient

    client = TestClient()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return str(client.cookies["sessionid"].value)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_measure(**json.loads(sys.argv[1]))))
    else:
        print_rows([*run_start(), *run()])
