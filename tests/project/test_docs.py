"""The docs name every setting and every command, and links between pages hold."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_settings_are_all_documented_and_no_other() -> None:
    code = (ROOT / "lhdr_site/settings.py").read_text()
    used = set(re.findall(r'env\.\w+\(\s*"([A-Z0-9_]+)"', code)) | {"PORT", "HOST"}
    text = (ROOT / "docs/settings.md").read_text()
    documented = {name for row in re.findall(r"^\| (`[^|]+) \|", text, re.M) for name in re.findall(r"`([^`]+)`", row)}
    assert documented - {"LHDR_KEY_…"} == used


def test_commands_are_all_documented_and_no_other() -> None:
    names = {
        path.stem
        for top in ("lhdr_site", "annotation", "audit", "evaluation")
        for path in (ROOT / top).rglob("management/commands/*.py")
        if not path.stem.startswith("_")
    } | {"score", "parse_verdict"}
    documented = set(re.findall(r"^## `lhdr (\w+)", (ROOT / "docs/commands.md").read_text(), re.M))
    assert documented == names


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_hold(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text())
    for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_make_targets_of_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in DOCS:
        for name in re.findall(r"^make (\w+)", page.read_text(), re.M):
            assert name in targets, f"{page.name} names make {name}"


def test_project_names_no_registry_host_and_no_machine_path() -> None:
    host = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|/root/|/work/")
    listed = [
        p for p in ROOT.rglob("*") if p.is_file() and p.suffix in {".md", ".py", ".lock", ".toml", ".yaml", ".html"}
    ]
    skipped = {".venv", "var", "node_modules", "staticfiles", ".git", "vendor"}
    wrong = [
        str(path.relative_to(ROOT))
        for path in listed
        if not skipped & set(path.relative_to(ROOT).parts) and path != Path(__file__) and host.search(path.read_text())
    ]
    assert wrong == []
