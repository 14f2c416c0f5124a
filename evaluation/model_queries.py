"""Which models answered in a run, as their replies named them."""

from collections import Counter
from typing import Any, NamedTuple

from django.db.models import Count

from lhdr_site.endpoints.model_names import same_model

from .models import Run, Work


class ModelRow(NamedTuple):
    """A model as the replies named it: of the system's answers, or of one judge's verdicts and labels."""

    who: str
    judge: int | None  # or who labels
    requested: str
    returned: str
    calls: int
    accepted: bool

    @property
    def is_same(self) -> bool:
        return same_model(self.requested, self.returned)

    @property
    def is_strange(self) -> bool:
        """Another model than the one asked for, and nobody accepted it."""
        return not self.is_same and not self.accepted


def models_of(run: Run) -> list[ModelRow]:
    """Which models answered and judged, with how many responses, verdicts and labellings each."""

    def counted(rows: Any, *names: str) -> Any:
        rows = rows.filter(status=Work.Status.COMPLETED).exclude(returned_model="").order_by()
        return rows.values_list(*names, "returned_model").annotate(n=Count("pk")).order_by(*names, "returned_model")

    found = Counter({(run.system.name, None, run.system.model, model): n for model, n in counted(run.responses)})
    judged = counted(run.verdicts, "judge__name", "judge", "judge__model")
    labelled = counted(run.labellings, "labeller__name", "labeller", "labeller__model")
    for *key, calls in (*judged, *labelled):
        found[tuple(key)] += calls
    return [
        ModelRow(who, judge, requested, returned, calls, returned in run.models_accepted)
        for (who, judge, requested, returned), calls in found.items()
    ]
