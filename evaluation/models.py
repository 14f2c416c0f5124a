"""Runs on a release: systems, judges, responses with their attempts, verdicts and reports.

A Response or Verdict row is the truth of its piece of work; a queue message is only a wake-up.
"""

from decimal import Decimal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from annotation.benchmarks import Benchmark
from audit.probes import GradeCheck, Probe
from audit.releases import Release, ReleaseItem
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.events import Event

from .prompts import TEMPLATES
from .stops import words_of_stop

MOST_TIMES = 20  # samples per item, verdicts per judge


class Group(models.TextChoices):
    TOOL_AUGMENTED_VLM = "tool_augmented_vlm", _("Tool-augmented VLM")
    TOOL_FREE_VLM = "tool_free_vlm", _("Tool-free VLM")
    DEEP_RESEARCH = "deep_research", _("Deep-research system")
    FRAMEWORK_AGENT = "framework_agent", _("Framework agent")


class ImageMode(models.TextChoices):
    INLINE = "inline", _("Inline, as data")
    URL_IN_PROMPT = "url_in_prompt", _("Address in the prompt")
    NONE = "none", _("Withheld")


class Priced(models.Model):
    """What tokens cost, for calls whose cost is not reported."""

    prompt_price = models.DecimalField(
        _("price of input, USD per million tokens"),
        max_digits=10,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Used where the endpoint reports no cost."),
    )
    completion_price = models.DecimalField(
        _("price of output, USD per million tokens"),
        max_digits=10,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
    )

    class Meta:
        abstract = True


class System(Priced):
    """A model configuration under evaluation. Never edited once it has run."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="systems")
    name = models.CharField(_("name"), max_length=80)
    endpoint = models.ForeignKey(  # null: its answers come from files
        Endpoint, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("endpoint")
    )
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

    @property
    def is_demo(self) -> bool:
        return self.endpoint is not None and self.endpoint.is_demo


class Prompt(models.Model):
    """A judge prompt that a team pasted; never edited: another text is another version."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="prompts")
    version = models.SlugField(_("version"), max_length=40)
    text = models.TextField(_("text"))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "version"], name="prompt_version_once")]
        ordering = ["version"]

    def __str__(self) -> str:
        return self.version


class Judge(Priced):
    """Who issues verdicts: a model with one prompt version, or a person; with neither endpoint nor person, a judge
    elsewhere, whose verdicts come from files."""

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

    @cached_property
    def pasted_prompt(self) -> str:
        """The text of its prompt where a team pasted it; "" where the prompt is one of ours, and for people."""
        if not self.prompt_version or self.prompt_version in TEMPLATES:
            return ""
        return Prompt.objects.get(benchmark=self.benchmark_id, version=self.prompt_version).text

    @property
    def template(self) -> str:
        return self.pasted_prompt or TEMPLATES.get(self.prompt_version, "")


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


class Extent(models.Model):
    """How often is asked and judged, and what it may cost: of a run alone, or of a study with all its runs."""

    samples = models.PositiveSmallIntegerField(
        _("samples per item"), default=1, validators=[MinValueValidator(1), MaxValueValidator(MOST_TIMES)]
    )
    repeats = models.PositiveSmallIntegerField(
        _("verdicts per judge"), default=1, validators=[MinValueValidator(1), MaxValueValidator(MOST_TIMES)]
    )
    budget = models.DecimalField(_("budget, USD"), max_digits=10, decimal_places=2, null=True, blank=True)
    token_budget = models.PositiveBigIntegerField(_("budget, tokens"), null=True, blank=True)

    class Meta:
        abstract = True


class Study(Extent):
    """Systems x conditions x samples, judged by judges x repeats, on one release under one budget: one plan for many
    runs. Frozen, neither the plan nor the responses and verdicts of its runs change any more."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="studies")
    number = models.PositiveIntegerField()
    name = models.CharField(_("name"), max_length=120)
    release = models.ForeignKey(Release, models.PROTECT, related_name="studies", verbose_name=_("release"))
    systems = models.ManyToManyField(System, related_name="studies", verbose_name=_("systems"))
    judges = models.ManyToManyField(Judge, related_name="studies", verbose_name=_("judges"))
    main_judge = models.ForeignKey(Judge, models.PROTECT, related_name="+", verbose_name=_("main judge"))
    conditions = models.JSONField(_("conditions"), default=list)  # of Condition, in order
    concurrency = models.PositiveIntegerField(_("calls at once, per run"), default=8, validators=[MinValueValidator(1)])
    note = models.TextField(_("note"), blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    frozen = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "number"], name="study_number_once"),
            models.UniqueConstraint(fields=["benchmark", "name"], name="study_name_once"),
        ]
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name


class Run(Extent):
    """One system on one release under one condition, judged by one or several judges."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    release = models.ForeignKey(Release, models.PROTECT, related_name="runs")
    system = models.ForeignKey(System, models.PROTECT, related_name="runs")
    condition = models.CharField(max_length=20, choices=Condition, default=Condition.WITH_IMAGE)
    study = models.ForeignKey(Study, models.PROTECT, null=True, related_name="runs")
    judges = models.ManyToManyField(Judge, related_name="runs")
    main_judge = models.ForeignKey(Judge, models.PROTECT, related_name="+")
    is_trial = models.BooleanField(default=False)  # on part of the release; kept out of the leaderboard
    imported = models.CharField(max_length=64, blank=True)  # SHA-256 of the rows of the file its responses are from
    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    stop = models.JSONField(default=dict, blank=True)  # why it stopped or pauses by itself: see stops.py
    note = models.TextField(_("note"), blank=True)
    concurrency = models.PositiveIntegerField(_("calls at once"), default=8, validators=[MinValueValidator(1)])
    item_count = models.PositiveIntegerField()  # of the release; a trial has responses for fewer
    launched_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    resumed = models.DateTimeField(null=True)  # errors from before do not stop it again
    # Who had it go on last, by resuming, trying again or judging again.
    resumed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    ended = models.DateTimeField(null=True)
    spent = models.DecimalField(max_digits=12, decimal_places=6, default=0)  # the known costs of all attempts
    tokens = models.PositiveBigIntegerField(default=0)  # the known ones of all attempts
    unpriced = models.PositiveIntegerField(default=0)  # attempts that may have cost something, unknown what
    priced = models.PositiveIntegerField(default=0)  # attempts whose cost is by the price table, not reported
    zero_cost = models.PositiveIntegerField(default=0)  # attempts reported as free though a paid service used tokens
    # The dearest and the longest call so far, of answers, judges and labels: what a claim reserves of the budgets.
    answer_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    verdict_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    label_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    answer_tokens = models.PositiveBigIntegerField(null=True)
    verdict_tokens = models.PositiveBigIntegerField(null=True)
    label_tokens = models.PositiveBigIntegerField(null=True)
    # What it reserves before one is known, by the price tables; 0 without them.
    answer_guess = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    verdict_guess = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    label_guess = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    # What the endpoint itself said that its key had used, in USD, before the first call and after the last.
    usage_before = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    usage_after = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    models_accepted = models.JSONField(default=list)  # returned model ids that are taken for the one asked for

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="run_number_once")]
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"run {self.number}"

    @property
    def stop_reason(self) -> str:
        return words_of_stop(self.stop)

    @property
    def usage(self) -> Decimal | None:
        """What the endpoint itself counted for its key while the run went on, in USD; None where it does not tell."""
        if self.usage_before is None or self.usage_after is None:
            return None
        return self.usage_after - self.usage_before


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
    endpoint = models.ForeignKey(
        Endpoint, models.PROTECT, null=True, related_name="+"
    )  # null: a person's, or from a file
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due = models.DateTimeField(null=True)  # not before; set by back-off
    tries = models.PositiveIntegerField(default=0)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    reserved = models.DecimalField(max_digits=12, decimal_places=6, default=0)  # of the budget, while a call goes on
    returned_model = models.CharField(max_length=200, blank=True)  # as the reply that counts named it
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
    flags = models.JSONField(default=list)  # of contamination.FLAGS
    request_hash = models.CharField(max_length=64, blank=True)  # of the request as sent, image bytes as their hash
    carried_from = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")

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
    flagged_steps = models.JSONField(default=dict)  # flag -> numbers of the credited steps it is about
    unparseable = models.TextField(blank=True)
    blind = models.BooleanField(default=False)  # a person's verdict, given before seeing the others
    note = models.TextField(_("note"), blank=True)  # a person's, on why
    carried_from = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    drift = models.ForeignKey("DriftMeasurement", models.PROTECT, null=True)  # then its repeat is above all of a run
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


class Taxonomy(models.Model):
    """Failure modes that a team brings; never edited: others are another version."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="taxonomies")
    version = models.SlugField(_("version"), max_length=40)
    modes = models.JSONField()  # [{"key", "name", "definition", "example"}, …]
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "version"], name="taxonomy_version_once")]
        ordering = ["version"]

    def __str__(self) -> str:
        return self.version


class LabelPlan(models.Model):
    """A run's failed steps, as one judge's verdicts say which these are, are to be labelled by a model."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="label_plans")
    labeller = models.ForeignKey(Judge, models.PROTECT, related_name="+")
    basis = models.ForeignKey(Judge, models.PROTECT, related_name="+")
    taxonomy = models.CharField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "labeller", "basis", "taxonomy"], name="label_plan_once")]


class Labelling(Work):
    """One labeller (a model, or a person) on the steps of one response that a judge found missing."""

    response = models.ForeignKey(Response, models.CASCADE)
    labeller = models.ForeignKey(Judge, models.PROTECT, related_name="labellings")
    basis = models.ForeignKey(Judge, models.PROTECT, related_name="+")  # whose first verdict says which steps failed
    taxonomy = models.CharField(max_length=40)
    labels = models.JSONField(default=list)  # [{"step": 0 for the response as a whole, "mode", "note"}, …]
    revision = models.PositiveIntegerField(default=1)  # of a person's labels, raised whenever they change
    identity = models.CharField(max_length=64, blank=True)  # hash of everything the labels depend on
    output = models.TextField(blank=True)
    unparseable = models.TextField(blank=True)
    flags = models.JSONField(default=list)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)

    class Meta:
        default_related_name = "labellings"
        constraints = [
            models.UniqueConstraint(fields=["response", "labeller", "basis", "taxonomy"], name="one_labelling_each")
        ]
        indexes = [
            models.Index(fields=["run", "status", "id"], name="labelling_by_run"),
            models.Index(fields=["endpoint", "status", "lease_until"], name="labelling_by_endpoint"),
        ]


class Anchor(models.Model):
    """A completed response that judges are shown again from time to time, to see whether they changed."""

    response = models.OneToOneField(Response, models.PROTECT, related_name="anchor")
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)


class DriftMeasurement(models.Model):
    """One judge asked again about the anchors that it judged before."""

    judge = models.ForeignKey(Judge, models.PROTECT, related_name="measurements")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]


class MarkingPlan(models.Model):
    """Completed responses of a run or a study for people to mark, drawn by a rule with a seed, in one order for all."""

    class Method(models.TextChoices):
        RANDOM = "random", _("at random")
        STRATIFIED = "stratified", _("at random, each category with its share")
        DISAGREEMENT = "disagreement", _("where judges disagree")
        FLAGGED = "flagged", _("flagged ones first")
        HANDED = "handed", _("given to a person one by one")

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="marking_plans")
    number = models.PositiveIntegerField()
    run = models.ForeignKey(Run, models.PROTECT, null=True, blank=True, related_name="marking_plans")
    study = models.ForeignKey(Study, models.PROTECT, null=True, blank=True, related_name="marking_plans")
    method = models.CharField(_("which responses"), max_length=20, choices=Method, default=Method.RANDOM)
    size = models.PositiveIntegerField(_("how many"), default=30, validators=[MinValueValidator(1)])
    seed = models.PositiveBigIntegerField(_("seed"), default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "number"], name="marking_plan_number_once"),
            models.CheckConstraint(
                condition=models.Q(run__isnull=False) ^ models.Q(study__isnull=False), name="marking_plan_of_one_thing"
            ),
        ]
        ordering = ["-pk"]


class MarkingTask(models.Model):
    plan = models.ForeignKey(MarkingPlan, models.PROTECT, related_name="tasks")
    response = models.ForeignKey(Response, models.PROTECT, related_name="marking_tasks")
    position = models.PositiveIntegerField()  # from 1

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plan", "position"], name="marking_position_once"),
            models.UniqueConstraint(fields=["plan", "response"], name="marking_response_once"),
        ]
        ordering = ["position"]


class Tryout(models.Model):
    """One request to see what a system answers. It is no response: nothing of it is judged, counted or carried over."""

    Status = Work.Status

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="tryouts")
    system = models.ForeignKey(System, models.SET_NULL, null=True, related_name="tryouts")
    system_name = models.CharField(max_length=80)
    vendor = models.CharField(max_length=80)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="+")
    release_item = models.ForeignKey(ReleaseItem, models.PROTECT, related_name="+")
    condition = models.CharField(max_length=20, choices=Condition)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=10, choices=Work.Status, default=Work.Status.PENDING)
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    due = models.DateTimeField(null=True)
    tries = models.PositiveIntegerField(default=0)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    text = models.TextField(blank=True)
    thinking = models.TextField(blank=True)
    citations = models.JSONField(default=list)
    truncated = models.BooleanField(default=False)
    returned_model = models.CharField(max_length=200, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["endpoint", "status", "lease_until"], name="tryout_by_endpoint")]

    @property
    def is_open(self) -> bool:
        return self.status in (Work.Status.PENDING, Work.Status.RUNNING)


class Attempt(models.Model):
    """One HTTP request for a response, verdict, labelling, probe, grade check or tryout. Written when it starts, closed
    when it ends.

    `judge`: whom a probe's or a grade check's request went to, where it was no system.
    """

    response = models.ForeignKey(Response, models.CASCADE, null=True, related_name="attempts")
    verdict = models.ForeignKey(Verdict, models.CASCADE, null=True, related_name="attempts")
    labelling = models.ForeignKey(Labelling, models.CASCADE, null=True, related_name="attempts")
    probe = models.ForeignKey(Probe, models.PROTECT, null=True, related_name="attempts")
    grade_check = models.ForeignKey(GradeCheck, models.PROTECT, null=True, related_name="attempts")
    tryout = models.ForeignKey(Tryout, models.PROTECT, null=True, related_name="attempts")
    judge = models.ForeignKey(Judge, models.PROTECT, null=True, related_name="+")
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
    # The id of a generation that may go on at the endpoint: it is asked after by this, and nothing is asked anew.
    awaited = models.CharField(max_length=200, blank=True)
    taken_up = models.PositiveSmallIntegerField(default=0)  # how often another worker went on to wait for it
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    priced = models.BooleanField(default=False)  # the cost is by the price table, not reported

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(response__isnull=False)
                ^ models.Q(verdict__isnull=False)
                ^ models.Q(labelling__isnull=False)
                ^ models.Q(probe__isnull=False)
                ^ models.Q(grade_check__isnull=False)
                ^ models.Q(tryout__isnull=False),
                name="attempt_of_one_thing",
            )
        ]
        indexes = [models.Index(fields=["awaited"], condition=~models.Q(awaited=""), name="attempt_awaited")]


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


class ConfigurationEvent(Event):
    """Who changed or deleted a system or judge that never ran. Append-only."""

    benchmark = models.ForeignKey(Benchmark, models.PROTECT, related_name="configuration_events")


class StudyEvent(Event):
    """Who did what to a study. Append-only."""

    study = models.ForeignKey(Study, models.PROTECT, related_name="events")
