"""A benchmark with a release, a system and a judge at the real demo server, made by the real actions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.db import transaction

from annotation.actions import insert_items
from annotation.document import Document, canonical_hash, read_document
from annotation.models import Benchmark, Revision
from audit.actions import lock_imported
from audit.models import Release, ReleaseItem
from audit.release_actions import cut_release
from evaluation import actions, steps
from evaluation.models import Judge, Run, System
from lhdr_site.endpoints.demo_server import DemoServer
from lhdr_site.endpoints.models import Endpoint
from tests.documents import good_document
from tests.factories import Team, make_team

_numbers = count(1)


@dataclass
class Setting:
    team: Team
    server: DemoServer
    endpoint: Endpoint
    release: Release
    system: System
    judge: Judge

    @property
    def benchmark(self) -> Benchmark:
        return self.team.benchmark

    def launch(self, **data: Any) -> Run:
        launch = {"release": self.release, "system": self.system, "judges": [self.judge], **data}
        return actions.launch_run(self.benchmark, launch, actor=self.team.admin)

    def new_system(self, **data: Any) -> System:
        fields = {
            "name": f"system {next(_numbers)}",
            "endpoint": self.endpoint,
            "model": "demo-system",
            "group": "tool_free_vlm",
            "family": "demo",
            **data,
        }
        return actions.create_system(self.benchmark, fields, actor=self.team.admin)

    def new_judge(self, **data: Any) -> Judge:
        fields = {"name": f"judge {next(_numbers)}", "endpoint": self.endpoint, "model": "demo-judge", **data}
        return actions.create_judge(self.benchmark, fields, actor=self.team.admin)

    def misbehaving(self, behaviour: str, **wish: Any) -> System:
        return self.new_system(extra_body={"demo": {"behaviour": behaviour, **wish}})


def documents(number: int, slug: str = "bench", **changes: Any) -> list[Document]:
    """Good documents without images, each with a question of its own."""
    base = good_document(**changes)
    return [
        replace(base, id=f"{slug}-{n}", question=f"{base.question} ({n})", images=(), checklist=tuple(
            replace(step, images=()) for step in base.checklist
        ))
        for n in range(number)
    ]  # fmt: skip


def make_setting(server: DemoServer, items: int | Sequence[Document] = 3, slug: str = "bench") -> Setting:
    team = make_team(slug)
    endpoint = Endpoint.objects.create(
        name=f"demo {slug}", base_url=server.address, is_demo=True, connect_timeout=2, read_timeout=2, total_timeout=10
    )
    team.benchmark.endpoints.add(endpoint)
    rows = documents(items, slug) if isinstance(items, int) else items
    with transaction.atomic():
        insert_items(team.benchmark, rows, author=team.ann, kind=Revision.Kind.IMPORT)
    lock_imported(team.benchmark, actor=team.admin)
    release = cut_release(team.benchmark, "r1", actor=team.admin)
    setting = Setting(team, server, endpoint, release, None, None)  # type: ignore[arg-type]
    setting.system, setting.judge = setting.new_system(), setting.new_judge()
    return setting


def next_release(setting: Setting, name: str = "r2", uid: str = "", **changed: Any) -> Release:
    """A later release with the same items, one of them (the first without `uid`) with these fields changed; the
    setting's from now on."""
    old, rows = setting.release, []
    for row in old.release_items.order_by("position"):
        document = read_document(row.document)
        if row.uid == (uid or document.id) and changed:
            document, uid = replace(document, **changed), uid or document.id
        rows.append((row, document))
    facts = {"audited": old.audited, "item_count": old.item_count, "canary": old.canary}
    facts["hash"] = canonical_hash([name, *(document.hash for _row, document in rows)])
    new = Release.objects.create(benchmark=old.benchmark, name=name, created_by=setting.team.admin, **facts)
    for row, document in rows:
        ReleaseItem.objects.create(
            release=new, position=row.position, item=row.item, revision=row.revision, uid=row.uid,
            document=document.to_json(), document_hash=document.hash,
        )  # fmt: skip
    setting.release = new
    return new


def work_through(run: Run, rounds: int = 20) -> Run:
    """Do what is due until nothing is, as one worker would; back-off is skipped."""
    for _ in range(rounds):
        for rows in (run.responses, run.verdicts, run.labellings):
            rows.filter(status="pending").update(due=None)
        Endpoint.objects.update(blocked_until=None)
        steps.work_on(run.pk, 60)
        run.refresh_from_db()
        if run.state not in ("queued", "running"):
            break
    return run
