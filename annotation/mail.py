"""Mail: what a person was told, gathered into one message of plain text and simple HTML. Writes nothing."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .models import Notice, Preferences
from .notices import name_in_short, worded

#: Kind of a notice -> the preference that switches its mail off.
SWITCHES = {
    Notice.Kind.MENTION: "mail_mentions",
    Notice.Kind.ANSWER: "mail_comments",
    Notice.Kind.COMMENT: "mail_comments",
    Notice.Kind.SUGGESTION: "mail_suggestions",
    Notice.Kind.DECISION: "mail_suggestions",
    Notice.Kind.ASSIGNED: "mail_assignments",
    Notice.Kind.MOVED: "mail_returns",
    Notice.Kind.RUN: "mail_runs",
}


def is_wanted(notice: Notice, user: Any, preferences: Preferences) -> bool:
    """Whether a person gets this by mail: they have an address, are active, and did not switch the kind off."""
    return bool(user.is_active and user.email and getattr(preferences, SWITCHES[Notice.Kind(notice.kind)]))


def compose(user: Any, notices: Sequence[Notice]) -> EmailMultiAlternatives:
    """One message about all of them, oldest first. There is at least one."""
    rows = worded(sorted(notices, key=lambda notice: notice.pk))
    if len(rows) == 1:
        subject = f"[{rows[0].benchmark.slug}] {rows[0].sentence}"  # type: ignore[attr-defined]
    else:
        names = ", ".join(dict.fromkeys(name_in_short(row) for row in rows))
        subject = ngettext("%(n)d thing for you: %(items)s", "%(n)d things for you: %(items)s", len(rows))
        subject = subject % {"n": len(rows), "items": names}
    base = settings.SITE_URL
    context = {
        "rows": rows,
        "base": base,
        "user": user,
        "settings_url": base + reverse("annotation:preferences"),
        "why": _("You get this because you are a member of a benchmark in the LHDR Workbench."),
    }
    message = EmailMultiAlternatives(
        subject=subject[:200],
        body=render_to_string("annotation/mail.txt", context),
        to=[user.email],
        headers={"Auto-Submitted": "auto-generated", "List-Unsubscribe": f"<{context['settings_url']}>"},
    )
    message.attach_alternative(render_to_string("annotation/mail.html", context), "text/html")
    return message
