"""Model validation as a domain error. Imports no app."""

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.db.models import Model
from django.utils.translation import gettext as _

from .errors import Invalid


def validate(row: Model, exclude: Collection[str] = ()) -> None:
    """Raises Invalid naming each field of the row that cannot be saved as it is."""
    try:
        row.full_clean(exclude=exclude)
    except ValidationError as error:
        problems = [
            {"path": _taken(one) or name, "message": _("This is taken already; choose another.") if _taken(one) else m}
            for name, ones in error.error_dict.items()
            for one in ones
            for m in one.messages
        ]
        raise Invalid.of(problems) from error


def _taken(error: ValidationError) -> str:
    """The last field of several that another row has the same values in; "" of every other error."""
    return str(error.params["unique_check"][-1]) if error.code == "unique_together" and error.params else ""
