"""Which items of a release cannot be sent, said before a launch, and by the run itself."""

from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image as Pixels

from annotation.document import Image
from annotation.images import prepare_upload, store
from annotation.models import StoredImage
from audit.redaction_actions import redact_image
from evaluation import preflight
from evaluation.models import System
from evaluation.preflight import Check, check_launch
from evaluation.request_sizes import Sizes
from lhdr_site.endpoints.client import encoded
from tests.documents import good_document
from tests.evaluation.setting import Setting, documents, make_setting, next_release, work_through

SIDE = 600  # of noise, which takes three bytes a pixel, four in base64: 1.4 MB


def noise(side: int = SIDE) -> tuple[bytes, Image]:
    """A picture, and the image of a document that it is."""
    buffer = BytesIO()
    Pixels.merge("RGB", [Pixels.effect_noise((side, side), 80) for _ in range(3)]).save(buffer, "PNG")
    picture = prepare_upload(buffer.getvalue(), "a.png")
    file, base = f"images/{picture.sha256}.png", good_document().images[0]
    image = replace(base, sha256=picture.sha256, file=file, media_type="image/png", width=side, height=side)
    return buffer.getvalue(), image


def pictured(setting: Setting) -> Image:
    """A later release whose first item has a question image of noise."""
    data, image = noise()
    store(setting.benchmark, prepare_upload(data, "a.png"))
    next_release(setting, images=(image,))
    return image


def requests_of(setting: Setting, system: System, **data: Any) -> list[Check]:
    plan = {"release": setting.release, "system": system, "judges": [setting.judge], **data}
    return [
        check for check in check_launch(setting.benchmark, plan, actor=setting.team.admin) if check.title == "Requests"
    ]


def first_number(setting: Setting) -> int:
    return setting.release.release_items.order_by("position").values_list("item__number", flat=True)[0]


def test_size_is_that_of_the_request_as_it_is_sent(setting: Setting) -> None:
    pictured(setting)
    [check] = requests_of(setting, setting.system)
    work_through(setting.launch())
    sent = max(len(encoded(request["body"])) for request in setting.server.requests or ())
    assert sent > 1_400_000
    assert check.level == "ok" and f"{sent / 1e6:.1f} of the 20 MB" in check.text
    sizes = Sizes(setting.system, "with_image")
    stored = preflight.stored_images(setting.benchmark.pk)
    for _number, plain in preflight.numbered_documents(setting.release):
        sizes.add(0, preflight.read_document(plain), stored)
    assert sizes.largest == sent


def test_item_that_would_end_as_too_large_is_named_with_the_remedy(setting: Setting) -> None:
    pictured(setting)
    small = setting.new_system(max_request_mb=1)
    [check] = requests_of(setting, small)
    assert check.level == "error" and check.concerns == (small.name,)
    assert check.text.startswith(f"#{first_number(setting)} would end as too large: up to 1.4 MB, and 1 are allowed.")
    assert "longest image side" in check.text
    run = work_through(setting.launch(system=small))
    assert [r.error_kind for r in run.responses.order_by("release_item__position")] == ["too_large", "", ""]


def test_item_is_not_named_where_its_picture_is_not_sent(setting: Setting, settings: Any) -> None:
    settings.PUBLIC_URL = setting.server.address
    pictured(setting)
    small = setting.new_system(max_request_mb=1)
    other = setting.release.release_items.order_by("position")[1].uid
    for system, data in (
        (small, {"condition": "without_image"}),
        (small, {"items": [other]}),
        (setting.new_system(max_request_mb=1, image_mode="none"), {}),
        (setting.new_system(max_request_mb=1, image_mode="url_in_prompt"), {}),
    ):
        assert [check.level for check in requests_of(setting, system, **data)] == ["ok"]


@pytest.mark.parametrize(("side", "level"), [(590, "error"), (450, "ok")])
def test_smaller_copy_in_doubt_is_made(setting: Setting, side: int, level: str) -> None:
    pictured(setting)
    system = setting.new_system(max_request_mb=1, image_max_side=side)
    assert [check.level for check in requests_of(setting, system)] == [level]
    run = work_through(setting.launch(system=system))
    failed = set(run.responses.values_list("error_kind", flat=True)) - {""}
    assert failed == ({"too_large"} if level == "error" else set())


def test_smaller_copy_that_fits_in_any_case_is_not_made(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    pictured(setting)
    monkeypatch.setattr("evaluation.request_sizes.image_part", lambda *_: pytest.fail("made"))
    assert requests_of(setting, setting.new_system(max_request_mb=1, image_max_side=300))[0].level == "ok"


def test_smaller_copy_without_time_for_it_is_a_warning(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    pictured(setting)
    monkeypatch.setattr(preflight, "DEADLINE", 0)
    [check] = requests_of(setting, setting.new_system(max_request_mb=1, image_max_side=450))
    assert check.level == "warning" and f"#{first_number(setting)} may end" in check.text


@pytest.mark.parametrize("mode", ["inline", "url_in_prompt"])
def test_item_whose_picture_has_no_bytes_and_no_address_is_named(setting: Setting, mode: str) -> None:
    system = setting.new_system(image_mode=mode)
    image = pictured(setting)
    redact_image(setting.benchmark, image.sha256, "Asked for", actor=setting.team.admin)
    [check] = requests_of(setting, system)
    assert check.level == "error" and check.text.startswith(f"#{first_number(setting)} have a question image that was")
    StoredImage.objects.all().delete()
    [check] = requests_of(setting, system)
    assert check.level == "error" and "not stored" in check.text
    next_release(setting, "r3", images=(replace(image, sha256="", file="", url="https://example.org/a.png"),))
    [check] = requests_of(setting, system)
    assert check.level == "error" and "not stored" in check.text


def test_smaller_copy_whose_file_is_missing_is_named(setting: Setting) -> None:
    pictured(setting)
    StoredImage.objects.get().file.delete(save=False)
    [check] = requests_of(setting, setting.new_system(max_request_mb=1, image_max_side=450))
    assert check.level == "error" and "not stored" in check.text


def test_items_without_a_checklist_are_named(setting: Setting) -> None:
    next_release(setting, checklist=())
    texts = [check.text for check in requests_of(setting, setting.system)]
    assert f"#{first_number(setting)} have no checklist" in texts[0]
    only = setting.release.release_items.order_by("position")[0].uid
    [check] = requests_of(setting, setting.system, items=[only])
    assert check.level == "error" and "No item has a checklist" in check.text


@pytest.mark.parametrize("count", [2, 30])
def test_queries_are_as_many_for_many_items(db: Any, demo_server: Any, count: int) -> None:
    data, image = noise()
    slug = f"many-{count}"
    items = [replace(document, images=(image,)) for document in documents(count, slug)]
    setting = make_setting(demo_server, items, slug)
    store(setting.benchmark, prepare_upload(data, "a.png"))
    small = setting.new_system(max_request_mb=1)
    with CaptureQueriesContext(connection) as queries:
        [check] = requests_of(setting, small)
    assert "would end as too large" in check.text and check.text.count("#") == min(count, 20)
    assert count == 2 or "and 10 more would end" in check.text
    assert len(queries) == 7
