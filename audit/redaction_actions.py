"""Taking a picture down: its bytes go for good, its hash stays wherever it stood. One transaction."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.images import bury
from annotation.models import ItemEvent, StoredImage
from lhdr_site.shared.errors import Invalid

from .models import Redaction
from .permissions import may_redact_image


@transaction.atomic
def redact_image(benchmark: Benchmark, sha256: str, reason: str, *, actor: User) -> Redaction:
    """Take a stored picture's bytes away, with its thumbnail and everything else made of it. It cannot be undone.

    Documents, revisions and releases stay as they are, and so do their hashes. Redacting it again changes nothing, but
    tries once more to remove files that the storage kept.
    """
    may_redact_image(actor, benchmark).require()
    digest = sha256.strip().lower()
    image = StoredImage.objects.select_for_update().filter(benchmark=benchmark, sha256=digest).first()
    if image is None:
        text = _("No picture with the SHA-256 %(sha256)s is stored in this benchmark.")
        raise Invalid.at("sha256", text % {"sha256": digest[:64] or "–"}, code="no_such_image")
    if not reason.strip():
        raise Invalid.at("reason", _("Give a reason: it is shown wherever the picture was."), code="reason_missing")
    redaction = Redaction.objects.filter(benchmark=benchmark, sha256=digest).first()
    if redaction is None:
        redaction = Redaction.objects.create(benchmark=benchmark, sha256=digest, reason=reason.strip(), by=actor)
        data = {"sha256": digest, "reason": redaction.reason}
        ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="image.redacted", data=data)
    bury(image, redaction.reason)
    return redaction
