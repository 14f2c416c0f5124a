"""Why a run stopped, or pauses, by itself: facts, which are put in words when they are shown."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lhdr_site.endpoints.errors import ErrorKind


class Stop(StrEnum):
    BUDGET = "budget"
    STUDY_BUDGET = "study_budget"
    TOO_LITTLE = "too_little"
    HELD_BACK = "held_back"  # its endpoint's breaker opened: endpoint_id, endpoint, reason
    ERRORS = "errors"  # permanent ones in a row: error_kind, error
    MODEL = "model"  # it pauses: who, requested, returned


_SENTENCES = {
    Stop.BUDGET: gettext_lazy("The budget is used up."),
    Stop.STUDY_BUDGET: gettext_lazy("The budget of its study is used up."),
    Stop.TOO_LITTLE: gettext_lazy("What is left of the budget does not pay for one more call."),
    Stop.HELD_BACK: gettext_lazy("No call is made to %(endpoint)s until a person lets it try again: %(reason)s"),
    Stop.ERRORS: "%(error)s",
    Stop.MODEL: gettext_lazy("%(who)s was asked for as %(requested)s, and %(returned)s answered."),
}
BUDGET_STOPS = (Stop.BUDGET, Stop.STUDY_BUDGET, Stop.TOO_LITTLE)


def words_of_stop(facts: Mapping[str, Any]) -> str:
    """Why, and what to do; "" without facts, where a run goes on or a person paused it."""
    if not facts:
        return ""
    why = Stop(facts["why"])
    sentence = str(_SENTENCES[why]) % facts
    kind = ErrorKind.BUDGET if why in BUDGET_STOPS else facts.get("error_kind")
    return f"{sentence} {_(ErrorKind(kind).remedy)}" if kind else sentence
