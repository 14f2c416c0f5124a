"""The same and nearly the same pictures elsewhere in the benchmark, in two queries, whatever is stored."""

import io
import random
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import image_actions
from annotation.document import read_document
from annotation.image_queries import Twin, twins_of
from annotation.models import Item, StoredImage
from lhdr_site.shared import pictures
from tests.annotation.pages import url
from tests.factories import Team, make_team
from tests.shared.test_pictures import drawing, saved

NAMED = ("i1", "i2")


def with_pictures(team: Team, *data: bytes) -> Item:
    files = [(f"{n}.png", each) for n, each in enumerate(data)]
    return image_actions.add_images(team.item(), files, actor=team.ann)[0]


def twins(item: Item) -> dict[str, list[Twin]]:
    stored = {image.sha256: image for image in StoredImage.objects.filter(benchmark=item.benchmark)}
    named = {image["sha256"] for image in item.document["images"]}
    found = twins_of(item, read_document(item.document), {k: v for k, v in stored.items() if k in named})
    # the test documents name two pictures that are in no store, the same in all
    return {
        key: [t for t in each if t.key not in ("i1", "i2")] for key, each in found.items() if key not in ("i1", "i2")
    }


def test_same_and_nearly_same_pictures_are_named_with_their_place(team: Team) -> None:
    one, other = drawing(1), drawing(2)
    first = with_pictures(team, saved(one, "PNG"))
    second = with_pictures(team, saved(one, "PNG"), saved(other, "PNG"))
    third = with_pictures(team, saved(one.resize((200, 150)), "PNG"), saved(other, "PNG"))
    apart = pictures.distance(*(pictures.perceptual_hash(i) for i in (one, one.resize((200, 150)))))
    assert twins(first) == {"i3": [Twin(second.number, "i3", None), Twin(third.number, "i3", apart)]}
    assert twins(third) == {
        "i3": [Twin(first.number, "i3", apart), Twin(second.number, "i3", apart)],
        "i4": [Twin(second.number, "i4", None)],
    }
    page = team.client("ann").get(url(first)).content.decode()
    assert (
        f'The same picture stands in <a href="/b/bench/items/{second.number}/#image-i3">#{second.number}</a>.' in page
    )
    assert f"(distance {apart})." in page


def test_twins_within_one_item_are_named_too(team: Team) -> None:
    image = drawing(5)
    item = with_pictures(team, saved(image, "PNG"), saved(image, "PNG"), saved(image, "JPEG", quality=60))
    found = twins(item)
    assert found["i3"][0] == Twin(0, "i4", None)
    assert (found["i3"][1].number, found["i3"][1].key) == (0, "i5")


def test_pictures_of_other_benchmarks_are_never_named(team: Team) -> None:
    other = make_team("other")
    with_pictures(other, saved(drawing(1), "PNG"))
    assert twins(with_pictures(team, saved(drawing(1), "PNG"))) == {}


def test_reindex_hashes_what_was_stored_without(team: Team) -> None:
    item = with_pictures(team, saved(drawing(1), "PNG"))
    stored = StoredImage.objects.get()
    phash, bands = stored.phash, [stored.band0, stored.band1, stored.band2, stored.band3]
    assert phash and bands == list(pictures.bands(phash))
    StoredImage.objects.update(phash="", band0=None, band1=None, band2=None, band3=None)
    out = io.StringIO()
    call_command("reindex", stdout=out)
    assert "1 pictures looked at, 1 hashed anew." in out.getvalue()
    stored.refresh_from_db()
    assert stored.phash == phash and [stored.band0, stored.band3] == [bands[0], bands[3]]
    assert item.number


def test_number_of_queries_is_the_same_however_many_are_stored(team: Team) -> None:
    item = with_pictures(team, *(saved(drawing(n), "PNG") for n in range(5)))
    stored = {image.sha256: image for image in StoredImage.objects.filter(benchmark=team.benchmark)}
    document = read_document(item.document)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            twins_of(item, document, stored)
        return len(queries)

    few = count()
    chance = random.Random(1)
    values: list[Any] = []
    for n in range(2000):
        phash = f"{chance.getrandbits(64):016x}"
        bands = dict(zip(("band0", "band1", "band2", "band3"), pictures.bands(phash), strict=True))
        values.append(
            StoredImage(benchmark=team.benchmark, sha256=f"{n:064x}", media_type="image/png", width=1, height=1, size=1,
                        phash=phash, **bands)
        )  # fmt: skip
    StoredImage.objects.bulk_create(values)
    assert few == count() == 2
