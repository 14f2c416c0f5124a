"""The full-text index of items: FTS5 on SQLite, a tsvector on PostgreSQL, of the same tokens: both find the same.

The tokens come from `folding`; the table is made by a migration, as no model describes it. Its columns are the parts
of an item that can be searched. One more token names the benchmark, so that the index itself stays within it.
"""

from collections.abc import Iterable, Mapping, Sequence

from django.db import connection
from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy

from .tokens import Phrase, tokens

TABLE = "annotation_itemsearch"
#: Parts of an item, with the weight that stands for each in a tsvector.
PARTS = {"question": "A", "entities": "B", "steps": "C", "sources": "D"}
PART_WORDS = {
    "question": gettext_lazy("question"),
    "entities": gettext_lazy("answer or entities"),
    "steps": gettext_lazy("conclusions"),
    "sources": gettext_lazy("sources"),
}
MOST_TOKENS = 16_000  # of an item, what is beyond is not found: a tsvector counts positions to 16,383 and holds 1 MB
MOST_CHARACTERS = 200_000
SCOPE = "\ue000"  # begins the token of a benchmark; no text that people search has it as a letter

Tokens = dict[str, list[str]]

CREATE = {
    "sqlite": f"CREATE VIRTUAL TABLE {TABLE} USING fts5(scope, {', '.join(PARTS)}, tokenize = 'ascii', prefix = '1 2')",
    "postgresql": f"CREATE TABLE {TABLE} (rowid bigint PRIMARY KEY, tokens tsvector NOT NULL)",
}
CREATE_INDEX = {"postgresql": f"CREATE INDEX {TABLE}_tokens ON {TABLE} USING gin (tokens)"}


def tokens_of(parts: Mapping[str, str]) -> Tokens:
    """Part -> tokens of its folded text, all in all no more than the index holds."""
    left, characters, result = MOST_TOKENS, MOST_CHARACTERS, {}
    for part in PARTS:
        result[part] = tokens(parts[part][:characters])[:left]
        left -= len(result[part])
        characters = max(characters - len(parts[part]), 0)
    return result


# --- writing --------------------------------------------------------------------------------------------------------


def write(rows: Sequence[tuple[int, int, Tokens]]) -> None:
    """Set what the index holds of items: (item, benchmark, tokens). In the caller's transaction."""
    if connection.vendor == "sqlite":
        columns = ", ".join(["rowid", "scope", *PARTS])
        sql = f"INSERT OR REPLACE INTO {TABLE} ({columns}) VALUES (%s, %s{', %s' * len(PARTS)})"
    else:
        sql = f"INSERT INTO {TABLE} VALUES (%s, %s::tsvector)"
        sql += " ON CONFLICT (rowid) DO UPDATE SET tokens = excluded.tokens"
    with connection.cursor() as cursor:
        cursor.executemany(sql, [(pk, *_stored(benchmark, found)) for pk, benchmark, found in rows])


def _stored(benchmark: int, found: Tokens) -> list[str]:
    """What stands in the index beside the item's key."""
    if connection.vendor == "sqlite":
        return [f"{SCOPE}{benchmark}", *(" ".join(found[part]) for part in PARTS)]
    places = {f"{SCOPE}{benchmark}": ["1"]}
    start = 3  # a gap, as a phrase does not go from one part into the next
    for part, weight in PARTS.items():
        for position, token in enumerate(found[part], start):
            places.setdefault(token, []).append(f"{position}{weight}")
        start += len(found[part]) + 2
    return [" ".join(f"'{token}':{','.join(at[:256])}" for token, at in places.items())]


def differs(pk: int, benchmark: int, found: Tokens) -> bool:
    """Whether the index holds anything else of an item than this."""
    stored = _stored(benchmark, found)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"SELECT scope, {', '.join(PARTS)} FROM {TABLE} WHERE rowid = %s", [pk])
            row = cursor.fetchone()
            return row is None or list(row) != stored
        cursor.execute(f"SELECT tokens = %s::tsvector FROM {TABLE} WHERE rowid = %s", [*stored, pk])
        return cursor.fetchone() != (True,)


def forget_the_gone() -> None:
    """Drop what the index holds of items that are no more."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {TABLE} WHERE rowid NOT IN (SELECT id FROM annotation_item)")


# --- finding --------------------------------------------------------------------------------------------------------


def _fts5(phrase: Phrase) -> str:
    return f'"{" ".join(phrase.tokens)}"' + (" *" if phrase.open_end else "")


def _tsquery(phrase: Phrase, weight: str = "") -> str:
    *start, last = phrase.tokens
    end = f":{'*' if phrase.open_end else ''}{weight}" if phrase.open_end or weight else ""
    return "(" + " <-> ".join([*(f"'{token}'{weight and ':'}{weight}" for token in start), f"'{last}'{end}"]) + ")"


def _where(benchmark: int, wanted: Sequence[Phrase]) -> tuple[str, list[str]]:
    if connection.vendor == "sqlite":
        some = " AND ".join([f'scope : "{SCOPE}{benchmark}"', *(_fts5(p) for p in wanted if not p.without)])
        return f"{TABLE} MATCH %s", [" NOT ".join([f"({some})", *(_fts5(p) for p in wanted if p.without)])]
    return "tokens @@ %s::tsquery", [
        " & ".join([f"'{SCOPE}{benchmark}'", *("!" * p.without + _tsquery(p) for p in wanted)])
    ]


def first_found(benchmark: int, wanted: Sequence[Phrase], limit: int) -> list[int]:
    """Keys of at most so many items that match, in no order that means anything."""
    where, values = _where(benchmark, wanted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rowid FROM {TABLE} WHERE {where} LIMIT %s", [*values, limit])
        return [pk for (pk,) in cursor.fetchall()]


def among_all(benchmark: int, wanted: Sequence[Phrase]) -> Q:
    """Items that match, where many do. PostgreSQL looks each up on the way along an index, and gathers and sorts none:
    OFFSET 0 keeps it from that."""
    where, values = _where(benchmark, wanted)
    if connection.vendor == "sqlite":
        return Q(pk__in=RawSQL(f"SELECT rowid FROM {TABLE} WHERE {where}", values))
    found = f"EXISTS (SELECT 1 FROM {TABLE} WHERE rowid = annotation_item.id AND {where} OFFSET 0)"
    return Q(RawSQL(found, values, output_field=BooleanField()))


def parts_found(pks: Iterable[int], wanted: Sequence[Phrase]) -> dict[int, list[str]]:
    """Item -> the parts in which anything of what was looked for occurs, for items that match."""
    asked = [p for p in wanted if not p.without]
    keys = list(pks)
    if not keys or not asked:
        return {}
    holes = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":  # it would go through all that match anew for each row and part
            cursor.execute(f"SELECT rowid, {', '.join(PARTS)} FROM {TABLE} WHERE rowid IN ({holes})", keys)
            sought = [f" {' '.join(p.tokens)}{'' if p.open_end else ' '}" for p in asked]
            return {
                pk: [part for part, text in zip(PARTS, texts, strict=True) if any(s in f" {text} " for s in sought)]
                for pk, *texts in cursor.fetchall()
            }
        columns = ", ".join(["tokens @@ %s::tsquery"] * len(PARTS))
        queries = [" | ".join(_tsquery(p, weight) for p in asked) for weight in PARTS.values()]
        cursor.execute(f"SELECT rowid, {columns} FROM {TABLE} WHERE rowid IN ({holes})", [*queries, *keys])
        return {
            pk: [part for part, is_in in zip(PARTS, found, strict=True) if is_in] for pk, *found in cursor.fetchall()
        }


def create(vendor: str) -> list[str]:
    """Statements that make the index."""
    return [CREATE[vendor], *([CREATE_INDEX[vendor]] if vendor in CREATE_INDEX else [])]
