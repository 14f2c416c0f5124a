"""The abstract event: who did what, when. One row per user-visible write; append-only (see guards)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.functional import Promise


class Event(models.Model):
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    kind = models.CharField(max_length=60)
    data = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["-pk"]


@dataclass(frozen=True)
class Source:
    """Events of an app above the audit, which the trail of a benchmark shows among its own."""

    label: str | Promise
    rows: Callable[[int], models.QuerySet[Any]]  # of the benchmark with this key, with `actor` and what is read below
    words: Callable[[Any], str]
    about: Callable[[Any], tuple[str, str]]  # what it happened to, and its address


SOURCES: dict[str, Source] = {}  # by name; an app enters its own when it is ready
