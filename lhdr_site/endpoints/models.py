"""Endpoint: where models answer. Made by the installation's superusers; keys are named here, never stored."""

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from lhdr_site.shared.events import Event

from .client import path_of


class Wire(models.TextChoices):
    OPENAI = "openai", _("OpenAI chat completions")
    RESPONSES = "openai-responses", _("OpenAI responses, in the background")
    ANTHROPIC = "anthropic", _("Anthropic messages")


class Endpoint(models.Model):
    name = models.CharField(_("name"), max_length=80, unique=True)
    base_url = models.URLField(
        _("base URL"), max_length=300, help_text=_("Ends in /v1 for OpenAI-compatible ones; without it for Anthropic.")
    )
    wire = models.CharField(_("wire format"), max_length=20, choices=Wire, default=Wire.OPENAI)
    key_variable = models.CharField(
        _("key variable"),
        max_length=80,
        blank=True,
        validators=[RegexValidator(r"^LHDR_KEY_[A-Z0-9_]+$", _("Name a variable that starts with LHDR_KEY_."))],
        help_text=_("Name of the environment variable that holds the key, LHDR_KEY_…; empty where none is needed."),
    )
    connect_timeout = models.PositiveIntegerField(_("connect timeout, seconds"), default=10)
    read_timeout = models.PositiveIntegerField(_("longest silence, seconds"), default=300)
    total_timeout = models.PositiveIntegerField(_("whole call, seconds"), default=3600)
    slots = models.PositiveIntegerField(
        _("calls at once"), default=20, help_text=_("Over all runs and workers together.")
    )
    calls_per_minute = models.PositiveIntegerField(
        _("calls per minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Over all runs and workers together; empty for no limit."),
    )
    is_demo = models.BooleanField(_("demo"), default=False, help_text=_("Recorded answers, not a real service."))
    # Set by Retry-After and back-off; every worker waits for it.
    blocked_until = models.DateTimeField(null=True, editable=False)
    next_call = models.DateTimeField(null=True, editable=False)  # calls per minute: when the next one may start
    failures = models.PositiveIntegerField(default=0, editable=False)  # permanent errors in a row, over all runs
    failing_models = models.JSONField(default=dict, editable=False)  # how many of them by requested model
    broken = models.TextField(blank=True, editable=False)  # why no call is made until a person says so

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        """Below the base URL, where requests go."""
        return path_of(self)


class EndpointEvent(Event):
    """Who did what to an endpoint, or what the workers did. Append-only."""

    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="events")
