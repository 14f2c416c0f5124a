"""Domain errors: what an action raises when it wrote nothing. Pages and the API turn them into 403, 409 and 422."""

from collections.abc import Sequence
from typing import Any


class DomainError(Exception):
    """Carries a code for programs, a sentence for people, and details (plain JSON values)."""

    status = 400
    code = "error"

    def __init__(self, message: str, *, code: str | None = None, **details: Any):
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.details = details


class NotAllowed(DomainError):
    """The person may not do this, now or ever; the sentence says why."""

    status, code = 403, "not_allowed"


class NotThere(DomainError):
    """The address names something that is not there, or no longer; the sentence says what."""

    status, code = 404, "not_found"


class Conflict(DomainError):
    """Somebody else changed it meanwhile, or its state moved on."""

    status, code = 409, "conflict"


class Gone(DomainError):
    """It was here and was taken away for good; the sentence says why."""

    status, code = 410, "gone"


class Invalid(DomainError):
    """The data cannot be accepted. `problems` is a list of {path, message}."""

    status, code = 422, "invalid"

    def __init__(self, message: str, *, problems: Sequence[dict[str, str]] = (), **kwargs: Any):
        super().__init__(message, problems=list(problems), **kwargs)

    @classmethod
    def at(cls, path: str, message: str, *, code: str = "invalid") -> "Invalid":
        """One problem, with the field it is about."""
        return cls(message, code=code, problems=[{"path": path, "message": message}])

    @classmethod
    def of(cls, problems: Sequence[dict[str, str]]) -> "Invalid":
        """Several problems; the sentence names them all."""
        return cls("; ".join(f"{p['path']}: {p['message']}" for p in problems), problems=problems)
