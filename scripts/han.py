"""Write annotation/han.py from OpenCC's tables of characters (Apache-2.0): `python scripts/han.py FOLDER`.

FOLDER holds TSCharacters.txt and JPVariants.txt, as in the `opencc/dictionary` of opencc-python-reimplemented 0.1.7.
"""

import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "annotation/han.py"
HEAD = '''\
"""Traditional Chinese and new Japanese characters, and the simplified Chinese ones that stand for them in comparisons.

PURE; loaded when the first such character is folded. Written by `scripts/han.py` from TSCharacters.txt and
JPVariants.txt of OpenCC (https://github.com/BYVoid/OpenCC, Copyright BYVoid and contributors, Apache License 2.0);
where OpenCC offers several, its first.
"""

'''
WIDTH = 55  # characters that take two columns


def read(path: Path) -> dict[str, str]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {row[0]: row[1].split()[0] for row in rows}


def table(folder: Path) -> dict[str, str]:
    """Character -> its simplified form; none of these forms is itself a key."""
    simplified = read(folder / "TSCharacters.txt")
    for traditional, japanese in read(folder / "JPVariants.txt").items():
        simplified.setdefault(japanese, simplified.get(traditional, traditional))
    for character in simplified:
        while (form := simplified[character]) in simplified and simplified[form] not in (form, character):
            simplified[character] = simplified[form]
    targets = set(simplified.values())
    return {c: form for c, form in simplified.items() if c != form and c not in targets}


def literal(name: str, text: str) -> str:
    lines = [f'    "{text[at : at + WIDTH]}"' for at in range(0, len(text), WIDTH)]
    return "\n".join([f"{name} = (", *lines, ")"])


def main() -> None:
    pairs = sorted(table(Path(sys.argv[1])).items())
    parts = [literal("_TYPED", "".join(c for c, _ in pairs)), literal("_FOLDED", "".join(form for _, form in pairs))]
    code = "SIMPLIFIED: dict[str, str] = dict(zip(_TYPED, _FOLDED, strict=True))\n"
    TARGET.write_text(HEAD + "\n".join([*parts, code]), encoding="utf-8")


if __name__ == "__main__":
    main()
