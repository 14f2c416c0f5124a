"""What the form of sources asks while one types: what each address is, addresses in pasted text, captures."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation import image_actions, steps
from annotation.addresses import (
    deep_link,
    detect_kind,
    locator_problem,
    normalize_url,
    place_in,
    url_problem,
)
from annotation.benchmarks import get_item_for
from annotation.forms.pasted import read_pasted
from annotation.forms.sections import rows_by_index
from annotation.graph import wikipedia_share
from annotation.permissions import may_edit_item
from annotation.queries import ItemPage, item_page
from annotation.reuse import Elsewhere, sources_elsewhere
from lhdr_site.shared.errors import Invalid

from . import Request


@dataclass(frozen=True)
class Looked:
    """What is known of one row of the form."""

    index: str
    url: str
    detected: str
    kind: str
    problem: str
    same_as: str  # the key of an earlier row with the same page
    same_place: bool
    link: str
    locator: str  # what the locator lacks
    elsewhere: Elsewhere | None


@require_POST
def source_look(request: Request, slug: str, number: int) -> HttpResponse:
    """Notes for every row that has an address: its kind, what is wrong, where else it stands, the place it opens."""
    item = get_item_for(request.user, slug, number)
    rows = {index: row for index, row in rows_by_index(request.POST, "sources").items() if not row.get("remove")}
    urls = {index: row.get("url", "").strip() for index, row in rows.items()}
    elsewhere = sources_elsewhere(item.benchmark, set(urls.values()), without=item.pk)
    seen: dict[str, tuple[str, tuple[str, str]]] = {}
    looked = []
    for index, row in rows.items():
        url = urls[index]
        if not url:
            continue
        detected = detect_kind(url)
        kind = row.get("kind") or detected
        locator = row.get("locator", "")
        place = (place_in(url), locator.strip())
        same_as, there = seen.setdefault(normalize_url(url), (row.get("key") or row.get("newkey", ""), place))
        mine = same_as == (row.get("key") or row.get("newkey", ""))
        looked.append(
            Looked(
                index=index,
                url=url,
                detected=detected,
                kind=kind,
                problem=_("The address %(problem)s.") % {"problem": _(problem)}
                if (problem := url_problem(url))
                else "",
                same_as="" if mine else same_as,
                same_place=there == place,
                link=deep_link(url, kind, locator, row.get("quote", "")),
                locator=locator_problem(kind, locator) or "",
                elsewhere=elsewhere.get(url),
            )
        )
    wikipedia = sum(row.kind == "wikipedia" or row.detected == "wikipedia" for row in looked)
    context = {
        "looked": looked,
        "page": ItemPage(item, request.user),
        "share": wikipedia_share(wikipedia, len(looked)),
    }
    return render(request, "annotation/_source_notes.html", context)


@require_POST
def source_read(request: Request, slug: str, number: int) -> HttpResponse:
    """The addresses in a pasted text, each with its title, and a sentence about what was left out."""
    get_item_for(request.user, slug, number)
    pasted = read_pasted("sources", request.POST.get("text", ""))
    pages = [normalize_url(row.get("url", "")) for row in pasted.rows]
    said = []
    if again := len(pages) - len(set(pages)):
        said.append(
            ngettext("%(n)d address stands twice in it.", "%(n)d addresses stand in it again.", again) % {"n": again}
        )
    if lines := len(pasted.skipped):
        said.append(
            ngettext("%(n)d line without an address was left out.", "%(n)d lines without one were left out.", lines)
            % {"n": lines}
        )
    count = len(pasted.rows)
    added = ngettext("%(n)d source added.", "%(n)d sources added.", count) % {"n": count}
    return JsonResponse({"rows": pasted.rows, "said": " ".join([added, *said])})


@require_POST
def capture_add(request: Request, slug: str, number: int) -> HttpResponse:
    """A screenshot of what a source showed becomes an evidence image; the reply has its key and thumbnail.

    The form of sources stays open: images are another section. Parts of the page that show images come out of band.
    """
    item = get_item_for(request.user, slug, number)
    may_edit_item(request.user, item).require()
    file = request.FILES.get("capture")
    if file is None:
        raise Invalid(_("Choose a picture to add as a capture."), code="no_file")
    item, [taken] = image_actions.add_images(
        item, [(file.name or "", file.read())], actor=request.user, role="evidence"
    )
    if "error" in taken:
        raise Invalid(taken["error"], code="bad_picture")
    steps.check(item)
    page = item_page(item, request.user)
    image = next(image for image in page.document.images if image.key == taken["key"])
    context: dict[str, Any] = {"page": page, "image": image}
    response = render(request, "annotation/_capture_added.html", context)
    response["X-Image-Key"] = image.key
    return response
