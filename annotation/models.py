"""Benchmarks, roles in them, and items. `Item.document` is the item; the rest is derived from it or history."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.events import Event

from .states import Role, State

slug_validator = RegexValidator(
    r"^[a-z0-9][a-z0-9_-]{0,49}$",
    _("Use up to 50 lower-case letters, digits, - and _, starting with a letter or digit."),
)


class Preset(models.TextChoices):
    PAPER = "paper", _("Paper: strict")
    SANDBOX = "sandbox", _("Sandbox: try it alone; everything is marked “not audited”")


class Benchmark(models.Model):
    slug = models.CharField(_("short name"), max_length=50, unique=True, validators=[slug_validator])
    name = models.CharField(_("name"), max_length=120)
    preset = models.CharField(_("preset"), max_length=10, choices=Preset, default=Preset.PAPER)
    description = models.TextField(_("description"), blank=True)
    guideline = models.TextField(_("guideline"), blank=True, help_text=_("Markdown, shown to annotators and auditors."))
    language = models.CharField(_("language of new items"), max_length=20, default="en")
    canary = models.CharField(max_length=100, editable=False)
    target = models.PositiveIntegerField(_("target number of items"), null=True, blank=True)
    min_steps = models.PositiveIntegerField(_("minimum steps"), default=10, validators=[MinValueValidator(1)])
    min_nodes = models.PositiveIntegerField(_("minimum nodes"), default=5)
    max_answer_words = models.PositiveIntegerField(_("longest answer, words"), default=12)
    wikipedia_percent = models.PositiveIntegerField(
        _("Wikipedia share, at most %"), default=50, validators=[MaxValueValidator(100)]
    )
    endpoints = models.ManyToManyField(Endpoint, blank=True, verbose_name=_("endpoints it may use"))
    last_number = models.PositiveIntegerField(default=0, editable=False)
    is_demo = models.BooleanField(default=False, editable=False)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_sandbox(self) -> bool:
        return self.preset == Preset.SANDBOX


class Membership(models.Model):
    ROLES = [
        (Role.ANNOTATOR.value, _("Annotator")),
        (Role.AUDITOR.value, _("Auditor")),
        (Role.CORE.value, _("Core team")),
        (Role.ADMIN.value, _("Admin")),
    ]
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    role = models.PositiveSmallIntegerField(_("role"), choices=ROLES, default=Role.ANNOTATOR.value)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "user"], name="one_role_per_benchmark")]
        ordering = ["-role", "user__username"]

    def __str__(self) -> str:
        return f"{self.user} in {self.benchmark}: {self.get_role_display()}"


class Label(models.Model):
    """What categories and operation tags share. Slugs never change."""

    slug = models.CharField(_("short name"), max_length=50, validators=[slug_validator])
    name = models.CharField(_("name"), max_length=80)
    target = models.PositiveIntegerField(_("target"), null=True, blank=True)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ["position", "slug"]

    def __str__(self) -> str:
        return self.name


class Category(Label):
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="categories")

    class Meta(Label.Meta):
        constraints = [models.UniqueConstraint(fields=["benchmark", "slug"], name="category_slug_once")]
        verbose_name_plural = "categories"


class OperationTag(Label):
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="operation_tags")

    class Meta(Label.Meta):
        constraints = [models.UniqueConstraint(fields=["benchmark", "slug"], name="operation_tag_slug_once")]


class Item(models.Model):
    """One benchmark question. `document` is the truth; the columns after `state` are derived from it by `index.py`."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="items")
    number = models.PositiveIntegerField()
    uid = models.CharField(max_length=200, unique=True)  # the document's id
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="authored_items")
    coeditors = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="coedited_items")
    state = models.CharField(max_length=20, choices=[(s.value, s.value) for s in State], default=State.DRAFT.value)
    # {gate: {"status", "hashes", "by", "at", "revision"}}; written by audit through `record_gates`
    gates = models.JSONField(default=dict)
    open_comments = models.PositiveIntegerField(default=0)
    blocking_comments = models.PositiveIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    revision_number = models.PositiveIntegerField(default=0)
    # derived from the document
    document_hash = models.CharField(max_length=64)
    section_hashes = models.JSONField()
    language = models.CharField(max_length=20, blank=True)
    question = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    category = models.CharField(max_length=200, blank=True)
    template = models.CharField(max_length=20, blank=True)
    steps = models.PositiveIntegerField(default=0)
    depth = models.PositiveIntegerField(default=0)
    nodes = models.PositiveIntegerField(default=0)
    sources = models.PositiveIntegerField(default=0)
    images = models.PositiveIntegerField(default=0)
    search_text = models.TextField(blank=True)  # folded: question, answer, entities, conclusions, sources
    # findings of the checks, keyed by the document they were found in
    checked_hash = models.CharField(max_length=64, blank=True)
    errors = models.PositiveIntegerField(default=0)
    warnings = models.PositiveIntegerField(default=0)
    findings = models.JSONField(default=list)
    document = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="item_number_once")]
        indexes = [
            models.Index(fields=["benchmark", "-updated", "-id"], name="item_by_update"),
            models.Index(fields=["benchmark", "state", "-updated"], name="item_by_state"),
            models.Index(fields=["benchmark", "author", "-updated"], name="item_by_author"),
            models.Index(fields=["benchmark", "category", "-updated"], name="item_by_category"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"


class ItemTag(models.Model):
    item = models.ForeignKey(Item, models.CASCADE, related_name="tag_rows")
    slug = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "slug"], name="item_tag_once")]
        indexes = [models.Index(fields=["slug"])]


class ItemSource(models.Model):
    item = models.ForeignKey(Item, models.CASCADE, related_name="source_rows")
    key = models.CharField(max_length=40)
    url = models.TextField()
    normalized = models.CharField(max_length=64)  # SHA-256 of the URL's form for comparison

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="item_source_once")]
        indexes = [models.Index(fields=["normalized"])]


class ItemEntity(models.Model):
    item = models.ForeignKey(Item, models.CASCADE, related_name="entity_rows")
    key = models.CharField(max_length=40)
    folded = models.CharField(max_length=200)

    class Meta:
        indexes = [models.Index(fields=["folded"])]
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="item_entity_once")]


class StoredImage(models.Model):
    """The bytes of an image, by content, once per benchmark."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="stored_images")
    sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    file = models.FileField(upload_to="images", max_length=200)
    thumbnail = models.FileField(upload_to="thumbnails", max_length=200)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "sha256"], name="image_once_per_benchmark")]


class Revision(models.Model):
    """An immutable snapshot of the whole document. Append-only."""

    class Kind(models.TextChoices):
        CREATE = "create", _("created")
        EDIT = "edit", _("edited")
        RESTORE = "restore", _("restored")
        IMPORT = "import", _("imported")

    item = models.ForeignKey(Item, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    section = models.CharField(max_length=20, blank=True)  # the one that was edited; "" for the whole
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    message = models.CharField(max_length=300, blank=True)
    document_hash = models.CharField(max_length=64)
    created = models.DateTimeField(auto_now_add=True)
    document = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "number"], name="revision_number_once")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"r{self.number}"


class SaveKey(models.Model):
    """An idempotency key that was used, and the revision it led to: a retry after a lost reply changes nothing."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    revision_number = models.PositiveIntegerField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="save_key_once")]


class Dismissal(models.Model):
    """A warning set aside with a reason; it lapses when the content that it is about changes."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="dismissals")
    subject = models.CharField(max_length=300)
    fingerprint = models.CharField(max_length=64)
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "subject"], name="one_dismissal_per_finding")]


class Comment(models.Model):
    """A remark on an item or one of its elements; replies hang on `parent`."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="comments")
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="replies")
    anchor = models.CharField(max_length=60, blank=True)  # a section or an element's key; "" is the whole item
    body = models.TextField(_("comment"))
    blocking = models.BooleanField(_("blocks locking"), default=False)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    resolved = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["pk"]


class ItemEvent(Event):
    """Who did what to an item. Append-only. `item` is empty for events of the benchmark itself."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="events")
    item = models.ForeignKey(Item, models.PROTECT, null=True, related_name="events")

    class Meta(Event.Meta):
        indexes = [models.Index(fields=["benchmark", "-id"])]
