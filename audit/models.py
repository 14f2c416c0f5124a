"""Judging items: reviews, criterion results, ticks, calibration, transitions; and releases, the frozen sets."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models import Benchmark, Item, Revision


class Review(models.Model):
    """One auditor's work on one phase of one item; open until it ends in pass, return or reject."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="reviews")
    phase = models.PositiveSmallIntegerField()
    auditor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="reviews")
    started = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, blank=True)  # a Move of audit.workflow

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "phase", "auditor"],
                condition=models.Q(ended__isnull=True),
                name="one_open_review_per_auditor",
            )
        ]
        ordering = ["-pk"]


class Judged(models.Model):
    """What a result looked at: bound to the revision and to the section hashes of that moment. Append-only."""

    review = models.ForeignKey(Review, models.PROTECT)
    item = models.ForeignKey(Item, models.PROTECT)
    revision = models.ForeignKey(Revision, models.PROTECT)
    section_hashes = models.JSONField()
    auditor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class CriterionResult(Judged):
    """An auditor's answer to one criterion; the latest per criterion counts."""

    criterion = models.CharField(max_length=40)
    rating = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(5)])
    passed = models.BooleanField()
    comment = models.TextField(blank=True)

    class Meta:
        default_related_name = "criterion_results"
        indexes = [models.Index(fields=["item", "criterion", "-id"])]
        ordering = ["pk"]


class ElementTick(Judged):
    """An auditor's word on whether one node, relation, step or the answer is supported by its sources."""

    element = models.CharField(max_length=40)  # a key, or "answer"
    supported = models.BooleanField()
    comment = models.TextField(blank=True)

    class Meta:
        default_related_name = "element_ticks"
        indexes = [models.Index(fields=["item", "element", "-id"])]
        ordering = ["pk"]


class Calibration(models.Model):
    """The outcome of phase 1 for one annotator. The latest counts."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="calibrations")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="calibrations")
    calibrated = models.BooleanField()
    note = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]


class Transition(models.Model):
    """A change of an item's state. Append-only. `actor` is empty for what the system did by rule."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="transitions")
    move = models.CharField(max_length=20)
    from_state = models.CharField(max_length=20)
    to_state = models.CharField(max_length=20)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    reason = models.TextField(blank=True)
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]


class Release(models.Model):
    """An immutable, named set of locked revisions: the fixed evaluation set and its denominator."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="releases")
    name = models.CharField(
        _("name"),
        max_length=50,
        validators=[
            RegexValidator(
                r"^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$",
                _("Use up to 50 letters, digits, dots, - and _, starting with a letter or digit."),
            )
        ],
    )
    note = models.TextField(_("note"), blank=True)
    audited = models.BooleanField()  # False: a sandbox, or it holds items that were locked without an audit
    item_count = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)  # SHA-256 over the item hashes in order
    canary = models.CharField(max_length=100)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "name"], name="release_name_once")]
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name


class ReleaseItem(models.Model):
    """A copy of one locked document in a release, with its hash."""

    release = models.ForeignKey(Release, models.PROTECT, related_name="release_items")
    position = models.PositiveIntegerField()
    item = models.ForeignKey(Item, models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    uid = models.CharField(max_length=200)
    document_hash = models.CharField(max_length=64)
    document = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "position"], name="release_position_once"),
            models.UniqueConstraint(fields=["release", "uid"], name="release_item_once"),
        ]
        ordering = ["position"]
