"""Images fetched by their address: by the command, by the worker, as whom, and every way in which it can fail."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from annotation import fetching
from annotation.models import ImageFetch, Item, StoredImage
from annotation.states import State
from lhdr_site.shared.address_guard import read_allowed
from tests.annotation.pages import HTMX, url
from tests.documents import good_document
from tests.factories import Team
from tests.shared.test_address_guard import Server


class Pictures(Server):
    """/N.png is a picture of N pixels in width; /text, /picture and so on as the server of the guard's tests."""

    def answer(self, handler: Any) -> None:
        name = handler.path.strip("/").removesuffix(".png")
        if not name.isdigit():
            super().answer(handler)
            return
        out = io.BytesIO()
        Image.new("RGB", (int(name), 20), "teal").save(out, "PNG")
        handler.send_response(200)
        handler.send_header("Content-Type", "image/png")
        handler.end_headers()
        handler.wfile.write(out.getvalue())


@pytest.fixture(scope="module")
def server() -> Iterator[Pictures]:
    server = Pictures()
    yield server
    server.http.shutdown()


@pytest.fixture
def base(server: Pictures, settings: Any) -> str:
    server.seen.clear()
    settings.FETCH_ALLOW = read_allowed(["127.0.0.1"])
    return f"http://127.0.0.1:{server.port}"


def item_of(team: Team, *urls: str, uid: str = "fetch-1", **options: Any) -> Item:
    images = [{"key": f"i{n}", "url": address} for n, address in enumerate(urls, 1)]
    checklist = good_document().section("checklist")["checklist"]
    for step in checklist:
        step["images"] = []
    return team.item(good_document(id=uid, images=images, checklist=checklist), **options)


def run(team: Team, *options: Any) -> tuple[str, str, bool]:
    """What the command says and complains of, and whether it failed."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("fetch_images", "bench", "--as", team.ann.username, *options, stdout=out, stderr=err)
    except CommandError:
        return out.getvalue(), err.getvalue(), True
    return out.getvalue(), err.getvalue(), False


def test_command_fetches_what_is_missing_in_one_revision_an_item(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/30.png", f"{base}/40.png")
    out, err, failed = run(team)
    assert not failed and not err and f"#{item.number} fetched i1, i2 (2 so far)" in out
    item.refresh_from_db()
    assert item.revision_number == 2 and item.revisions.first().author == team.ann  # type: ignore[union-attr]
    images = item.document["images"]
    assert [(i["width"], i["media_type"], i["url"]) for i in images] == [
        (30, "image/png", f"{base}/30.png"),
        (40, "image/png", f"{base}/40.png"),
    ]
    assert StoredImage.objects.get(sha256=images[0]["sha256"]).width == 30


def test_command_run_again_asks_only_for_what_failed(team: Team, base: str, server: Pictures) -> None:
    item = item_of(team, f"{base}/30.png", f"{base}/gone.png", f"{base}/text", "http://10.0.0.1/a.png", "ftp://x/a")
    out, err, failed = run(team)
    assert failed and "1 fetched, 4 failed, 0 items skipped." in out
    assert "i2 failed: The address answered 404 instead of a picture." in err
    assert "i3 failed: The address holds something else than was looked for: text/plain." in err
    assert "i4 failed: 10.0.0.1 is not on the open Internet" in err and "i5 failed: Only addresses with http://" in err
    server.seen.clear()
    run(team)
    assert [path for _method, path, *_ in server.seen] == ["/gone.png", "/text"]
    item.refresh_from_db()
    assert item.revision_number == 2


def test_command_skips_locked_items_and_those_of_others_and_says_so(team: Team, base: str, server: Pictures) -> None:
    locked = item_of(team, f"{base}/30.png", uid="a")
    Item.objects.filter(pk=locked.pk).update(state=State.LOCKED)
    other = item_of(team, f"{base}/30.png", uid="b", author=team.ann2)
    out, _err, failed = run(team)
    assert not failed and "0 fetched, 0 failed, 2 items skipped." in out
    assert f"#{locked.number} skipped: " in out and f"#{other.number} skipped: " in out
    assert not server.seen


def test_command_with_item_fetches_only_that(team: Team, base: str, server: Pictures) -> None:
    item_of(team, f"{base}/30.png", uid="a")
    second = item_of(team, f"{base}/40.png", uid="b")
    run(team, "--item", str(second.number))
    assert [path for _method, path, *_ in server.seen] == ["/40.png"]


def test_without_the_setting_nothing_inside_is_asked(team: Team, base: str, server: Pictures, settings: Any) -> None:
    settings.FETCH_ALLOW = []
    item_of(team, f"{base}/30.png")
    assert run(team)[2] and not server.seen


# --- the button ---------------------------------------------------------------------------------------------------


def test_button_has_the_worker_fetch_it(team: Team, base: str, django_capture_on_commit_callbacks: Any) -> None:
    item = item_of(team, f"{base}/30.png")
    client = team.client("ann")
    with django_capture_on_commit_callbacks():
        response = client.post(url(item, "images/i1/fetch/"), **HTMX)
    assert response.status_code == 200 and "waiting=i1" in response.content.decode()
    asked = ImageFetch.objects.get()
    assert client.get(url(item, "images/fetches/") + "?waiting=i1", **HTMX).status_code == 204
    fetching.fetch_image(asked.pk)
    fetching.fetch_image(asked.pk)  # a message may come twice
    item.refresh_from_db()
    assert item.document["images"][0]["width"] == 30 and item.revision_number == 2
    shown = client.get(url(item, "images/fetches/") + "?waiting=i1", **HTMX)
    assert "waiting=" not in shown.content.decode() and item.document["images"][0]["sha256"] in shown.content.decode()
    assert not ImageFetch.objects.exists()


def test_failure_is_shown_with_its_reason_and_can_be_tried_again(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/gone.png")
    fetching.ask_fetch(item, "i1", actor=team.ann)
    fetching.fetch_image(ImageFetch.objects.get().pk)
    assert ImageFetch.objects.get().status == ImageFetch.Status.FAILED
    page = team.client("ann").get(url(item)).content.decode()
    assert "The address answered 404 instead of a picture." in page and "images/i1/fetch/" in page
    fetching.ask_fetch(item, "i1", actor=team.ann)
    assert ImageFetch.objects.get().status == ImageFetch.Status.WAITING


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("core", 403), ("stranger", 404)])
def test_button_is_for_who_may_edit(team: Team, base: str, who: str, status: int) -> None:
    item = item_of(team, f"{base}/30.png")
    assert team.client(who).post(url(item, "images/i1/fetch/")).status_code == status
    assert not ImageFetch.objects.exists()


def test_fetch_of_what_is_stored_or_has_no_address_is_refused(team: Team) -> None:
    response = team.client("ann").post(url(team.item(), "images/i1/fetch/"), HTTP_ACCEPT="application/json")
    assert response.status_code == 422 and response.json()["code"] == "nothing_to_fetch"


def test_image_that_got_another_address_meanwhile_stays(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/30.png")
    fetching.ask_fetch(item, "i1", actor=team.ann)
    from annotation import actions

    content = {"images": [{**item.document["images"][0], "url": f"{base}/50.png"}]}
    item = actions.save_section(item, "images", content, item.section_hashes["images"], actor=team.ann)
    fetching.fetch_image(ImageFetch.objects.get().pk)
    item.refresh_from_db()
    assert item.document["images"][0]["sha256"] == "" and not ImageFetch.objects.exists()


def test_item_locked_while_it_was_fetched_keeps_its_document(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/30.png")
    fetching.ask_fetch(item, "i1", actor=team.ann)
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    fetching.fetch_image(ImageFetch.objects.get().pk)
    item.refresh_from_db()
    assert item.document["images"][0]["sha256"] == "" and ImageFetch.objects.get().status == ImageFetch.Status.FAILED


def test_lost_message_is_made_up_for(team: Team, base: str) -> None:
    from django.utils import timezone

    fetching.ask_fetch(item_of(team, f"{base}/30.png"), "i1", actor=team.ann)
    assert fetching.overdue_fetches(10) == []
    ImageFetch.objects.update(asked=timezone.now() - 2 * fetching.OVERDUE)
    assert fetching.overdue_fetches(10) == [ImageFetch.objects.get().pk]
