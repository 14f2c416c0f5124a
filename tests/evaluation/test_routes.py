"""Presets for extra request fields, and warnings about how requests are routed."""

import json
from typing import Any

import pytest
from django.urls import reverse

from evaluation.models import System
from evaluation.routes import PRESETS, apply_preset, domains_of, route_warnings
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_configurations import judge_data, system_data

ROUTER = "https://openrouter.ai/api/v1"
PINNED = {"provider": {"only": ["x"], "allow_fallbacks": False}}
BY_KEY = {preset.key: preset for preset in PRESETS}


def codes(base_url: str, model: str, extra: Any, images: str = "") -> list[str]:
    return [warning.code for warning in route_warnings(base_url, model, extra, images=images)]


@pytest.mark.parametrize(
    ("base_url", "model", "extra", "images", "expected"),
    [
        (ROUTER, "v/m", {}, "", ["unpinned"]),
        (ROUTER, "v/m", PINNED, "", []),
        (ROUTER, "v/m", {"provider": {"order": ["x"], "allow_fallbacks": False}}, "", []),
        (ROUTER, "v/m", {"provider": {"only": ["x"]}}, "", ["unpinned"]),
        (ROUTER, "v/m", {"provider": "x"}, "", ["unpinned"]),
        (ROUTER, "v/m", {"provider": {"only": ["PROVIDER"], "allow_fallbacks": False}}, "", ["placeholder"]),
        (ROUTER, "v/m:online", PINNED, "", ["deprecated_search"]),
        (ROUTER, "v/m", {**PINNED, "plugins": [{"id": "web"}]}, "", ["deprecated_search"]),
        (ROUTER, "v/m", {**PINNED, "plugins": [{"id": "context-compression", "enabled": False}]}, "", []),
        ("https://notopenrouter.ai/v1", "v/m", {}, "", []),
        ("https://api.openai.com/v1", "o3-deep-research", {}, "inline", ["deep_research_images"]),
        ("https://api.openai.com/v1", "o3-deep-research", {}, "url_in_prompt", []),
    ],
)
def test_route_warnings_name_what_may_mislead(
    base_url: str, model: str, extra: Any, images: str, expected: list[str]
) -> None:
    found = route_warnings(base_url, model, extra, images=images)
    assert [warning.code for warning in found] == expected
    assert all(warning.text and warning.remedy for warning in found)


def test_presets_are_merged_into_what_is_there() -> None:
    fields: dict[str, Any] = {"temperature": 0, "provider": {"sort": "price"}}
    for key in ("router-search", "router-domains", "router-private", "router-pinned", "router-uncut"):
        fields = apply_preset(fields, BY_KEY[key], ["hub.example"])
    assert fields == {
        "temperature": 0,
        "provider": {"sort": "price", "data_collection": "deny", "only": ["PROVIDER"], "allow_fallbacks": False},
        "tools": [
            {"type": "openrouter:web_search", "parameters": {"engine": "native", "excluded_domains": ["hub.example"]}}
        ],
        "plugins": [{"id": "context-compression", "enabled": False}],
    }
    assert apply_preset(PINNED, BY_KEY["router-pinned"])["provider"]["only"] == ["x"], "a named provider stays"


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.key)
def test_each_preset_applied_twice_is_applied_once(preset: Any) -> None:
    once = apply_preset({"tools": [{"type": "other"}]}, preset, ["a.example"])
    assert apply_preset(once, preset, ["a.example"]) == once
    assert preset.label and preset.about and "DOMAINS" not in json.dumps(once)


def test_domains_of_a_dataset_are_its_hosts() -> None:
    assert domains_of(["https://huggingface.co/datasets/x", "https://hub.example/y", "https://hub.example/z"]) == [
        "huggingface.co",
        "hub.example",
    ]
    assert domains_of([]) == ["huggingface.co"]


# --- on the pages -------------------------------------------------------------------------------------------------


def create(setting: Setting, who: str = "admin", kind: str = "system", **data: Any) -> Any:
    address = reverse(f"evaluation:{kind}-create", args=[setting.benchmark.slug])
    make = system_data if kind == "system" else judge_data
    return setting.team.client(who).post(address, make(setting, **data))


def test_preset_is_merged_previewed_and_nothing_is_stored(setting: Setting) -> None:
    Endpoint.objects.update(base_url=ROUTER)
    type(setting.benchmark).objects.update(dataset_urls="https://hub.example/x")
    count = System.objects.count()
    extra = '{"temperature": 0}'
    reply = create(setting, preset="router-domains", extra_body=extra, name="")
    text = reply.content.decode()
    assert reply.status_code == 200 and System.objects.count() == count
    assert "hub.example" in text and "&quot;temperature&quot;: 0" in text
    assert "(the question, word for word)" in text and "&quot;data_collection&quot;: &quot;deny&quot;" in text
    assert "another provider" in text and "northlight-2" in text


def test_preset_for_htmx_brings_the_field_and_the_request_alone(setting: Setting) -> None:
    address = reverse("evaluation:system-create", args=[setting.benchmark.slug])
    data = system_data(setting, preset="openai-search")
    text = setting.team.client("admin").post(address, data, headers={"HX-Request": "true"}).content.decode()
    assert 'id="extra-part"' in text and 'id="request-part" hx-swap-oob="true"' in text
    assert "web_search" in text and "<html" not in text and "<form" not in text


@pytest.mark.parametrize("kind", ["system", "judge"])
def test_preset_when_the_fields_are_no_json_keeps_them_and_says_so(setting: Setting, kind: str) -> None:
    text = create(setting, kind=kind, preset="openai-search", extra_body="{nonsense").content.decode()
    assert "This is no JSON" in text and "{nonsense" in text and "web_search&quot;}]" not in text


@pytest.mark.parametrize(("who", "expected"), [("core", 403), ("admin", 200), ("stranger", 404)])
def test_preset_by_role_is_for_admins_only(setting: Setting, who: str, expected: int) -> None:
    assert create(setting, who, preset="unheard-of").status_code == expected


def test_form_and_page_of_a_system_name_judges_of_its_family(setting: Setting) -> None:
    setting.new_judge(name="Kin", family="NORTH")
    assert "is the judge Kin" in create(setting, preset="", family="North").content.decode()
    system = setting.new_system(family="North")
    page = reverse("evaluation:system-page", args=[setting.benchmark.slug, system.pk])
    assert "is the judge Kin" in setting.team.client("ann").get(page).content.decode()
    text = create(setting, kind="judge", preset="", family="north").content.decode()
    assert f"Of its own family is {system.name}," in text


def test_launch_of_an_unpinned_system_warns_first(setting: Setting) -> None:
    Endpoint.objects.update(base_url=ROUTER)
    address = reverse("evaluation:run-launch", args=[setting.benchmark.slug])
    data = {"release": setting.release.pk, "system": setting.system.pk, "condition": "with_image",
            "judges": [setting.judge.pk], "concurrency": 1, "carry_over": ""}  # fmt: skip
    reply = setting.team.client("admin").post(address, data)
    assert "One provider" in reply.content.decode() and not setting.benchmark.runs.exists()
    setting.team.client("admin").post(address, {**data, "anyway": "1"})
    assert setting.benchmark.runs.count() == 1
