"""Judging items: reviews, criterion results, ticks, calibration, transitions; and releases, the frozen sets."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.document import CanonicalEncoder
from annotation.models import Benchmark, Item, Revision
from annotation.states import GATE_SECTIONS, Gate
from lhdr_site.endpoints.models import Endpoint


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
        indexes = [models.Index(fields=["auditor", "ended"], name="review_by_end")]
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


class AuditPlan(models.Model):
    """How strictly a benchmark audits. A benchmark without one has the defaults."""

    class Gradeability(models.TextChoices):
        OFF = "off", _("not checked")
        RECOMMENDED = "recommended", _("recommended before lock")
        REQUIRED = "required", _("required before lock")

    benchmark = models.OneToOneField(Benchmark, models.CASCADE, related_name="audit_plan")
    different_auditors = models.BooleanField(_("different people for phases 2 and 4"), default=False)
    pilot_items = models.PositiveSmallIntegerField(_("items in a pilot batch"), default=3)
    pilot_raters = models.PositiveSmallIntegerField(_("raters of a pilot batch"), default=1)
    probes_with_image = models.PositiveSmallIntegerField(_("probes with images"), default=0)
    probes_without_image = models.PositiveSmallIntegerField(_("probes without images"), default=0)
    author_probes = models.PositiveSmallIntegerField(_("probes of a draft by its author"), default=2)
    gradeability = models.CharField(
        _("gradeability"), max_length=12, choices=Gradeability, default=Gradeability.RECOMMENDED
    )
    claim_minutes = models.PositiveIntegerField(_("a claimed item is kept for, minutes"), default=120)
    stuck_days = models.PositiveSmallIntegerField(_("an item is stuck after, days"), default=14)
    recheck_days = models.PositiveSmallIntegerField(_("links are checked again after, days"), default=90)
    double_audit_percent = models.PositiveSmallIntegerField(
        _("audited twice, %"), default=0, validators=[MaxValueValidator(100)]
    )
    double_audit_seed = models.BigIntegerField(null=True)  # of that draw; set at the first one and kept


class ReviewClaim(models.Model):
    """An item that somebody took from the queue and has for a while; it lapses by itself."""

    item = models.OneToOneField(Item, models.CASCADE, related_name="review_claim")
    auditor = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="review_claims")
    phase = models.PositiveSmallIntegerField()
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(db_index=True)


class Override(models.Model):
    """A rule that an admin set aside for an item, with the reason, for ever. Append-only."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="overrides")
    rule = models.CharField(max_length=40)  # own_item, same_auditor, gradeability, probes
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")  # for whom
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]


class ReturnPoint(models.Model):
    """One thing to mend in a returned item, and the author's answer to it."""

    class Answer(models.TextChoices):
        OPEN = "open", _("open")
        MENDED = "mended", _("mended")
        DISPUTED = "disputed", _("disputed")

    item = models.ForeignKey(Item, models.PROTECT, related_name="return_points")
    transition = models.ForeignKey("Transition", models.PROTECT, related_name="return_points")
    anchor = models.CharField(max_length=100, blank=True)  # a section, or an element's key; "" is the whole item
    criterion = models.CharField(max_length=40, blank=True)
    text = models.TextField()
    answer = models.CharField(max_length=10, choices=Answer, default=Answer.OPEN)
    answer_text = models.TextField(blank=True)  # what was done, or why not
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    answered = models.DateTimeField(null=True)
    revision = models.ForeignKey(Revision, models.PROTECT, null=True, related_name="+")  # present when it was answered
    accepted = models.BooleanField(null=True)  # the auditor's word on the answer

    class Meta:
        ordering = ["pk"]


class Candidate(models.Model):
    """Another answer that an auditor thinks might fit. It stands in the way until the item's rivals rule it out."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="candidates")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    answer = models.CharField(_("candidate answer"), max_length=500)
    why = models.TextField(_("why it might fit"))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    withdrawn = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["pk"]


class PilotBatch(models.Model):
    """A few items by which core judges whether an annotator works as the others do."""

    class Status(models.TextChoices):
        OPEN = "open", _("being rated")
        CALIBRATED = "calibrated", _("calibrated")
        AGAIN = "again", _("another batch")

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="pilot_batches")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="pilot_batches")
    number = models.PositiveSmallIntegerField()
    items = models.ManyToManyField(Item, related_name="pilot_batches")
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    note = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    closed = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "annotator", "number"], name="batch_number_once")]


class PilotRating(models.Model):
    """One rater's word on one criterion of phase 1 for one item of a batch; theirs to change while it is open."""

    batch = models.ForeignKey(PilotBatch, models.CASCADE, related_name="ratings")
    item = models.ForeignKey(Item, models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    rater = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    criterion = models.CharField(max_length=40)
    rating = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(5)])
    passed = models.BooleanField()
    comment = models.TextField(blank=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "item", "rater", "criterion"], name="one_pilot_rating_each")
        ]


class Probe(models.Model):
    """The question asked of a system, with or without its images, to see whether a shortcut finds the answer.

    `system` and `judge` are evaluation's rows, which this app does not know; name, vendor and model stand here as they
    were. While there is no `text` the next call is the system's; once there is, it is the judge's. A row that is open
    (pending, running) waits for a call; `ended` is when the answer came.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        RUNNING = "running", _("running")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    class Origin(models.TextChoices):
        ENGINE = "engine", _("asked from here")
        PASTED = "pasted", _("pasted from elsewhere")

    class Path(models.TextChoices):
        NONE = "none", _("no direct path")
        SINGLE_QUERY = "single_query", _("a single query")
        SINGLE_PAGE = "single_page", _("a single page")
        TEXT_ONLY = "text_only", _("text only")

    item = models.ForeignKey(Item, models.PROTECT, related_name="probes")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    section_hashes = models.JSONField()
    with_image = models.BooleanField()
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.ENGINE)
    system = models.BigIntegerField(null=True)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, null=True, related_name="+")  # of the next or last call
    system_name = models.CharField(max_length=200)
    vendor = models.CharField(max_length=80, blank=True)
    model = models.CharField(max_length=200, blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    ended = models.DateTimeField(null=True)
    text = models.TextField(blank=True)
    truncated = models.BooleanField(default=False)
    citations = models.JSONField(default=list, blank=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    returned_model = models.CharField(max_length=200, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)  # of all calls; null is unknown
    judge = models.BigIntegerField(null=True)
    judge_name = models.CharField(max_length=200, blank=True)
    judge_recovered = models.BooleanField(null=True)
    judge_output = models.TextField(blank=True)
    recovered = models.BooleanField(null=True)  # a person's word; it stands over the judge's
    path = models.CharField(max_length=20, choices=Path, blank=True)
    comment = models.TextField(blank=True)
    seen_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    seen = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["status", "due"], name="probe_by_due"),
            models.Index(fields=["endpoint", "status", "lease_until"], name="probe_by_endpoint"),
        ]

    @property
    def is_open(self) -> bool:
        return self.status in (self.Status.PENDING, self.Status.RUNNING)

    @property
    def is_fresh(self) -> bool:
        """Whether question and images are still those that were sent. Needs `item`."""
        return all(self.section_hashes[s] == self.item.section_hashes[s] for s in GATE_SECTIONS[Gate.SHORTCUT])

    @property
    def has_word(self) -> bool:
        return self.seen is not None

    @property
    def found(self) -> bool:
        """Whether the answer was recovered or a direct path found: by a person's word, else by the judge's."""
        if self.has_word:
            return bool(self.recovered) or self.path not in ("", self.Path.NONE)
        return bool(self.judge_recovered)


class GradeCheck(models.Model):
    """Whether a judge grades the written-out solution as it should: full, without a step, empty."""

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        RUNNING = "running", _("running")
        PASSED = "passed", _("gradeable")
        FAILED = "failed", _("not gradeable")
        BROKEN = "broken", _("could not be checked")

    item = models.ForeignKey(Item, models.PROTECT, related_name="grade_checks")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    section_hashes = models.JSONField()
    judge = models.BigIntegerField(null=True)  # evaluation's row
    judge_name = models.CharField(max_length=200)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, null=True, related_name="+")
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)  # of the case in work
    # [{"case", "without", "expected", "vector", "answer", "output", "unparseable", "ok"}]; ok null: not judged yet
    cases = models.JSONField(default=list, blank=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["endpoint", "status", "lease_until"], name="grade_check_by_endpoint")]

    @property
    def is_open(self) -> bool:
        return self.status in (self.Status.PENDING, self.Status.RUNNING)

    @property
    def is_fresh(self) -> bool:
        """Whether question, answer and checklist are still those that were judged. Needs `item`."""
        return all(self.section_hashes[s] == self.item.section_hashes[s] for s in ("question", "checklist"))


class LinkCheck(models.Model):
    """What one URL of an item answered at one moment, to the machine or to a person. Append-only."""

    class Status(models.TextChoices):
        OK = "ok", _("opens")
        DEAD = "dead", _("dead")
        UNVERIFIABLE = "unverifiable", _("unverifiable by machine")
        REFUSED = "refused", _("not fetched: address not allowed")

    item = models.ForeignKey(Item, models.PROTECT, related_name="link_checks")
    source = models.CharField(max_length=40)  # its key
    url = models.TextField()
    url_hash = models.CharField(max_length=64)  # SHA-256 of the URL as it stands in the document
    status = models.CharField(max_length=12, choices=Status)
    reason = models.CharField(max_length=300, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    final_url = models.TextField(blank=True)
    redirects = models.JSONField(default=list, blank=True)
    content_type = models.CharField(max_length=100, blank=True)
    title = models.CharField(max_length=500, blank=True)
    content_hash = models.CharField(max_length=64, blank=True)
    extract = models.TextField(blank=True)
    quote_found = models.BooleanField(null=True)  # null: no quote, or no text to look in
    quote_score = models.PositiveSmallIntegerField(
        null=True
    )  # how like the text is to the quote, %; 100: word for word
    changed = models.BooleanField(null=True)  # against the check before it; null: the first
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")  # null: the machine
    milliseconds = models.PositiveIntegerField(null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["item", "source", "-id"], name="link_check_by_source"),
            models.Index(fields=["url_hash", "-id"], name="link_check_by_url"),
        ]


class LinkJob(models.Model):
    """A source whose URL is to be asked for; gone once its LinkCheck is written."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="link_jobs")
    source = models.CharField(max_length=40)
    url = models.TextField()
    url_hash = models.CharField(max_length=64, db_index=True)
    host = models.CharField(max_length=300)
    anew = models.BooleanField(default=False)  # ask the host even if the URL was asked for a moment ago
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")  # null: the schedule
    asked = models.DateTimeField(auto_now_add=True)
    due = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)
    note = models.CharField(max_length=300, blank=True)  # what the last try met

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "source"], name="one_link_job_a_source")]
        indexes = [models.Index(fields=["host", "due"], name="link_job_by_host")]
        ordering = ["pk"]


class LinkHost(models.Model):
    """A web host: whose turn it is to ask it, when it may be asked next, and its rules for robots."""

    host = models.CharField(max_length=300, unique=True)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    free = models.DateTimeField(null=True)
    robots = models.TextField(blank=True)
    robots_read = models.DateTimeField(null=True)


class BlindAudit(models.Model):
    """A second audit of an item by somebody who does not see the first; or one of a locked item, for residual error."""

    class Kind(models.TextChoices):
        DOUBLE = "double", _("double audit")
        RESIDUAL = "residual", _("residual error")

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="blind_audits")
    item = models.ForeignKey(Item, models.PROTECT, related_name="blind_audits")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    sample = models.CharField(max_length=60, blank=True)  # names the draw: seed and date
    auditor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="blind_audits")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")  # null: drawn
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]


class BlindResult(models.Model):
    """The answer to one criterion in a blind audit; feeds no gate. Append-only: the latest counts.

    `adjudicates`: by a third person, where the two disagreed.
    """

    audit = models.ForeignKey(BlindAudit, models.PROTECT, related_name="results")
    criterion = models.CharField(max_length=40)
    rating = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(5)])
    passed = models.BooleanField()
    comment = models.TextField(blank=True)
    adjudicates = models.BooleanField(default=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]


class Errata(models.Model):
    """A fault that somebody sees in a locked item, and what core made of it."""

    class Kind(models.TextChoices):
        PROBLEM = "problem", _("the question")
        ANSWER = "answer", _("the answer")
        STEP = "step", _("a step")
        SOURCE = "source", _("a source")

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        VALID = "valid", _("the item is valid")
        REVISED = "revised", _("to be revised")
        UNCERTAIN = "uncertain", _("uncertain")
        RETIRED = "retired", _("retired")

    item = models.ForeignKey(Item, models.PROTECT, related_name="errata")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="+")
    kind = models.CharField(_("what is wrong"), max_length=10, choices=Kind)
    anchor = models.CharField(max_length=40, blank=True)  # the key of a step or source
    grounds = models.TextField(_("grounds"))
    evidence = models.JSONField(default=dict, blank=True)  # what an analysis brought along
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    reason = models.TextField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]


class Redaction(models.Model):
    """A picture whose bytes were taken away for good; its hash stays wherever it stood. Append-only."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="redactions")
    sha256 = models.CharField(max_length=64)
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "sha256"], name="redacted_once")]


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
    version = models.CharField(_("version"), max_length=40, blank=True)  # semantic, "1.2.0"
    # Why images without a licence were let in; "" when there was none.
    license_note = models.TextField(_("images without a licence"), blank=True)
    quality = models.JSONField(default=dict, blank=True)  # agreement and residual error as known when it was cut
    splits = models.JSONField(default=dict, blank=True)  # how they were made: audit.splits.SplitPlan; {} without any
    statistics = models.JSONField(default=dict, blank=True)  # audit.figures.summary of its documents
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
    split = models.CharField(max_length=20, blank=True)  # dev, test, held_out; "" where the release has none
    document = models.JSONField(encoder=CanonicalEncoder)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "position"], name="release_position_once"),
            models.UniqueConstraint(fields=["release", "uid"], name="release_item_once"),
        ]
        ordering = ["position"]


class ReleaseImage(models.Model):
    """A picture that a released document brings along: exports and takedowns ask here and read no documents."""

    release_item = models.ForeignKey(ReleaseItem, models.PROTECT, related_name="image_rows")
    file = models.CharField(max_length=200)  # images/<sha256>.<ending>
    sha256 = models.CharField(max_length=64, db_index=True)
    is_shown = models.BooleanField()  # its role is question
