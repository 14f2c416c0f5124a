"""What is addressed to a person, over all their benchmarks; and their own settings."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import notice_actions, notices
from annotation.forms.settings import PreferencesForm
from annotation.models import Preferences
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from . import Request

PAGE = 50


@require_safe
def inbox(request: Request) -> HttpResponse:
    """Open ones first, then those that are done."""
    start = min(read_whole(request.GET.get("from", "")) or 0, 10_000)
    rows = list(notices.addressed_to(request.user)[start : start + PAGE + 1])
    context = {
        "rows": notices.worded(rows[:PAGE]),
        "open": notices.open_count(request.user),
        "older": "?" + urlencode({"from": start + PAGE}) if len(rows) > PAGE else "",
        "newer": "?" + urlencode({"from": max(start - PAGE, 0)}) if start else "",
    }
    return render(request, "annotation/inbox.html", context)


@require_POST
def notice_done(request: Request) -> HttpResponse:
    """Set one notice aside, or all; back to where the button stood."""
    posted = request.POST.get("notice", "")
    pk = read_whole(posted)
    if posted != "all" and pk is None:
        raise Invalid.at("notice", _("Say which notice is done: its number, or “all”."))
    count = notice_actions.finish_notices(actor=request.user, pk=None if posted == "all" else pk)
    if posted == "all":
        text = ngettext("%(n)d thing is marked as done.", "%(n)d things are marked as done.", count)
        messages.success(request, text % {"n": count})
    back = request.POST.get("back", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/")
    return redirect(back if safe else reverse("annotation:inbox"))


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: Request) -> HttpResponse:
    stored = Preferences.objects.filter(user=request.user).first() or Preferences(user=request.user)
    form = PreferencesForm(request.POST if request.method == "POST" else None, instance=stored)
    if request.method == "POST" and form.is_valid():
        notice_actions.save_preferences(form.cleaned_data, actor=request.user)
        messages.success(request, _("Your settings are saved."))
        return redirect("annotation:preferences")
    return render(request, "annotation/preferences.html", {"form": form}, status=422 if form.errors else 200)
