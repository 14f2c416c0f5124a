"""The way imports may go, also inside functions; and pure modules load without Django."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORDER = ["lhdr_site.shared", "lhdr_site.endpoints", "annotation", "audit", "evaluation", "lhdr_site"]
# What evaluation may take from the apps under it.
FACES = {
    "annotation.document",
    "annotation.folding",
    "annotation.graph",
    "annotation.drawing",
    "annotation.states",
    "annotation.benchmarks",
    "annotation.interchange",
    "audit.releases",
    "audit.probes",
    "audit.agreement",
    "audit.comparison",
    "audit.figures",
}
PURE = [
    "annotation/anchors.py",
    "annotation/document.py",
    "annotation/diff.py",
    "annotation/graph.py",
    "annotation/candidates.py",
    "annotation/drawing.py",
    "annotation/node_drawing.py",
    "annotation/blurring.py",
    "annotation/layers.py",
    "annotation/relations.py",
    "annotation/folding.py",
    "annotation/states.py",
    "annotation/history.py",
    "annotation/checks",
    "annotation/interchange",
    "audit/pagetext.py",
    "audit/pdftext.py",
    "audit/workflow.py",
    "audit/comparison.py",
    "audit/figures.py",
    "audit/picks.py",
    "audit/splits.py",
    "evaluation/interchange",
    "evaluation/scoring",
    "evaluation/contamination.py",
    "evaluation/prompts.py",
    "lhdr_site/shared/cipher.py",
]


def app_of(module: str) -> str | None:
    for name in ORDER:
        if module == name or module.startswith(name + "."):
            return name
    return None


def modules() -> Iterator[tuple[str, Path]]:
    for top in ("lhdr_site", "annotation", "audit", "evaluation"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if "migrations" not in path.parts:
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def imports(module: str, path: Path) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, base]).rstrip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_imports_go_one_way() -> None:
    wrong = []
    for module, path in modules():
        app = app_of(module)
        assert app
        for target in imports(module, path):
            other = app_of(target)
            if other and ORDER.index(other) > ORDER.index(app) and target not in ("lhdr_site.celery", "lhdr_site"):
                wrong.append(f"{module} imports {target}")
    assert not [w for w in wrong if "lhdr_site.shared.health imports lhdr_site.celery" not in w]


def test_evaluation_imports_only_faces_of_the_apps_under_it() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, path in modules()
        if app_of(module) == "evaluation"
        for target in imports(module, path)
        if app_of(target) in ("annotation", "audit") and target not in ("annotation", "audit")
        if not any(target == face or target.startswith(face + ".") for face in FACES)
    ]
    assert wrong == []


@pytest.mark.parametrize("place", PURE)
def test_pure_modules_import_no_django(place: str) -> None:
    path = ROOT / place
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    assert files
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in files]
    code = "import sys; " + "; ".join(f"import {n}" for n in names) + "; sys.exit('django' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_nothing_imports_views_but_urls_and_views() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, path in modules()
        if not module.endswith(("urls", "views")) and ".views." not in module
        for target in imports(module, path)
        if app_of(target) and (".views." in target or target.endswith(".views"))
    ]
    assert wrong == []


def test_no_web_code_lifts_the_guards() -> None:
    users = {module for module, path in modules() if "without_guards" in path.read_text()}
    assert users <= {"lhdr_site.shared.guards", "lhdr_site.management.commands.load_demo"}
