"""Domain errors: what an action raises when it wrote nothing. Pages and the API turn them into 403, 409 and 422."""

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


class Conflict(DomainError):
    """Somebody else changed it meanwhile, or its state moved on."""

    status, code = 409, "conflict"


class Invalid(DomainError):
    """The data cannot be accepted. `problems` is a list of {path, message}."""

    status, code = 422, "invalid"

    def __init__(self, message: str, *, problems: list[dict[str, str]] | None = None, **kwargs: Any):
        super().__init__(message, problems=problems or [], **kwargs)
