"""Model validation as a domain error. Imports no app."""

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.db.models import Model

from .errors import Invalid


def validate(row: Model, exclude: Collection[str] = ()) -> None:
    """Raises Invalid naming each field of the row that cannot be saved as it is."""
    try:
        row.full_clean(exclude=exclude)
    except ValidationError as error:
        problems = [{"path": f, "message": m} for f, ms in error.message_dict.items() for m in ms]
        raise Invalid.of(problems) from error
