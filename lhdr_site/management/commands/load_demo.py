"""`lhdr load_demo`: the demo benchmark, brought into its states by the same actions that people use.

Loads nothing twice. The runs it launches are answered by the demo endpoint as soon as a worker is up.
"""

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import BaseCommand
from django.db import transaction

from annotation import actions as items
from annotation import benchmark_actions as benchmarks
from annotation import images
from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE, DEMO_SLUG, SANDBOX_SLUG, demo_is_loaded
from annotation.document import Document, read_document
from annotation.models import Benchmark, Item, Preset, Revision
from annotation.states import Role, State
from audit import actions as audit
from audit.queries import elements_to_tick
from audit.workflow import Move, phase_of
from evaluation import actions as evaluation
from evaluation.models import Condition, Group
from lhdr_site.endpoints.models import Endpoint

FOLDER = settings.BASE_DIR / "fixtures" / "demo"
SYSTEMS = (
    # name, model, group, family
    ("Atlas Search (demo)", "demo-atlas-search", Group.TOOL_AUGMENTED_VLM, "Atlas"),
    ("Lumen Vision (demo)", "demo-lumen-vision", Group.TOOL_FREE_VLM, "Lumen"),
    ("Cartographer Research (demo)", "demo-cartographer-research", Group.DEEP_RESEARCH, "Cartographer"),
    ("Weaver Agent (demo)", "demo-weaver-agent", Group.FRAMEWORK_AGENT, "Weaver"),
)
JUDGES = (("Halden (demo)", "demo-judge-halden", "Halden"), ("Kestrel (demo)", "demo-judge-kestrel", "Kestrel"))


class Command(BaseCommand):
    help = "Load the demo: people, a benchmark with items in every state, a release, systems, judges and runs."

    def handle(self, *args: Any, **options: Any) -> None:
        if demo_is_loaded():
            if options["verbosity"]:
                self.stdout.write("The demo is already loaded.")
            return
        with transaction.atomic():
            people = self._people()
            benchmark = self._benchmark(people)
            for document in self._documents():
                self._item(benchmark, document, people)
            self._sandbox(people)
            self._evaluation(benchmark, people["dana"])
        if options["verbosity"]:
            self.stdout.write(f"Loaded the demo benchmark. Log-ins: {', '.join(people)}; password {DEMO_PASSWORD}.")

    def _people(self) -> dict[str, User]:
        people = {}
        for name, full, _role in DEMO_PEOPLE:
            first, last = full.split()
            user, created = User.objects.get_or_create(
                username=name, defaults={"first_name": first, "last_name": last, "email": f"{name}@demo.invalid"}
            )
            if created:
                user.set_password(DEMO_PASSWORD)
                # The demo's admin is also the installation's: sees the admin site, makes benchmarks and endpoints.
                user.is_staff = user.is_superuser = name == "dana"
                user.save()
            people[name] = user
        return people

    def _benchmark(self, people: dict[str, User]) -> Benchmark:
        benchmark = benchmarks.create_benchmark(DEMO_SLUG, "Demo benchmark", actor=people["dana"], is_demo=True)
        roles = {"ada": Role.ANNOTATOR, "ezra": Role.ANNOTATOR, "bela": Role.AUDITOR, "cora": Role.CORE}
        for name, role in roles.items():
            benchmarks.set_membership(benchmark, people[name], role, actor=people["dana"])
        guideline = (FOLDER / "guideline.md").read_text() if (FOLDER / "guideline.md").exists() else ""
        description = "Invented for trying out: items, systems and judges are demo data, no source was opened."
        changes = {"description": description, "guideline": guideline, "target": 24}
        return benchmarks.change_benchmark(benchmark, changes, actor=people["dana"])

    def _documents(self) -> list[Document]:
        return [read_document(json.loads(line)) for line in (FOLDER / "items.jsonl").read_text().splitlines() if line]

    def _item(self, benchmark: Benchmark, document: Document, people: dict[str, User]) -> None:
        for image in document.images:
            if image.file:
                images.store(benchmark, images.verify_bytes((FOLDER / image.file).read_bytes(), image.file))
        state = State(document.extra["demo_state"])
        # What stays submitted waits for phase 1, which the items of a calibrated author need no more.
        author = people["ezra" if state is State.SUBMITTED else "ada"]
        [item] = items.insert_items(
            benchmark, [document], author=author, kind=Revision.Kind.CREATE, message="Demo data"
        )
        Walk(item, people).to(state)

    def _sandbox(self, people: dict[str, User]) -> None:
        """A place where one person alone can try every step."""
        sandbox = benchmarks.create_benchmark(SANDBOX_SLUG, "Sandbox", Preset.SANDBOX, actor=people["dana"])
        for name in ("ada", "ezra", "bela", "cora"):
            benchmarks.set_membership(sandbox, people[name], Role.ADMIN, actor=people["dana"])
        sandbox.endpoints.add(self._endpoint())

    def _endpoint(self) -> Endpoint:
        return Endpoint.objects.get_or_create(
            name="Demo endpoint (recorded answers)",
            defaults={"base_url": f"http://127.0.0.1:{settings.DEMO_PORT}/v1", "is_demo": True},
        )[0]

    def _evaluation(self, benchmark: Benchmark, admin: User) -> None:
        endpoint = self._endpoint()
        benchmark.endpoints.add(endpoint)
        note = "Demo data: no source was opened, nothing here measures a real system."
        release = audit.cut_release(benchmark, "demo-1", note, actor=admin)
        judges = [
            evaluation.create_judge(
                benchmark, {"name": name, "endpoint": endpoint, "model": model, "family": family}, actor=admin
            )
            for name, model, family in JUDGES
        ]
        for name, model, group, family in SYSTEMS:
            data = {
                "name": name,
                "endpoint": endpoint,
                "model": model,
                "group": group,
                "family": family,
                "represents_family": True,
            }
            system = evaluation.create_system(benchmark, data, actor=admin)
            conditions = [Condition.WITH_IMAGE]
            if model == "demo-lumen-vision":
                conditions.append(Condition.WITHOUT_IMAGE)
            for condition in conditions:
                launch = {
                    "release": release,
                    "system": system,
                    "condition": condition,
                    "judges": judges,
                    "main_judge": judges[0],
                    "note": "Demo run",
                }
                evaluation.launch_run(benchmark, launch, actor=admin)


class Walk:
    """Takes one item to a state, as its author, an auditor and a core member would."""

    def __init__(self, item: Item, people: dict[str, User]):
        self.item, self.people = item, people

    def to(self, goal: State) -> None:
        steps: dict[State, Callable[[], Any]] = {
            State.DRAFT: self.submit,
            State.SUBMITTED: lambda: self.audit("cora"),
            State.SECONDARY_AUDIT: lambda: self.audit("bela"),
            State.MULTIMODAL_AUDIT: lambda: self.audit("bela"),
            State.FACTUAL_AUDIT: lambda: self.audit("cora"),
            State.APPROVED: self.lock,
        }
        last = {State.RETURNED: State.SECONDARY_AUDIT, State.REJECTED: State.MULTIMODAL_AUDIT}.get(goal, goal)
        while (state := self.state()) != last:
            steps[state]()
        if goal is State.RETURNED:
            self.end(Move.RETURN, "bela", "Two ways lead past the second step; constrain the building further.")
        elif goal is State.REJECTED:
            self.end(Move.REJECT, "bela", "A single search for the question's wording finds the answer.")

    def state(self) -> State:
        self.item.refresh_from_db()
        return State(self.item.state)

    def submit(self) -> None:
        audit.submit_item(self.item, self.item.document_hash, actor=self.item.author)

    def audit(self, who: str) -> None:
        """Tick every element, pass every criterion of the phase, and pass the item on."""
        actor, seen = self.people[who], self.item.document_hash
        phase = phase_of(self.state())
        assert phase is not None
        for criterion in phase.criteria:
            if criterion.ticks:
                for element in elements_to_tick(self.item.document, criterion.code):
                    audit.tick_element(self.item, element, seen, supported=True, actor=actor)
            audit.record_criterion(self.item, criterion.code, seen, rating=4, passed=True, actor=actor)
        audit.finish_review(self.item, Move.PASS, seen, actor=actor)

    def end(self, move: Move, who: str, reason: str) -> None:
        audit.finish_review(self.item, move, self.item.document_hash, reason=reason, actor=self.people[who])

    def lock(self) -> None:
        audit.lock_item(self.item, self.item.document_hash, actor=self.people["cora"])
