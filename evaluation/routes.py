"""Extra request fields that people most often need, and what to think about in how a system's requests are routed.

PURE: imports no Django but its translation of words. The facts are those of the services' own documentation.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

PLACEHOLDER = "PROVIDER"
DOMAINS = "DOMAINS"  # stands for the domains to keep out of the search


class Preset(NamedTuple):
    key: str
    service: Any
    label: Any
    fields: dict[str, Any]
    about: Any  # what it does, in a sentence


_ROUTER, _OPENAI, _ANTHROPIC = gettext_lazy("OpenRouter"), gettext_lazy("OpenAI"), gettext_lazy("Anthropic")
_OPENROUTER_SEARCH = "openrouter:web_search"
PRESETS = (
    Preset(
        "router-search", _ROUTER, gettext_lazy("Web search"),
        {"tools": [{"type": _OPENROUTER_SEARCH, "parameters": {"engine": "native"}}]},
        gettext_lazy("The model searches when and as often as it wants to."),
    ),
    Preset(
        "router-pinned", _ROUTER, gettext_lazy("One provider"),
        {"provider": {"only": [PLACEHOLDER], "allow_fallbacks": False}},
        gettext_lazy("No other provider answers. Put the provider's name in place of PROVIDER."),
    ),
    Preset(
        "router-parameters", _ROUTER, gettext_lazy("Honour every field"),
        {"provider": {"require_parameters": True}},
        gettext_lazy("Only providers that know every field are used; else unknown ones are dropped in silence."),
    ),
    Preset(
        "router-uncut", _ROUTER, gettext_lazy("No compression"),
        {"plugins": [{"id": "context-compression", "enabled": False}]},
        gettext_lazy("Prompts for models with a short context are not cut in the middle."),
    ),
    Preset(
        "router-private", _ROUTER, gettext_lazy("No data collection"),
        {"provider": {"data_collection": "deny"}},
        gettext_lazy("Only providers that keep no prompts are used. The Workbench asks for it by itself, too."),
    ),
    Preset(
        "router-domains", _ROUTER, gettext_lazy("Keep the dataset out"),
        {"tools": [{"type": _OPENROUTER_SEARCH, "parameters": {"excluded_domains": [DOMAINS]}}]},
        gettext_lazy("Sites where the dataset lies are not searched. OpenAI's own search does not heed it."),
    ),
    Preset(
        "openai-search", _OPENAI, gettext_lazy("Web search"),
        {"tools": [{"type": "web_search"}]},
        gettext_lazy("For the Responses API."),
    ),
    Preset(
        "openai-domains", _OPENAI, gettext_lazy("Keep the dataset out"),
        {"tools": [{"type": "web_search", "filters": {"blocked_domains": [DOMAINS]}}]},
        gettext_lazy("Sites where the dataset lies are not searched."),
    ),
    Preset(
        "openai-deep", _OPENAI, gettext_lazy("Deep research"),
        {"tools": [{"type": "web_search_preview"}, {"type": "code_interpreter", "container": {"type": "auto"}}]},
        gettext_lazy("For deep-research models, which take these tools only, and images by their address."),
    ),
    Preset(
        "anthropic-search", _ANTHROPIC, gettext_lazy("Web search"),
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        gettext_lazy("The model searches when and as often as it wants to."),
    ),
    Preset(
        "anthropic-domains", _ANTHROPIC, gettext_lazy("Keep the dataset out"),
        {"tools": [{"type": "web_search_20250305", "name": "web_search", "blocked_domains": [DOMAINS]}]},
        gettext_lazy("Sites where the dataset lies are not searched."),
    ),
)  # fmt: skip


def is_router(base_url: str) -> bool:
    """Whether an address is that of OpenRouter, which passes requests on to providers of its choice."""
    host = urlsplit(base_url).hostname or ""
    return host == "openrouter.ai" or host.endswith(".openrouter.ai")


def service_of(base_url: str, wire: str) -> Any:
    """Whose presets fit an endpoint."""
    if is_router(base_url):
        return _ROUTER
    return _ANTHROPIC if wire == "anthropic" else _OPENAI


def domains_of(addresses: Sequence[str]) -> list[str]:
    """The hosts of the addresses where a dataset lies; the usual one where none is known."""
    hosts = [urlsplit(address).hostname or "" for address in addresses]
    return list(dict.fromkeys(host for host in hosts if host)) or ["huggingface.co"]


def apply_preset(fields: Mapping[str, Any], preset: Preset, domains: Sequence[str] = ()) -> dict[str, Any]:
    """The fields with a preset merged in: objects by name; in lists what is of one type or id is one thing."""
    filled = json.loads(json.dumps(preset.fields).replace(json.dumps([DOMAINS]), json.dumps(list(domains))))
    merged: dict[str, Any] = _merged(dict(fields), filled)
    return merged


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old[name], value) if name in old else value for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        found = list(old)
        for part in new:
            at = next((n for n, had in enumerate(found) if _name(had) is not None and _name(had) == _name(part)), None)
            if at is not None:
                found[at] = _merged(found[at], part)
            elif part not in found:
                found.append(part)
        return [part for part in found if part != PLACEHOLDER] if len(found) > 1 else found
    return new


def _name(part: Any) -> Any:
    return (part.get("type") or part.get("id")) if isinstance(part, dict) else None


class RouteWarning(NamedTuple):
    code: str
    text: str  # what may mislead
    remedy: str

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}"


def route_warnings(
    base_url: str, model: str, extra: Mapping[str, Any] | None, *, images: str = ""
) -> list[RouteWarning]:
    """What in a system's requests may make its results mean something else than it seems. images: its image mode."""
    fields, found = extra or {}, []
    provider = fields.get("provider")
    provider = provider if isinstance(provider, Mapping) else {}
    only = provider.get("only") or provider.get("order")
    if PLACEHOLDER in json.dumps(fields):
        text = _("The word PROVIDER still stands where the provider's name belongs.")
        found.append(RouteWarning("placeholder", text, _("Write the name that OpenRouter gives it.")))
    if is_router(base_url) and not (only and provider.get("allow_fallbacks") is False):
        text = _("The router may send each request to another provider, of another precision, by price.")
        found.append(RouteWarning("unpinned", text, _("Name one provider without fall-backs: preset “One provider”.")))
    plugins = fields.get("plugins")
    plugged = [part.get("id") for part in plugins if isinstance(part, Mapping)] if isinstance(plugins, list) else []
    if ":online" in model or "web" in plugged:
        text = _("This way of searching is deprecated, and adds a system message to the question.")
        remedy = _("Take “:online” and the plugin “web” away, and use the preset “Web search”.")
        found.append(RouteWarning("deprecated_search", text, remedy))
    if "deep-research" in model and images == "inline":
        text = _("Deep-research models take no images as data.")
        found.append(RouteWarning("deep_research_images", text, _("Send images as an address in the prompt.")))
    return found
