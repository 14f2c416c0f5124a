"""Runs on a release: systems, judges, responses with their attempts, verdicts and reports.

A Response or Verdict row is the truth of its piece of work; a queue message is only a wake-up.
"""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.benchmarks import Benchmark
from audit.releases import Release, ReleaseItem
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.events import Event


class Group(models.TextChoices):
    TOOL_AUGMENTED_VLM = "tool_augmented_vlm", _("Tool-augmented VLM")
    TOOL_FREE_VLM = "tool_free_vlm", _("Tool-free VLM")
    DEEP_RESEARCH = "deep_research", _("Deep-research system")
    FRAMEWORK_AGENT = "framework_agent", _("Framework agent")


class ImageMode(models.TextChoices):
    INLINE = "inline", _("Inline, as data")
    URL_IN_PROMPT = "url_in_prompt", _("Address in the prompt")
    NONE = "none", _("Withheld")


class System(models.Model):
    """A model configuration under evaluation. Never edited once it has run."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="systems")
    name = models.CharField(_("name"), max_length=80)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="+", verbose_name=_("endpoint"))
    model = models.CharField(_("model id"), max_length=200)
    group = models.CharField(_("group"), max_length=20, choices=Group)
    family = models.CharField(_("vendor family"), max_length=80)
    release_date = models.DateField(_("release date"), null=True, blank=True)
    represents_family = models.BooleanField(_("represents its family"), default=False)
    image_mode = models.CharField(_("images"), max_length=20, choices=ImageMode, default=ImageMode.INLINE)
    extra_body = models.JSONField(_("extra request fields"), default=dict, blank=True)
    max_tries = models.PositiveIntegerField(_("tries per request"), default=4, validators=[MinValueValidator(1)])
    max_request_mb = models.PositiveIntegerField(
        _("largest request, MB"),
        default=20,
        validators=[MinValueValidator(1)],
        help_text=_("A larger one is not sent and counts as failed."),
    )
    image_max_side = models.PositiveIntegerField(
        _("longest image side, pixels"),
        null=True,
        blank=True,
        validators=[MinValueValidator(64)],
        help_text=_("Larger images are sent as smaller copies; recorded with each request."),
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "name"], name="system_name_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Judge(models.Model):
    """Who issues verdicts: a model with one prompt version, or a person."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="judges")
    name = models.CharField(_("name"), max_length=80)
    endpoint = models.ForeignKey(
        Endpoint, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("endpoint")
    )
    model = models.CharField(_("model id"), max_length=200, blank=True)
    family = models.CharField(_("vendor family"), max_length=80, blank=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    prompt_version = models.CharField(_("prompt"), max_length=40, blank=True)
    extra_body = models.JSONField(_("extra request fields"), default=dict, blank=True)
    max_tries = models.PositiveIntegerField(_("tries per verdict"), default=3, validators=[MinValueValidator(1)])
    max_response_chars = models.PositiveIntegerField(
        _("longest response it is shown, characters"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1000)],
        help_text=_("Of a longer one only the end is shown, and the verdict is flagged “response_cut”."),
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "name"], name="judge_name_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Condition(models.TextChoices):
    WITH_IMAGE = "with_image", _("with image")
    WITHOUT_IMAGE = "without_image", _("without image")


class RunState(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    FINISHED = "finished", _("finished")
    CANCELLED = "cancelled", _("cancelled")
    STOPPED = "stopped", _("stopped")


class Run(models.Model):
    """One system on one release under one condition, judged by one or several judges."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    release = models.ForeignKey(Release, models.PROTECT, related_name="runs")
    system = models.ForeignKey(System, models.PROTECT, related_name="runs")
    condition = models.CharField(max_length=20, choices=Condition, default=Condition.WITH_IMAGE)
    judges = models.ManyToManyField(Judge, related_name="runs")
    main_judge = models.ForeignKey(Judge, models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    stop_reason = models.TextField(blank=True)
    note = models.TextField(_("note"), blank=True)
    concurrency = models.PositiveIntegerField(_("calls at once"), default=8, validators=[MinValueValidator(1)])
    budget = models.DecimalField(_("budget, USD"), max_digits=10, decimal_places=2, null=True, blank=True)
    item_count = models.PositiveIntegerField()
    launched_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    resumed = models.DateTimeField(null=True)  # errors from before do not stop it again
    ended = models.DateTimeField(null=True)
    spent = models.DecimalField(max_digits=12, decimal_places=6, default=0)  # the known costs of all attempts
    unpriced = models.PositiveIntegerField(default=0)  # attempts that may have cost something, unknown what

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="run_number_once")]
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"run {self.number}"


class Work(models.Model):
    """A piece of work that exactly one worker holds at a time, under a lease with an owner token.

    `run` and `endpoint` stand here so that what is due, and the calls at once, can be counted without a join.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        RUNNING = "running", _("running")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    run = models.ForeignKey(Run, models.PROTECT)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, null=True, related_name="+")  # null: a person's verdict
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due = models.DateTimeField(null=True)  # not before; set by back-off
    tries = models.PositiveIntegerField(default=0)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        return self.status in (self.Status.PENDING, self.Status.RUNNING)


class Response(Work):
    """A run's record for one item (and sample number)."""

    release_item = models.ForeignKey(ReleaseItem, models.PROTECT, related_name="+")
    sample = models.PositiveSmallIntegerField(default=1)
    text = models.TextField(blank=True)
    thinking = models.TextField(blank=True)
    citations = models.JSONField(default=list)  # [{"url", "title"}]
    truncated = models.BooleanField(default=False)
    finish_reason = models.CharField(max_length=40, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)  # of all attempts; null is unknown

    class Meta:
        default_related_name = "responses"
        constraints = [
            models.UniqueConstraint(fields=["run", "release_item", "sample"], name="one_response_per_item_and_sample")
        ]
        indexes = [
            models.Index(fields=["run", "status", "id"], name="response_by_run"),
            models.Index(fields=["endpoint", "status", "lease_until"], name="response_by_endpoint"),
        ]


class Verdict(Work):
    """One judge on one response (and repeat), with the raw output. `unparseable`: why none could be read."""

    response = models.ForeignKey(Response, models.CASCADE)
    judge = models.ForeignKey(Judge, models.PROTECT)
    repeat = models.PositiveSmallIntegerField(default=1)
    identity = models.CharField(max_length=64, blank=True)  # hash of everything the verdict depends on
    output = models.TextField(blank=True)
    answer_correct = models.BooleanField(null=True)
    vector = models.JSONField(null=True)  # [0/1, …] in checklist order
    flags = models.JSONField(default=list)
    unparseable = models.TextField(blank=True)
    blind = models.BooleanField(default=False)  # a person's verdict, given before seeing the others
    note = models.TextField(_("note"), blank=True)  # a person's, on why
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)

    class Meta:
        default_related_name = "verdicts"
        constraints = [
            models.UniqueConstraint(fields=["response", "judge", "repeat"], name="one_verdict_per_judge_and_repeat")
        ]
        indexes = [
            models.Index(fields=["run", "status", "id"], name="verdict_by_run"),
            models.Index(fields=["endpoint", "status", "lease_until"], name="verdict_by_endpoint"),
        ]


class Attempt(models.Model):
    """One HTTP request for a response or a verdict. Written when it starts, closed when it ends."""

    response = models.ForeignKey(Response, models.CASCADE, null=True, related_name="attempts")
    verdict = models.ForeignKey(Verdict, models.CASCADE, null=True, related_name="attempts")
    owner = models.UUIDField()
    started = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True)
    request = models.JSONField()  # as sent; image bytes replaced by their hash. A judge's prompt stands here alone
    requested_model = models.CharField(max_length=200)
    http_status = models.PositiveIntegerField(null=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    body = models.TextField(blank=True)  # the reply as it came (2 kB of what was no JSON)
    content_type = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    provider = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    generation = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(response__isnull=False) ^ models.Q(verdict__isnull=False),
                name="attempt_of_one_thing",
            )
        ]


class Report(models.Model):
    """Metrics computed from stored verdicts, kept with the hash of their inputs."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=40)
    input_hash = models.CharField(max_length=64)
    data = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "input_hash"], name="one_report_per_input")]


class RunEvent(Event):
    """Who did what to a run. Append-only."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="events")
