"""Benchmarks, roles in them, and items. `Item.document` is the item; the rest is derived from it or history."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.events import Event

from .states import Gate, Role, State

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
    template_targets = models.JSONField(default=dict, blank=True, editable=False)  # {template: number of items}
    min_steps = models.PositiveIntegerField(_("minimum steps"), default=10, validators=[MinValueValidator(1)])
    min_nodes = models.PositiveIntegerField(_("minimum nodes"), default=5)
    max_answer_words = models.PositiveIntegerField(_("longest answer, words"), default=12)
    wikipedia_percent = models.PositiveIntegerField(
        _("Wikipedia share, at most %"), default=50, validators=[MaxValueValidator(100)]
    )
    dataset_urls = models.TextField(
        _("where the data set is published"),
        blank=True,
        help_text=_("Addresses, one a line. A response that cites one is flagged; leave it empty while there is none."),
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


SORTED = ("steps", "depth", "open_comments", "errors", "created", "due")


class Item(models.Model):
    """One benchmark question. `document` is the truth; the columns after `state` are derived from it by `index.py`."""

    judged_blind = False  # set where it is read for who must not see how others judged it (`gates.judged_blind`)

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="items")
    number = models.PositiveIntegerField()
    uid = models.CharField(max_length=200, unique=True)  # the document's id
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="authored_items")
    coeditors = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="coedited_items")
    state = models.CharField(max_length=20, choices=[(s.value, s.value) for s in State], default=State.DRAFT.value)
    # {gate: {"status", "hashes", "by", "at", "revision"}}; written by audit through `record_gates`
    gates = models.JSONField(default=dict)
    # how many of the seven are so, from `gates` and the section hashes: `states.gate_counts`
    open_gates = models.PositiveSmallIntegerField(default=len(Gate))
    failed_gates = models.PositiveSmallIntegerField(default=0)
    stale_gates = models.PositiveSmallIntegerField(default=0)
    open_comments = models.PositiveIntegerField(default=0)
    blocking_comments = models.PositiveIntegerField(default=0)
    auditor = models.ForeignKey(  # whom core asked to audit it; anybody who may can still do it
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="items_to_audit"
    )
    due = models.DateField(null=True, blank=True)
    moved = models.DateTimeField(default=timezone.now)  # when it came into its present state
    is_golden = models.BooleanField(default=False)  # shown beside new items as an example to follow
    golden_note = models.CharField(max_length=300, blank=True)  # what it is an example of
    copied_from = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="copies")
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
    # findings of the checks, keyed by the document they were found in
    checked_hash = models.CharField(max_length=64, blank=True)
    errors = models.PositiveIntegerField(default=0)
    warnings = models.PositiveIntegerField(default=0)
    findings = models.JSONField(default=list)  # each with `since`, the revision that it showed in first
    checked_revision = models.PositiveIntegerField(default=0)
    mended = models.PositiveIntegerField(default=0)  # errors and warnings that this revision took away
    # [number, percent] of other items that ask nearly this, keyed by the question section they were found for
    twins_hash = models.CharField(max_length=64, blank=True)
    twins = models.JSONField(default=list)
    document = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="item_number_once")]
        indexes = [
            # what lists are filtered by stands in it too: so it alone tells which items to show
            models.Index(
                fields=["benchmark", "-updated", "-id", "state", "category", "template", "author"],
                name="item_by_update",
            ),
            models.Index(fields=["benchmark", "state", "-updated"], name="item_by_state"),
            models.Index(fields=["benchmark", "state", "moved", "id"], name="item_by_wait"),
            models.Index(fields=["benchmark", "author", "-updated"], name="item_by_author"),
            models.Index(fields=["benchmark", "category", "-updated"], name="item_by_category"),
            # one for each other column that lists are sorted by
            *(models.Index(fields=["benchmark", f"-{c}", "-id"], name=f"item_by_{c}") for c in SORTED),
            # and one for each filter that a few of many items pass
            *(
                models.Index(fields=["benchmark", "-updated", "-id"], name=f"item_{c}", condition=Q(**{f"{c}__gt": 0}))
                for c in ("errors", "open_gates", "failed_gates", "stale_gates")
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"


class ItemWriter(models.Model):
    """Who ever made a revision of an item while it was a draft or returned. Nobody is taken off."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="writers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "item"], name="item_writer_once")]


class BulkChange(models.Model):
    """One thing that a person does to many items; the worker goes through `rows`."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="+")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=20)
    data = models.JSONField(default=dict)  # what the kind needs, such as the tag
    created = models.DateTimeField(auto_now_add=True)


class BulkRow(models.Model):
    """An item of a bulk change, and what became of it."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DONE = "done", _("done")
        SAME = "same", _("was so already")
        REFUSED = "refused", _("refused")

    change = models.ForeignKey(BulkChange, models.CASCADE, related_name="rows", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    message = models.TextField(blank=True)  # why it was refused

    class Meta:
        indexes = [models.Index(fields=["change", "status", "id"], name="bulk_row_by_status")]
        ordering = ["pk"]


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


class ItemQuestion(models.Model):
    """The question folded for comparison, in a row of its own: looking for twins reads these and no documents."""

    item = models.OneToOneField(Item, models.CASCADE, related_name="question_row")
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="+", db_index=False)
    folded = models.TextField()
    length = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["benchmark", "length"], name="question_by_length")]


class ItemImage(models.Model):
    item = models.ForeignKey(Item, models.CASCADE, related_name="image_rows")
    key = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64, blank=True)  # "" until it is fetched

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="item_image_once")]
        indexes = [models.Index(fields=["sha256"])]


class ImageFetch(models.Model):
    """An image's address that somebody asked to be fetched: it waits, or it failed and why. Fetched ones are gone."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("waiting")
        FAILED = "failed", _("failed")

    item = models.ForeignKey(Item, models.CASCADE, related_name="image_fetches")
    key = models.CharField(max_length=40)
    url = models.TextField()
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="one_fetch_per_image")]


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
    tombstone = models.TextField(blank=True)  # why its bytes were taken away for good; "" while they are there
    phash = models.CharField(max_length=16, blank=True, db_index=True)  # perceptual hash, 64 bits in hex
    # its quarters, 16 bits each: what is nearly the same shares one that differs in at most two bits
    band0 = models.PositiveIntegerField(null=True, db_index=True)
    band1 = models.PositiveIntegerField(null=True, db_index=True)
    band2 = models.PositiveIntegerField(null=True, db_index=True)
    band3 = models.PositiveIntegerField(null=True, db_index=True)
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


class Draft(models.Model):
    """What a person typed into a section and has not saved: the form's text and the version it started from."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    section = models.CharField(max_length=20)
    base_hash = models.CharField(max_length=64)
    body = models.TextField()  # the form as it would be posted
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "user", "section"], name="one_draft_per_section")]

    @property
    def fields(self) -> QueryDict:
        return QueryDict(self.body)


class Presence(models.Model):
    """Who has an item open, and which section of it for editing; old ones mean nothing and are swept."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="presences")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    section = models.CharField(max_length=20, blank=True)
    seen = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "user"], name="one_presence_per_item")]


class StruckStep(models.Model):
    """A candidate that was struck from the checklist, with the reason. `restored` is when it was taken back."""

    class Reason(models.TextChoices):
        BACKGROUND = "background", _("background knowledge")
        REDUNDANT = "redundant", _("redundant")
        MERGED = "merged", _("merged into another step")
        UNSUPPORTED = "unsupported", _("unsupported by sources")

    item = models.ForeignKey(Item, models.CASCADE, related_name="struck_steps")
    key = models.CharField(max_length=40)
    step = models.JSONField()
    reason = models.CharField(max_length=20, choices=Reason)
    merged_into = models.CharField(max_length=40, blank=True)
    note = models.CharField(max_length=300, blank=True)
    revision_number = models.PositiveIntegerField()  # the first without it
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    restored = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]


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
    edited = models.DateTimeField(null=True)  # the texts before stand in its events
    deleted = models.DateTimeField(null=True)  # its text is gone; it stays for its replies

    class Meta:
        ordering = ["pk"]


class Mention(models.Model):
    """Somebody was addressed by @name in a comment; `done` once they answered it or set it aside."""

    comment = models.ForeignKey(Comment, models.CASCADE, related_name="mentions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mentions")
    done = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["comment", "user"], name="mentioned_once")]


class Suggestion(models.Model):
    """A changed text for one field, proposed by anyone who may comment; the author accepts or declines it."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        ACCEPTED = "accepted", _("accepted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    item = models.ForeignKey(Item, models.CASCADE, related_name="suggestions")
    path = models.CharField(max_length=100)  # "question", or an element's key and field: "c3.conclusion"
    before = models.TextField(blank=True)  # the text it was made for
    after = models.TextField(blank=True)
    note = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    decided = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    reason = models.TextField(blank=True)  # of a decline
    revision_number = models.PositiveIntegerField(null=True)  # the revision that took it over

    class Meta:
        ordering = ["pk"]


class Notice(models.Model):
    """Something a person is told: on their home page until it is done, and by mail where they want it.

    Written in the transaction of what it tells of; the worker sends what is waiting.
    """

    class Kind(models.TextChoices):
        MENTION = "mention", _("mentions you")
        ANSWER = "answer", _("an answer to you")
        COMMENT = "comment", _("a comment on your item")
        SUGGESTION = "suggestion", _("an edit suggested for your item")
        DECISION = "decision", _("your suggestion was decided")
        ASSIGNED = "assigned", _("assigned to you")
        MOVED = "moved", _("your item was moved")
        RUN = "run", _("a run or a study ended")

    class Mail(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        UNWANTED = "unwanted", _("not wanted")
        FAILED = "failed", _("given up")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="notices")
    item = models.ForeignKey(Item, models.CASCADE, null=True, related_name="notices")
    facts = models.JSONField(null=True)  # of what is no item: what `notices.ENDS` words, and its address on the site
    address = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=10, choices=Kind)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    comment = models.ForeignKey(Comment, models.CASCADE, null=True, related_name="notices")
    suggestion = models.ForeignKey(Suggestion, models.CASCADE, null=True, related_name="notices")
    # Of a move: the event; of a decision: the status; of what is no item: its kind in `notices.ENDS`.
    about = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)  # the reason that was given, or what is asked for
    created = models.DateTimeField(auto_now_add=True)
    done = models.DateTimeField(null=True)
    mail = models.CharField(max_length=10, choices=Mail, default=Mail.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due = models.DateTimeField()  # when it may be sent; moves on while a worker sends it, and after a failure

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["user", "-id"], condition=models.Q(done=None), name="notice_open"),
            models.Index(fields=["due"], condition=models.Q(mail="waiting"), name="notice_to_send"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(item__isnull=False, facts__isnull=True, address="")
                | models.Q(models.Q(item=None, facts__isnull=False), ~models.Q(address="")),
                name="notice_of_an_item_or_of_facts",
            )
        ]


class SavedView(models.Model):
    """A named list: its filters, sorting and columns as the query of its address."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="saved_views")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(_("name"), max_length=60)
    query = models.TextField(blank=True)
    is_shared = models.BooleanField(_("for everybody in the benchmark"), default=False)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "owner", "name"], name="view_name_once")]


class Preferences(models.Model):
    """What a person set for themselves: which mail they get, how the workbench behaves, which columns lists show."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="preferences")
    mail_mentions = models.BooleanField(_("somebody mentions me"), default=True)
    mail_comments = models.BooleanField(_("somebody comments on my item or answers me"), default=True)
    mail_suggestions = models.BooleanField(_("an edit is suggested for my item, or mine is decided"), default=True)
    mail_assignments = models.BooleanField(_("an item is assigned to me"), default=True)
    mail_returns = models.BooleanField(_("my item is returned, approved, locked or rejected"), default=True)
    mail_runs = models.BooleanField(_("a run or a study of mine is done or has stopped"), default=True)
    quiet_checks = models.BooleanField(_("show checks only when I ask, while I draft"), default=False)
    columns = models.JSONField(default=list, blank=True)  # of item lists; empty is ours


class GuidelineVersion(models.Model):
    """A guideline as it stood once; the newest is the benchmark's `guideline`."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="guideline_versions")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    message = models.CharField(_("what changed"), max_length=300, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="guideline_number_once")]


class Seed(models.Model):
    """An idea for an item that waits for somebody to claim it; `item` is what became of it."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        CLAIMED = "claimed", _("claimed")
        USED = "used", _("became an item")
        DROPPED = "dropped", _("dropped")

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="seeds")
    title = models.CharField(_("idea"), max_length=200)
    body = models.TextField(_("notes"), blank=True)
    url = models.TextField(_("starting point"), blank=True)
    category = models.CharField(_("category"), max_length=200, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    claimed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="claimed_seeds")
    claimed = models.DateTimeField(null=True)
    item = models.OneToOneField(Item, models.SET_NULL, null=True, related_name="seed")
    reason = models.CharField(max_length=300, blank=True)  # why it was dropped

    class Meta:
        ordering = ["-pk"]


class ItemEvent(Event):
    """Who did what to an item. Append-only. `item` is empty for events of the benchmark itself."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="events")
    item = models.ForeignKey(Item, models.PROTECT, null=True, related_name="events")

    class Meta(Event.Meta):
        indexes = [models.Index(fields=["benchmark", "-id"])]
