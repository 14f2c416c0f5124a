"""The copies of other projects' files are those of the list, carry their licences, and no page loads from elsewhere."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def vendor() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vendor_script", ROOT / "scripts/vendor.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def listed() -> str:
    return (ROOT / "static/vendor/README.md").read_text(encoding="utf-8")


def test_vendored_files_when_hashed_equal_the_list(vendor: ModuleType, listed: str) -> None:
    entries = vendor.read_entries(listed)
    assert len(entries) >= 9
    hashes = {entry.file: hashlib.sha256((ROOT / entry.file).read_bytes()).hexdigest() for entry in entries}
    assert hashes == {entry.file: entry.sha256 for entry in entries}


def test_vendored_folders_when_walked_hold_only_listed_files_and_a_licence(vendor: ModuleType, listed: str) -> None:
    known = {ROOT / entry.file for entry in vendor.read_entries(listed)}
    by_hand = {ROOT / "static/vendor/README.md", ROOT / "static/vendor/tabler/LICENSE"}
    folders = [ROOT / "static/vendor", ROOT / "tests/vendor"]
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    assert found == known | by_hand
    assert all((path.parent / "LICENSE").is_file() for path in known)


def test_icon_sprite_when_compared_holds_the_listed_icons(vendor: ModuleType, listed: str) -> None:
    sprite = (ROOT / "templates/_icons.html").read_text(encoding="utf-8")
    assert re.findall(r'symbol id="i-([a-z0-9-]+)"', sprite) == vendor.read_icon_names(listed)


def test_icons_and_glyphs_when_used_in_templates_exist(vendor: ModuleType, listed: str) -> None:
    icons = set(vendor.read_icon_names(listed))
    glyphs = set(re.findall(r'symbol id="g-([a-z0-9-]+)"', (ROOT / "templates/_glyphs.html").read_text("utf-8")))
    missing = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        used_icons = re.findall(r'\{% icon "([a-z0-9-]+)"|\bicon="([a-z0-9-]+)"|href="#i-([a-z0-9-]+)"', text)
        used_glyphs = re.findall(r'\{% glyph "([a-z0-9-]+)"|href="#g-([a-z0-9-]+)"', text)
        missing += [f"{path.name}: icon {name}" for names in used_icons for name in names if name and name not in icons]
        missing += [f"{path.name}: {name}" for names in used_glyphs for name in names if name and name not in glyphs]
    assert missing == []


def test_icons_and_glyphs_when_named_in_the_tags_exist(vendor: ModuleType, listed: str) -> None:
    from lhdr_site.shared.templatetags import workbench

    icons = set(vendor.read_icon_names(listed))
    glyphs = set(re.findall(r'symbol id="g-([a-z0-9-]+)"', (ROOT / "templates/_glyphs.html").read_text("utf-8")))
    tables = (
        workbench.ITEM_STATES,
        workbench.GATE_STATUSES,
        workbench.RESPONSE_STATUSES,
        workbench.RUN_STATES,
        workbench.VERDICTS,
        workbench.STEP_CREDITS,
    )
    assert {look.glyph for table in tables for look in table.values()} <= glyphs
    assert {look.glyph for look in workbench.FINDING_LEVELS.values()} <= icons
    assert {name for name, *_ in workbench.SAVE_STATES.values()} <= icons
    assert {name for name, _ in workbench.MODALITIES.values()} <= icons
    assert {name for name, _ in workbench.MESSAGE_LOOKS.values()} <= icons


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("inline style", r"<[^>]*\sstyle="),
        ("style element", r"<style\b"),
        ("inline script", r"<script(?![^>]*\bsrc=)"),
        ("event handler", r"<[^>]*\son[a-z]+="),
        ("hx-on", r"\bhx-on"),
        ("file from elsewhere", r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//"),
    ],
)
def test_templates_when_read_keep_the_content_security_policy(what: str, pattern: str) -> None:
    templates = sorted((ROOT / "templates").rglob("*.html"))
    assert templates
    found = [path.name for path in templates if re.search(pattern, path.read_text(encoding="utf-8"))]
    assert found == [], what


def test_stylesheet_when_read_writes_colours_only_among_the_tokens() -> None:
    sheet = (ROOT / "static/css/app.css").read_text(encoding="utf-8")
    tokens, _, rest = sheet.partition("/* ---------- 2 base ---------- */")
    assert "light-dark(#f5f6f8" in tokens
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", rest) == []


def test_stylesheets_when_read_refer_only_to_files_that_are_here() -> None:
    for sheet in (ROOT / "static").rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "sourceMappingURL" not in text
        for target in re.findall(r"url\(\s*['\"]?([^'\")]+)", text):
            assert target.startswith(("data:", "#")) or (sheet.parent / target).is_file(), target
