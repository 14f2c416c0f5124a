"""What a system is sent: the question verbatim and its question images; no hidden string, whatever the mode."""

import base64
import hashlib
import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image

from annotation import document as document_module
from annotation.actions import insert_items
from annotation.document import read_document
from annotation.images import prepare_upload, store, verify_bytes
from annotation.models import Revision, StoredImage
from audit.actions import lock_imported
from audit.redaction_actions import redact_image
from audit.release_actions import cut_release
from evaluation import images, steps
from evaluation.models import Attempt, Condition
from evaluation.requests import question_images, system_body
from lhdr_site.shared.errors import Invalid
from tests.documents import good_document
from tests.evaluation.setting import documents, make_setting
from tests.shared.test_pictures import apart, opened, photograph

ROOT = Path(__file__).resolve().parents[2]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
MODES = [(mode, condition) for mode in ("inline", "url_in_prompt", "none") for condition in Condition.values]
# Words of the format itself, which say nothing about an item.
VOCABULARY = {
    *document_module.MODALITIES, *document_module.EFFECTS, *document_module.NODE_KINDS, *document_module.SOURCE_KINDS,
    *document_module.RELATION_KINDS, *document_module.IMAGE_ROLES, *document_module.VOLATILITIES,
    *document_module.TEMPLATES, "image/png",
}  # fmt: skip


def all_documents():
    yield good_document()
    path = ROOT / "fixtures" / "demo" / "items.jsonl"
    if path.exists():
        yield from (read_document(json.loads(line)) for line in path.read_text("utf-8").splitlines())


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def hidden_strings(document):
    """Every text of the item that is not in its question; short ones (a key like c1, a word like map) say nothing."""
    data = {name: value for name, value in document.to_json().items() if name not in ("question", "schema", "language")}
    question = document.question.casefold()
    return {t for t in strings(data) if len(t) >= 5 and t.casefold() not in question and t not in VOCABULARY}


def texts_sent(body):
    """The decoded text parts of a request, and everything else of it but image bytes."""
    for message in body.get("messages") or body["input"]:
        content = message["content"]
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if part["type"] in ("text", "input_text"):
                yield part["text"]
            else:
                yield from (text for text in strings(part) if not text.startswith("data:") and len(text) < 200)
    yield json.dumps({name: value for name, value in body.items() if name not in ("messages", "input")})


@pytest.mark.parametrize("wire", ["openai", "anthropic", "openai-responses"])
@pytest.mark.parametrize("mode, condition", MODES)
def test_request_holds_no_hidden_string(wire, mode, condition):
    count = 0
    for document in all_documents():
        sent = question_images(document, mode, condition)
        parts = [("image/png", PNG) for _ in sent] if mode == "inline" else []
        urls = [f"https://example.org/shared-images/{n}" for n, _ in enumerate(sent)] if mode == "url_in_prompt" else []
        body = system_body(wire, "m", document, images=parts, urls=urls)
        text = "\n".join(texts_sent(body))
        assert document.question in text
        for hidden in hidden_strings(document):
            assert hidden not in text, f"{document.id}: {hidden!r} was sent"
        count += 1
    assert count >= 1


def test_hidden_strings_are_found_when_they_are_sent():
    document = good_document()
    assert {"Forth Bridge", "Cleopatra", document.images[0].alt, "1586"} - hidden_strings(document) == {"1586"}
    assert len(hidden_strings(document)) > 50


def test_request_without_images_is_the_question_and_nothing_else():
    document = good_document()
    assert system_body("openai", "m", document) == {
        "model": "m",
        "messages": [{"role": "user", "content": document.question}],
    }


def test_question_images_are_those_of_the_question_alone():
    document = good_document()
    assert [image.key for image in question_images(document, "inline", "with_image")] == ["i1"]
    assert question_images(document, "none", "with_image") == []
    assert question_images(document, "inline", "without_image") == []


# --- with stored images, through the engine


@pytest.fixture
def setting(db, demo_server):
    demo_server.requests = []
    return make_setting(demo_server, 1)


def with_picture(setting, demo_server):
    """A second release with one item that has a stored question image: its document, and the image's hash."""
    buffer = BytesIO()
    Image.effect_noise((400, 200), 80).convert("RGB").save(buffer, "PNG")
    picture = store(setting.benchmark, prepare_upload(buffer.getvalue(), "eiffel-tower.png"))
    base = documents(1)[0]
    image = replace(
        good_document().images[0], sha256=picture.sha256, file=f"images/{picture.sha256}.png", width=400, height=200
    )
    document = replace(base, id="pictured", question="What does the picture show?", images=(image,))
    team = setting.team
    insert_items(team.benchmark, [document], author=team.ann, kind=Revision.Kind.IMPORT)
    lock_imported(team.benchmark, actor=team.admin)
    setting.release = cut_release(team.benchmark, "r2", actor=team.admin)
    return document, picture.sha256


def ask_about_the_picture(setting, **launch):
    run = setting.launch(**launch)
    response = run.responses.get(release_item__uid="pictured")
    assert steps.answer(response.pk)
    response.refresh_from_db()
    assert response.status == "completed", response.error
    return setting.server.requests[-1]["body"], response


def test_inline_image_is_sent_after_the_text_and_stored_as_its_hash(setting, demo_server):
    document, sha256 = with_picture(setting, demo_server)
    body, response = ask_about_the_picture(setting)
    text, image = body["messages"][0]["content"]
    assert text == {"type": "text", "text": document.question}
    data = base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert hashlib.sha256(data).hexdigest() == sha256
    stored = json.dumps(Attempt.objects.get(response=response).request)
    assert sha256 in stored and "base64" not in stored


def test_inline_image_is_sent_smaller_where_the_system_says_so(setting, demo_server):
    with_picture(setting, demo_server)
    body, _response = ask_about_the_picture(setting, system=setting.new_system(image_max_side=100))
    url = body["messages"][0]["content"][1]["image_url"]["url"]
    assert Image.open(BytesIO(base64.b64decode(url.split(",")[1]))).size == (100, 50)


def test_image_is_withheld_without_image(setting, demo_server):
    document, _sha256 = with_picture(setting, demo_server)
    body, _response = ask_about_the_picture(setting, condition="without_image")
    assert body["messages"] == [{"role": "user", "content": document.question}]


def test_address_of_an_image_is_appended_and_serves_it_without_log_in(setting, demo_server, settings):
    settings.PUBLIC_URL = "https://lhdr.example.org"
    document, sha256 = with_picture(setting, demo_server)
    body, _response = ask_about_the_picture(setting, system=setting.new_system(image_mode="url_in_prompt"))
    question, url = body["messages"][0]["content"].split("\n\n")
    assert question == document.question and url.startswith("https://lhdr.example.org/")
    assert sha256[:8] not in url
    reply = Client().get(url.removeprefix("https://lhdr.example.org"))
    assert reply.status_code == 200 and reply["Content-Type"] == "image/png"
    assert reply.content == images.image_bytes(setting.benchmark.pk, sha256)


def test_address_of_an_image_expires_and_cannot_be_made_up(setting, demo_server, settings, monkeypatch):
    settings.PUBLIC_URL = ""
    document, _sha256 = with_picture(setting, demo_server)
    url = images.signed_image_url(setting.benchmark.pk, document.images[0])
    assert Client().get(url).status_code == 200
    assert Client().get(url[:-1] + ("a" if url[-1] != "a" else "b")).status_code == 404
    later = timezone.now().timestamp() + images.VALID_SECONDS + 5
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert Client().get(url).status_code == 404


def test_image_that_is_gone_fails_the_response_with_a_sentence(setting, demo_server):
    with_picture(setting, demo_server)
    StoredImage.objects.all().delete()
    run = setting.launch()
    response = run.responses.get(release_item__uid="pictured")
    steps.answer(response.pk)
    response.refresh_from_db()
    assert response.status == "failed" and "cannot be sent" in response.error


@pytest.mark.parametrize("mode", ["inline", "url_in_prompt"])
def test_question_whose_picture_was_taken_down_is_asked_no_more(setting, demo_server, settings, mode):
    settings.PUBLIC_URL = "https://lhdr.example.org"
    _document, sha256 = with_picture(setting, demo_server)
    system = setting.new_system(image_mode=mode)
    response = setting.launch(system=system).responses.get(release_item__uid="pictured")
    redact_image(setting.benchmark, sha256, "Asked for by its owner", actor=setting.team.admin)
    steps.answer(response.pk)
    response.refresh_from_db()
    assert (response.status, response.error_kind) == ("failed", "taken_down")
    assert "Asked for by its owner" in response.error and not demo_server.requests
    with pytest.raises(Invalid, match="Asked for by its owner") as caught:
        setting.launch(system=system)
    assert caught.value.code == "images_taken_down"
    assert setting.launch(system=system, condition="without_image").item_count == 2
    page = setting.team.client("admin").get(f"/b/bench/runs/1/responses/{response.pk}/").content.decode()
    assert "A picture was taken down: Asked for by its owner" in page


def test_request_over_the_systems_limit_is_not_sent(setting, demo_server):
    with_picture(setting, demo_server)
    system = setting.new_system(max_request_mb=1)
    type(system).objects.filter(pk=system.pk).update(max_request_mb=0)
    run = setting.launch(system=system)
    response = run.responses.get(release_item__uid="pictured")
    steps.answer(response.pk)
    response.refresh_from_db()
    assert (response.status, response.error_kind) == ("failed", "too_large")
    assert setting.server.requests == []
    run.refresh_from_db()
    assert run.unpriced == 0, "what was not sent cost nothing"


@pytest.mark.parametrize("orientation", range(1, 9))
def test_imported_photograph_is_exported_shown_and_sent_with_the_same_pixels(team, orientation):
    """Its bytes are kept, as their hash is named; whoever shows or sends them turns them upright alike."""
    _image, data = photograph(orientation)
    stored = store(team.benchmark, verify_bytes(data))
    image = replace(good_document().images[0], sha256=stored.sha256, media_type="image/jpeg", width=64, height=48)
    kind, sent = images.image_part(team.benchmark.pk, image, None)
    with stored.file.open("rb") as file, stored.thumbnail.open("rb") as small:
        exported, thumbnail = file.read(), Image.open(small).convert("RGB")
    assert exported == data and (stored.width, stored.height) == (64, 48)
    assert kind == "image/jpeg" and apart(Image.open(BytesIO(sent)), opened(exported)) < 1  # without looking at EXIF
    assert apart(thumbnail, opened(exported)) < 12  # WebP of so small a picture
    _kind, smaller = images.image_part(team.benchmark.pk, image, 32)
    assert Image.open(BytesIO(smaller)).size == (32, 24)
