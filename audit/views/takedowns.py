"""Pictures that were taken down, and taking one down."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.benchmarks import get_benchmark_for
from annotation.models import StoredImage
from audit.models import Redaction
from audit.permissions import may_redact_image
from audit.redaction_actions import redact_image
from audit.release_forms import RedactionForm
from audit.release_queries import items_with, releases_with
from lhdr_site.shared.errors import Invalid

from . import Request

PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def takedowns(request: Request, slug: str) -> HttpResponse:
    """Members see what was taken down and why; admins take down. `?sha256=` shows the picture first."""
    benchmark = get_benchmark_for(request.user, slug)
    may_redact = may_redact_image(request.user, benchmark)
    form = RedactionForm(
        request.POST if request.method == "POST" else None, initial={"sha256": request.GET.get("sha256")}
    )
    if request.method == "POST":
        may_redact.require()
        if form.is_valid():
            data = form.cleaned_data
            try:
                redact_image(benchmark, data["sha256"], data["reason"], actor=request.user)
            except Invalid as error:
                path = error.details["problems"][0]["path"] if error.details["problems"] else None
                form.add_error(path if path in form.fields else None, error.message)
            else:
                messages.success(request, _("The picture is taken down."))
                return redirect("audit:takedowns", slug=slug)
    wanted = (form["sha256"].value() or "").strip().lower()
    picture = None
    if may_redact and wanted:
        picture = StoredImage.objects.filter(benchmark=benchmark, sha256=wanted, tombstone="").first()
    page = Paginator(Redaction.objects.filter(benchmark=benchmark).select_related("by").order_by("-pk"), PAGE)
    context = {
        "nav": "releases",
        "benchmark": benchmark,
        "page": page.get_page(request.GET.get("page")),
        "form": form,
        "may_redact": may_redact,
        "picture": picture,
        "releases": releases_with(benchmark, wanted) if picture else [],
        "items": items_with(benchmark, wanted) if picture else [],
    }
    return render(request, "audit/takedowns.html", context, status=422 if form.errors else 200)
