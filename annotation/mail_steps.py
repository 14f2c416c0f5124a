"""Worker side of mail, safe to run twice: send people what waits for them."""

import datetime as dt
from smtplib import SMTPException

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from . import mail, notices
from .models import Membership, Notice, Preferences

log = structlog.get_logger(__name__)
#: After so long a mail is tried again that could not be sent, or whose worker died; after the last it is given up.
RETRY_MINUTES = (2, 10, 60, 360, 1440)


def people_to_mail(limit: int) -> list[int]:
    """Whom something waits for that is due."""
    due = Notice.objects.filter(mail=Notice.Mail.WAITING, due__lte=timezone.now())
    return list(due.order_by().values_list("user", flat=True).distinct()[:limit])


@transaction.atomic
def _claim(user_pk: int) -> list[Notice]:
    """What a person is to be sent now: what is due, and with it what is gathering. Nobody else sends it meanwhile."""
    now = timezone.now()
    waiting = Notice.objects.filter(notices.may_hear(User(pk=user_pk)), user=user_pk, mail=Notice.Mail.WAITING)
    if not waiting.filter(due__lte=now).exists():
        return []
    locked = waiting.select_for_update(of=("self",)).filter(Q(due__lte=now) | Q(attempts=0))
    found = list(locked.values_list("pk", "attempts"))
    for pk, attempts in found:
        again = now + dt.timedelta(minutes=RETRY_MINUTES[min(attempts, len(RETRY_MINUTES) - 1)])
        Notice.objects.filter(pk=pk).update(attempts=attempts + 1, due=again)
    return list(notices.with_rows(Notice.objects.filter(pk__in=[pk for pk, _attempts in found])))


def send_mail(user_pk: int) -> bool:
    """Send one person what waits for them. False when the mail could not be handed over; it is tried again later."""
    claimed = _claim(user_pk)
    if not claimed:
        return True
    user = User.objects.get(pk=user_pk)
    preferences = Preferences.objects.filter(user=user).first() or Preferences(user=user)
    mine = set(Membership.objects.filter(user=user).values_list("benchmark", flat=True))
    wanted = [n for n in claimed if n.benchmark_id in mine and mail.is_wanted(n, user, preferences)]
    unwanted = {n.pk for n in claimed} - {n.pk for n in wanted}
    Notice.objects.filter(pk__in=unwanted).update(mail=Notice.Mail.UNWANTED)
    if not wanted:
        return True
    waiting = Notice.objects.filter(pk__in=[n.pk for n in wanted], mail=Notice.Mail.WAITING)
    try:
        mail.compose(user, wanted).send()
    except (SMTPException, OSError, ValueError) as error:  # ValueError: an address or a subject that no mail can carry
        given_up = waiting.filter(attempts__gte=len(RETRY_MINUTES)).update(mail=Notice.Mail.FAILED)
        log.warning("mail_not_sent", user=user_pk, notices=len(wanted), given_up=given_up, error=str(error)[:300])
        return False
    waiting.update(mail=Notice.Mail.SENT)
    return True
