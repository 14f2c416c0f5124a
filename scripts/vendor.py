"""Re-create the files of other projects that the pages use, from the list in static/vendor/README.md.

`python scripts/vendor.py` writes every listed file and the icon sprite, or nothing if a SHA-256 differs from the list;
`--update` writes the new hashes into the list instead (after a version there was changed by hand). Needs npm.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "static/vendor/README.md"
SPRITE = ROOT / "templates/_icons.html"
ICON_PACKAGE = "@tabler/icons"
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| `(?P<package>[^`]+)` \| (?P<version>\S+) \| `(?P<member>[^`]+)`"
    r" \| (?P<licence>[^|]+?) \| `(?P<sha256>[0-9a-f]*)` \|$",
    re.MULTILINE,
)
SOURCE_MAP = re.compile(rb"\n?(/\*# sourceMappingURL=[^*]*\*/|//# sourceMappingURL=\S*)\s*$")


@dataclass(frozen=True)
class Entry:
    """One row of the list: a file of ours and where in which package it comes from."""

    file: str
    package: str
    version: str
    member: str
    licence: str
    sha256: str


def read_entries(text: str) -> list[Entry]:
    """The rows of the table of files in the list."""
    return [Entry(**match.groupdict()) for match in ROW.finditer(text)]


def read_icon_names(text: str) -> list[str]:
    """The icons named under the heading `## Icons` of the list, sorted."""
    section = text.partition("\n## Icons\n")[2].partition("\n## ")[0]
    return sorted(re.findall(r"`([a-z0-9-]+)`", section))


def icon_symbol(name: str, svg: str) -> str:
    """One Tabler outline icon as a <symbol>; the empty bounding path of every icon is left out."""
    paths = re.findall(r"<(?:path|circle|rect|line)\b[^>]*/>", svg)
    shapes = "".join(re.sub(r"\s+", " ", path) for path in paths if 'stroke="none"' not in path)
    return f'<symbol id="i-{name}" viewBox="0 0 24 24">{shapes}</symbol>'


def unpack(package: str, version: str, folder: Path) -> Path:
    """Fetch one package with npm's own client and unpack it; the folder that holds its files."""
    target = folder / package.replace("/", "-")
    target.mkdir()
    subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(target), f"{package}@{version}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,) = target.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    return target / "package"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--update", action="store_true", help="write the hashes of what was fetched into the list")
    options = parser.parse_args(arguments)
    text = LIST.read_text(encoding="utf-8")
    entries = read_entries(text)
    files: dict[Path, bytes] = {}
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        packages = {
            package: unpack(package, version, Path(temporary))
            for package, version in {entry.package: entry.version for entry in entries}.items()
        }
        for entry in entries:
            content = SOURCE_MAP.sub(b"\n", (packages[entry.package] / entry.member).read_bytes())
            digest = hashlib.sha256(content).hexdigest()
            if digest != entry.sha256:
                wrong.append(entry.file)
                text = text.replace(f"| `{entry.sha256}` |", f"| `{digest}` |")
            files[ROOT / entry.file] = content
        icons = packages[ICON_PACKAGE] / "icons/outline"
        symbols = [icon_symbol(name, (icons / f"{name}.svg").read_text("utf-8")) for name in read_icon_names(text)]
    if wrong and not options.update:
        print("Nothing written: the SHA-256 differs from the list for " + ", ".join(wrong), file=sys.stderr)
        return 1
    lines = [
        "{# Tabler outline icons, made by scripts/vendor.py from the names in static/vendor/README.md #}",
        '<svg class="wb-sprite" aria-hidden="true">',
        *symbols,
        "</svg>",
    ]
    files[SPRITE] = ("\n".join(lines) + "\n").encode()
    if options.update:
        files[LIST] = text.encode()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print(f"{len(entries)} files, {len(symbols)} icons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
