"""Statements are built once and most values pass by the fields; rows come back as the ORM writes them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from evaluation.models import Attempt
from evaluation.rows import insert_row, update_row
from lhdr_site.endpoints.errors import ErrorKind

from .setting import Setting


def test_values_of_every_type_come_back_as_the_orm_writes_them(setting: Setting) -> None:
    response = setting.launch().responses.first()
    assert response is not None
    values: dict[str, Any] = dict.fromkeys(
        (
            "verdict",
            "labelling",
            "probe",
            "grade_check",
            "tryout",
            "judge",
            "ended",
            "prompt_tokens",
            "completion_tokens",
        )
    )
    values |= dict.fromkeys(("content_type", "model", "provider", "fingerprint", "generation", "awaited", "error"), "")
    values |= {
        "owner": uuid4(),
        "started": datetime(2026, 11, 30, 12, tzinfo=UTC),
        "request": {"messages": ["100 % of “it”", None, 1.5]},
        "requested_model": "50%s-model",
        "http_status": "200",  # as a field of whole numbers takes it
        "error_kind": ErrorKind.TIMEOUT,
        "body": "line\nline",
        "taken_up": True,
        "cost": Decimal("0.1234567"),
        "priced": 1,
    }
    written = Attempt.objects.get(pk=insert_row(Attempt, response=response.pk, **values))
    relations = ("verdict", "labelling", "probe", "grade_check", "tryout", "judge")
    of_orm = {f"{name}_id" if name in relations else name: value for name, value in values.items()}
    by_orm = Attempt.objects.get(pk=Attempt.objects.create(response=response, **of_orm).pk)
    names = [field.attname for field in Attempt._meta.concrete_fields if field.name not in ("id", "started")]
    assert {name: getattr(written, name) for name in names} == {name: getattr(by_orm, name) for name in names}
    assert written.started == values["started"]  # the ORM puts its own moment there

    assert update_row(Attempt, {"id": written.pk, "owner": written.owner}, cost=None, request={"a": "b"}) == 1
    assert update_row(Attempt, {"id": written.pk, "owner": uuid4()}, error="somebody else's") == 0
    written.refresh_from_db()
    assert (written.cost, written.request, written.error) == (None, {"a": "b"}, "")
