"""`lhdr load_demo`: the demo benchmark, brought into its states by the same actions that people use.

Loads nothing twice. The runs it launches are answered by the demo endpoint as soon as a worker is up.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import BaseCommand
from django.db import transaction
from django.utils import timezone

from annotation import actions as items
from annotation import assignment_actions, comment_actions, images, seed_actions, suggestion_actions
from annotation import benchmark_actions as benchmarks
from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE, DEMO_SLUG, SANDBOX_SLUG, demo_is_loaded
from annotation.document import Document, read_document
from annotation.models import Benchmark, Item, Preset, Revision
from annotation.states import Role, State
from audit import actions as audit
from audit import release_actions, second_actions
from audit.link_actions import vouch_link
from audit.link_queries import links_of, url_hash
from audit.link_steps import keep_answer
from audit.linkcheck import Answer, host_of
from audit.models import LinkJob
from audit.pilot_actions import make_batch
from audit.queries import elements_to_tick
from audit.second_queries import required_of
from audit.workflow import Move, phase_of
from evaluation import actions as evaluation
from evaluation import label_actions, study_actions
from evaluation.failure_modes import OWN_VERSION
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
SEEDS = (
    {
        "title": "A bridge whose engineer lost a bet over its number of arches",
        "body": "Start from the toll plaque in the picture; the bet is in his letters.",
        "category": "geography",
    },
    {
        "title": "A record sleeve that quotes a tile pattern",
        "body": "Which palace has the tiles, and who measured them first?",
        "category": "media",
    },
)
JUDGES = (("Halden (demo)", "demo-judge-halden", "Halden"), ("Kestrel (demo)", "demo-judge-kestrel", "Kestrel"))


class Command(BaseCommand):
    help = "Load the demo: people, a benchmark with items in every state, a release, systems, judges, a study and runs."

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
            self._plan(benchmark, people)
            self._talk(benchmark, people)
            make_batch(benchmark, people["ezra"], actor=people["cora"])
            self._links(benchmark)
            self._sandbox(people)
            self._second_audits(benchmark, people)
            self._evaluation(benchmark, people["dana"])
        if options["verbosity"]:
            self.stdout.write(f"Loaded the demo benchmark. Log-ins: {', '.join(people)}; password {DEMO_PASSWORD}.")

    def _people(self) -> dict[str, User]:
        people = {}
        for name, full, _role in DEMO_PEOPLE:
            first, last = full.split()
            user, created = User.objects.get_or_create(username=name, defaults={"first_name": first, "last_name": last})
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

    def _plan(self, benchmark: Benchmark, people: dict[str, User]) -> None:
        """Targets, ideas that wait for somebody, an example to follow, and who is to audit what by when."""
        categories = list(benchmark.categories.values_list("slug", flat=True))
        benchmarks.set_targets(benchmark, {("category", slug): 3 for slug in categories}, actor=people["dana"])
        seed_actions.add_seeds(benchmark, [dict(seed) for seed in SEEDS], actor=people["cora"])
        seed_actions.claim_seed(benchmark.seeds.latest("pk"), actor=people["ezra"])
        golden = Item.objects.get(benchmark=benchmark, number=1)
        note = "Two pictures that each change what can be asked next, and an answer in one number."
        assignment_actions.mark_golden(golden, True, note, actor=people["cora"])
        waiting = Item.objects.filter(benchmark=benchmark, state=State.SECONDARY_AUDIT).first()
        if waiting:
            due = timezone.localdate() + dt.timedelta(days=7)
            assignment_actions.assign_item(waiting, people["bela"], due, actor=people["cora"])

    def _talk(self, benchmark: Benchmark, people: dict[str, User]) -> None:
        """A question to an author, and a text that somebody would put otherwise."""
        item = Item.objects.filter(benchmark=benchmark, state=State.RETURNED).get()
        body = "@ada [[c2]] still holds for two buildings. Does the plan on the wall tell them apart?"
        comment_actions.add_comment(item, body, anchor="c2", actor=people["bela"])
        text = read_document(item.document).question.replace("race of the last century", "race of a century ago")
        suggestion_actions.suggest_edit(
            item, "question", text, note="The year is a step too near.", actor=people["bela"]
        )

    def _links(self, benchmark: Benchmark) -> None:
        """What a link check would have found, kept as the worker keeps it. No page is asked for."""
        for line in (FOLDER / "links.jsonl").read_text().splitlines():
            row = json.loads(line)
            item = Item.objects.get(benchmark=benchmark, uid=row["item"])
            url = next(source["url"] for source in item.document["sources"] if source["key"] == row["source"])
            place = {"source": row["source"], "url": url, "url_hash": url_hash(url), "host": host_of(url)}
            for answer in row["answers"]:
                job = LinkJob.objects.create(item=item, due=timezone.now(), **place)
                text = answer.get("text", "")
                hashed = hashlib.sha256(text.encode()).hexdigest() if text else ""
                keep_answer(job, Answer(**answer, content_hash=hashed))

    def _second_audits(self, benchmark: Benchmark, people: dict[str, User]) -> None:
        """Of two items audited twice one waits for somebody; on the other two people differed, and a third decided."""
        locked = Item.objects.filter(benchmark=benchmark, state=State.LOCKED).order_by("number")
        numbers = list(locked.values_list("number", flat=True)[:2])
        ended, _waiting = second_actions.ask_double_audits(benchmark, numbers, actor=people["cora"])
        second_actions.take_blind_audit(ended, actor=people["dana"])
        for code in required_of(benchmark):
            passed = code != "minimal"
            comment = "" if passed else "Step 2 is not needed: the cover alone names the publisher."
            second_actions.record_blind_result(
                ended, code, rating=4 if passed else 2, passed=passed, comment=comment, actor=people["dana"]
            )
        second_actions.finish_blind_audit(ended, actor=people["dana"])
        word = "It is: without Allen Lane nothing leads on to The Bodley Head."
        second_actions.adjudicate(ended, "minimal", rating=4, passed=True, comment=word, actor=people["cora"])

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
        release = release_actions.cut_release(benchmark, "demo-1", note, version="1.0.0", actor=admin)
        judges = [
            evaluation.create_judge(
                benchmark, {"name": name, "endpoint": endpoint, "model": model, "family": family}, actor=admin
            )
            for name, model, family in JUDGES
        ]
        systems = [
            evaluation.create_system(
                benchmark,
                {
                    "name": name,
                    "endpoint": endpoint,
                    "model": model,
                    "group": group,
                    "family": family,
                    "represents_family": True,
                },
                actor=admin,
            )
            for name, model, group, family in SYSTEMS
        ]
        plan = {
            "release": release,
            "systems": systems,
            "judges": judges,
            "main_judge": judges[0],
            "budget": Decimal(20),
            "note": "Demo study: four systems, two judges.",
        }
        study = study_actions.create_study(benchmark, {"name": "Demo study", **plan}, actor=admin)
        study_actions.fill_holes(study, actor=admin)
        for run in study.runs.all():
            for labeller in judges:
                label_actions.label_failures(run, labeller, judges[0], OWN_VERSION, actor=admin)
        lumen = next(system for system in systems if system.model == "demo-lumen-vision")
        alone = {"system": lumen, "condition": Condition.WITHOUT_IMAGE, "note": "Demo run, for the image ablation"}
        launch = {name: plan[name] for name in ("release", "judges", "main_judge")}
        evaluation.launch_run(benchmark, {**launch, **alone}, actor=admin)


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
            if criterion.code == "urls":
                for key, link in links_of(self.item).items():
                    vouch_link(self.item, key, link.url_hash, "In the demo nobody really opened it.", actor=actor)
            audit.record_criterion(self.item, criterion.code, seen, rating=4, passed=True, actor=actor)
        audit.finish_review(self.item, Move.PASS, seen, actor=actor)

    def end(self, move: Move, who: str, reason: str) -> None:
        audit.finish_review(self.item, move, self.item.document_hash, reason=reason, actor=self.people[who])

    def lock(self) -> None:
        audit.lock_item(self.item, self.item.document_hash, actor=self.people["cora"])
