"""People's writes about judging: prompts that a team pastes, anchors for judge drift.

One function, one transaction; raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .actions import locked_run
from .models import Anchor, Prompt, Response, Run, RunEvent, RunState, Work
from .permissions import may_manage_runs
from .prompts import PLACEHOLDERS, TEMPLATES, template_problems
from .scoring.sampling import Candidate, draw

MOST_CHARACTERS = 20_000


@transaction.atomic
def paste_prompt(benchmark: Benchmark, version: str, text: str, *, actor: User) -> Prompt:
    """A judge prompt of the team's own. It is never edited: another text is another version."""
    benchmark = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    may_manage_runs(actor, benchmark).require()
    prompt = Prompt(benchmark=benchmark, version=version.strip(), text=text.replace("\r\n", "\n"), created_by=actor)
    if prompt.version in TEMPLATES or prompt.version == "new":
        raise Invalid.at("version", _("“%s” is taken; choose another name.") % prompt.version)
    if len(text) > MOST_CHARACTERS:
        raise Invalid.at("text", _("A prompt has at most %d characters.") % MOST_CHARACTERS)
    validate(prompt)
    lacking, unknown = template_problems(prompt.text)
    problems = []
    if lacking:
        problems.append(_("It lacks %s: without them there is no verdict to read.") % ", ".join(lacking))
    if unknown:
        known = ", ".join("{" + name + "}" for name in PLACEHOLDERS)
        problems.append(
            _("Nothing is filled into %(unknown)s; there is: %(known)s.")
            % {"unknown": ", ".join(unknown), "known": known}
        )
    if problems:
        raise Invalid.of([{"path": "text", "message": message} for message in problems])
    prompt.save()
    return prompt


@transaction.atomic
def draw_anchors(run: Run, size: int, seed: int, *, actor: User) -> int:
    """Make `size` of a run's completed responses anchors, drawn with a seed among those that are none yet; how many."""
    run = _locked(run, actor)
    if size < 1:
        raise Invalid.at("size", _("Choose at least one response."))
    rows = run.responses.filter(status=Work.Status.COMPLETED, anchor=None).values_list("pk", flat=True)
    drawn = draw([Candidate(pk) for pk in rows], "random", size, seed)
    Anchor.objects.bulk_create(Anchor(response_id=pk, added_by=actor) for pk in drawn)
    if drawn:
        data = {"added": drawn, "seed": seed}
        RunEvent.objects.create(run=run, actor=actor, kind="anchors.changed", data=data)
    return len(drawn)


@transaction.atomic
def set_anchor(response: Response, is_anchor: bool, *, actor: User) -> None:
    """Make a completed response an anchor, or none; verdicts of earlier measurements stay."""
    run = _locked(response.run, actor)
    if is_anchor and response.status != Work.Status.COMPLETED:
        raise Conflict(_("Only a completed response can be an anchor."))
    known = Anchor.objects.filter(response=response)
    if known.exists() is not is_anchor:
        if is_anchor:
            Anchor.objects.create(response=response, added_by=actor)
        else:
            known.delete()
        data = {"added" if is_anchor else "removed": [response.pk]}
        RunEvent.objects.create(run=run, actor=actor, kind="anchors.changed", data=data)


def _locked(run: Run, actor: User) -> Run:
    run = locked_run(run, actor)
    if run.state == RunState.CANCELLED:
        raise Conflict(_("The run is cancelled, so nothing of it is judged any more; take another run."))
    return run
