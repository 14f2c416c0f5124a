"""Writes of releases: one function, one transaction. Releases never change and are never deleted.

Raises NotAllowed (403) and Invalid (422) with nothing written.
"""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Benchmark, Item
from annotation.document import canonical_hash
from annotation.models import ItemEvent
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.validation import validate

from .comparison import is_version
from .models import Release, ReleaseImage, ReleaseItem
from .permissions import may_cut_release
from .release_queries import Contents, chosen_items, contents_of, documents_of
from .second_queries import quality_of
from .splits import SplitPlan, assign

BATCH = 200


@transaction.atomic
def cut_release(
    benchmark: Benchmark,
    name: str,
    note: str = "",
    *,
    actor: User,
    version: str = "",
    items: Collection[int] | None = None,
    splits: SplitPlan | None = None,
    license_note: str = "",
) -> Release:
    """Copy locked items into a new release: those of the given numbers, or all that are not retired.

    It is marked “not audited” in a sandbox and when any of its items was locked without an audit. `hash` is the
    canonical hash of the list of item hashes, in order. A picture without a licence needs a reason in `license_note`.
    """
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    may_cut_release(actor, benchmark).require()
    chosen = chosen_items(benchmark, items)
    rows = list(chosen.select_for_update().values_list("uid", "number", "category", "document_hash"))
    plan = splits or SplitPlan()
    split_of = _split_of(plan, [row[:3] for row in rows])
    release = Release(
        benchmark=benchmark,
        name=name.strip(),
        version=version.strip(),
        note=note.strip(),
        license_note=license_note.strip(),
        item_count=len(rows),
        hash=canonical_hash([row[3] for row in rows]),
        splits=plan.to_json(),
        canary=benchmark.canary,
        created_by=actor,
        audited=False,
    )
    _require_new(release)
    contents = contents_of(chosen, split_of)
    _require_licences(release, contents)
    release.statistics = contents.statistics
    release.quality = quality_of(benchmark)
    release.audited = not benchmark.is_sandbox and not contents.statistics["audit"]["without"]
    validate(release)
    release.save(force_insert=True)
    _copy(release, chosen, split_of)
    data = {
        "release": release.name,
        "version": release.version,
        "items": len(rows),
        "hash": release.hash,
        "audited": release.audited,
    }
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="release.cut", data=data)
    return release


def _split_of(plan: SplitPlan, rows: list[tuple[str, int, str]]) -> dict[str, str]:
    try:
        return assign(plan, rows)
    except ValueError as error:
        text = str(error)
        raise Invalid.at("splits", text[:1].upper() + text[1:] + ".", code="bad_splits") from error


def _require_new(release: Release) -> None:
    """A name and a version that no other release has, and that can be one."""
    others = Release.objects.filter(benchmark=release.benchmark)
    if others.filter(name=release.name).exists():
        text = _("There is a release “%(name)s” already; releases never change. Choose another name.")
        raise Invalid.at("name", text % {"name": release.name}, code="name_taken")
    if release.version and not is_version(release.version):
        text = _("“%(version)s” is no semantic version; write three numbers, like 1.2.0 (or 1.2.0-rc.1).")
        raise Invalid.at("version", text % {"version": release.version[:40]}, code="bad_version")
    if release.version and (other := others.filter(version=release.version).first()):
        text = _("Release %(name)s has the version %(version)s already. Choose a higher one.")
        values = {"name": other.name, "version": release.version}
        raise Invalid.at("version", text % values, code="version_taken")


def _require_licences(release: Release, contents: Contents) -> None:
    """A picture may not go out without a licence unless somebody says why it may; a sandbox publishes nothing."""
    missing = contents.unlicensed
    if not missing or release.license_note or release.benchmark.is_sandbox:
        return
    text = ngettext(
        "%(n)d picture has no licence: %(where)s. Add it to the item, leave the item out, or say why the picture may "
        "be released.",
        "%(n)d pictures have no licence: %(where)s. Add them to the items, leave the items out, or say why the "
        "pictures may be released.",
        len(missing),
    )
    where = ", ".join(f"#{number} {key}" for number, key in missing[:8]) + (" …" if len(missing) > 8 else "")
    raise Invalid.at("license_note", text % {"n": len(missing), "where": where}, code="license_missing")


def _copy(release: Release, items: QuerySet[Item], split_of: Mapping[str, str]) -> None:
    batch: list[ReleaseItem] = []
    for position, revision in enumerate(documents_of(items)):
        uid = revision.document["id"]
        batch.append(
            ReleaseItem(
                release=release,
                position=position,
                item_id=revision.item_id,
                revision=revision,
                uid=uid,
                document_hash=revision.document_hash,
                document=revision.document,
                split=split_of.get(uid, ""),
            )
        )
        if len(batch) == BATCH:
            _store(batch)
            batch.clear()
    _store(batch)


def _store(rows: list[ReleaseItem]) -> None:
    """Insert released items with the pictures they bring along."""
    ReleaseItem.objects.bulk_create(rows)
    ReleaseImage.objects.bulk_create(
        ReleaseImage(release_item=row, file=i["file"], sha256=i["sha256"], is_shown=i["role"] == "question")
        for row in rows
        for i in row.document["images"]
        if i["file"]
    )
