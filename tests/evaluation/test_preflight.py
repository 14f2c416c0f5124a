"""What is looked at before a launch, against the real demo server."""

from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation.models import Run
from evaluation.preflight import Check, check_launch
from lhdr_site.endpoints.demo_server import Answer
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.health import beat
from lhdr_site.shared.models import Heartbeat
from tests.evaluation.setting import Setting


def checked(setting: Setting, **data: Any) -> dict[str, Check]:
    for row in (setting.system, setting.judge):
        row.endpoint = Endpoint.objects.get(pk=setting.endpoint.pk)
    plan = {"release": setting.release, "system": setting.system, "judges": [setting.judge], **data}
    return {check.title: check for check in check_launch(plan)}


def test_all_is_well(setting: Setting) -> None:
    found = checked(setting)
    assert found[f"Key of {setting.endpoint}"].level == "ok"
    assert found[setting.judge.name] == Check("ok", setting.judge.name, "Its verdict on the first item can be read.")
    # the server without recordings lists one model only
    assert found[str(setting.endpoint)].level == "warning" and "demo-system" in found[str(setting.endpoint)].text
    assert "Not known beforehand" in found["Cost"].text
    assert Run.objects.count() == 0


def test_key_must_be_set_where_the_workers_run(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    Endpoint.objects.update(key_variable="LHDR_KEY_DEMO")
    title = f"Key of {setting.endpoint}"
    assert checked(setting)[title].level == "warning", "no worker runs"
    beat("w1")
    assert checked(setting)[title].level == "error" and "w1" in checked(setting)[title].text
    monkeypatch.setenv("LHDR_KEY_DEMO", "secret")
    beat("w1")
    assert Heartbeat.objects.get().keys.count("LHDR_KEY_DEMO") == 1
    found = checked(setting)
    assert found[title].level == "ok" and "secret" not in str(found)


def test_endpoint_that_is_away_or_held_back_is_an_error(setting: Setting) -> None:
    Endpoint.objects.update(base_url="http://127.0.0.1:9/v1")
    found = checked(setting)
    assert found[str(setting.endpoint)].level == found[setting.judge.name].level == "error"
    Endpoint.objects.update(base_url=setting.server.address, broken="It said no.")
    setting.server.requests = []
    found = checked(setting)
    assert setting.judge.name not in found and setting.server.requests == [], "nobody calls it"


def test_judge_that_mumbles_is_an_error(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting.server.recordings, "find", lambda *_: Answer("Perhaps."))
    assert checked(setting)[setting.judge.name].level == "error"


def test_cost_is_compared_with_the_budget(setting: Setting) -> None:
    setting.system = setting.new_system(prompt_price=0, completion_price=250)  # 1 USD an answer
    assert "3.00 USD" in checked(setting)["Cost"].text
    assert checked(setting, budget=Decimal(2))["Cost"].level == "warning"
    assert checked(setting, budget=Decimal(4))["Cost"].level == "ok"


def test_public_address_must_answer(setting: Setting, settings: Any) -> None:
    setting.system = setting.new_system(image_mode="url_in_prompt")
    settings.PUBLIC_URL = "http://127.0.0.1:9"
    assert checked(setting)["Public address"].level == "error"


def test_button_checks_and_launches_nothing(setting: Setting) -> None:
    beat("w1")
    Heartbeat.objects.update(beaten=timezone.now())
    data = {
        "release": setting.release.pk, "system": setting.system.pk, "condition": "with_image", "samples": 1,
        "repeats": 1, "judges": [setting.judge.pk], "main_judge": setting.judge.pk, "concurrency": 8, "check": "yes",
    }  # fmt: skip
    address = reverse("evaluation:run-launch", args=[setting.benchmark.slug])
    page = setting.team.client("admin").post(address, data).content.decode()
    assert "Its verdict on the first item can be read." in page and Run.objects.count() == 0
    assert setting.team.client("core").post(address, data).status_code == 403
    assert setting.team.client("stranger").post(address, data).status_code == 404
