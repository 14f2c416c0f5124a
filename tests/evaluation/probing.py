"""A benchmark with an item in the audit, and the work of a worker on its probes. Not a test itself."""

from dataclasses import replace
from typing import Any

from django.db import transaction

from annotation.actions import insert_items
from annotation.document import Document
from annotation.images import prepare_upload, store
from annotation.models import Item, Revision
from annotation.states import State
from audit.models import GradeCheck, Probe
from evaluation import errands
from lhdr_site.endpoints.models import Endpoint
from tests.annotation.test_images import png
from tests.documents import good_document
from tests.evaluation.setting import Setting


def item_with_picture(setting: Setting, state: State = State.MULTIMODAL_AUDIT) -> Item:
    """The good item with a question image that is in store; its state is set, not walked to."""
    team = setting.team
    upload = prepare_upload(png(), "a.png")
    store(team.benchmark, upload)
    document = good_document()
    pictures = [
        replace(image, sha256=upload.sha256, file=f"images/{upload.sha256}.png", media_type="image/png",
                width=upload.width, height=upload.height, regions=())
        if image.role == "question" else replace(image, sha256="", file="", url="https://example.org/i2.png")
        for image in document.images
    ]  # fmt: skip
    return insert(setting, replace(document, id=f"probed-{Item.objects.count()}", images=tuple(pictures)), state)


def insert(setting: Setting, document: Document, state: State) -> Item:
    with transaction.atomic():
        [item] = insert_items(setting.benchmark, [document], author=setting.team.ann, kind=Revision.Kind.CREATE)
    Item.objects.filter(pk=item.pk).update(state=state)
    return Item.objects.select_related("benchmark", "author").get(pk=item.pk)


def work(rounds: int = 20) -> None:
    """Make every due call, as one worker would; back-off is skipped."""
    for _ in range(rounds):
        for model in (Probe, GradeCheck):
            model._default_manager.filter(status="pending").update(due=None)
        Endpoint.objects.update(blocked_until=None)
        errands.run_errands(60)
        if not any(model._default_manager.filter(status="pending").exists() for model in (Probe, GradeCheck)):
            break


def verdict(vector: list[int], answer: bool) -> str:
    return f"CHECKLIST_SCORE: {sum(vector)}/{len(vector)}\nCHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: " + (
        "YES" if answer else "NO"
    )


def word(probe: Probe, actor: Any, recovered: bool = False, path: str = "none", comment: str = "") -> Probe:
    from audit.probe_actions import judge_probe

    return judge_probe(probe, recovered=recovered, path=path, comment=comment, actor=actor)
