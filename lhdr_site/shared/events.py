"""The abstract event: who did what, when. One row per user-visible write; append-only (see guards)."""

from django.conf import settings
from django.db import models


class Event(models.Model):
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    kind = models.CharField(max_length=60)
    data = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["-pk"]
