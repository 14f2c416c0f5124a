"""What can go wrong with a call to an endpoint: a closed list of kinds, each with whether it is worth another try and
what a person can do. Imports no app; the sentences are English templates that pages translate.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .replies import Reply


@dataclass(frozen=True, slots=True)
class _About:
    retryable: bool
    remedy: str
    permanent: bool = False  # the same for every request of the run, most likely


class ErrorKind(StrEnum):
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    NETWORK = "network"
    BAD_REQUEST = "bad_request"
    AUTH = "auth"
    PAYMENT = "payment"
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    EMPTY = "empty"
    REASONING_ONLY = "reasoning_only"
    TOO_LARGE = "too_large"
    INVALID_BODY = "invalid_body"
    CANCELLED = "cancelled"
    BUDGET = "budget"
    LOST = "lost"
    TAKEN_DOWN = "taken_down"

    @property
    def retryable(self) -> bool:
        return _ABOUT[self].retryable

    @property
    def permanent(self) -> bool:
        """Several of these in a row stop a run: nothing about the single request explains them."""
        return _ABOUT[self].permanent

    @property
    def remedy(self) -> str:
        """One English sentence: what to do."""
        return _ABOUT[self].remedy


_ABOUT = {
    ErrorKind.RATE_LIMITED: _About(
        True, "Wait, or lower the endpoint's calls at once; all workers hold back together."
    ),
    ErrorKind.OVERLOADED: _About(True, "The service failed or is overloaded; try the failed ones again later."),
    ErrorKind.TIMEOUT: _About(True, "Raise the endpoint's time limits if its answers take this long."),
    ErrorKind.NETWORK: _About(
        True, "Check the endpoint's address and the connection of the machine the worker runs on."
    ),
    ErrorKind.BAD_REQUEST: _About(
        False, "Read the reply, then correct the model id, the extra request fields or the base URL.", permanent=True
    ),
    ErrorKind.AUTH: _About(
        False, "Set a valid key in the endpoint's environment variable where the worker runs.", permanent=True
    ),
    ErrorKind.PAYMENT: _About(False, "Add credit at the provider, then resume.", permanent=True),
    ErrorKind.NOT_FOUND: _About(False, "Check the endpoint's base URL and the model id.", permanent=True),
    ErrorKind.REFUSED: _About(False, "The provider or model refused this question; it counts as wrong."),
    ErrorKind.EMPTY: _About(True, "The reply had no text, also when asked again; try the failed ones again later."),
    ErrorKind.REASONING_ONLY: _About(
        True, "Only reasoning came back; raise the token limit in the extra request fields."
    ),
    ErrorKind.TOO_LARGE: _About(
        False, "Set a longest image side for the system, so that it gets smaller copies of the images."
    ),
    ErrorKind.INVALID_BODY: _About(True, "The reply was no chat completion; check that the base URL leads to the API."),
    ErrorKind.CANCELLED: _About(False, "The run was cancelled during this call."),
    ErrorKind.BUDGET: _About(False, "Raise the budget, then resume."),
    ErrorKind.LOST: _About(
        True, "The worker stopped during this call, or its generation is gone; what it cost is unknown."
    ),
    ErrorKind.TAKEN_DOWN: _About(
        False, "A picture of the question was taken down; nothing can be sent of it any more."
    ),
}


class CallError(Exception):
    """A call that brought no usable reply. `reply` is what did arrive (status, body, usage), or None.

    retryable overrides what its kind says. retry_after: seconds the endpoint asked for, or None. unfinished: the
    generation that was asked after may go on at the endpoint all the same.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        reply: "Reply | None" = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
    ):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.reply = reply
        self.retry_after = retry_after
        self.retryable = kind.retryable if retryable is None else retryable
        self.unfinished = False

    @property
    def status(self) -> int | None:
        return self.reply.http_status if self.reply else None

    @property
    def body(self) -> str:
        return self.reply.body if self.reply else ""

    @property
    def content_type(self) -> str:
        return self.reply.content_type if self.reply else ""


_BY_STATUS = {
    400: ErrorKind.BAD_REQUEST,
    401: ErrorKind.AUTH,
    402: ErrorKind.PAYMENT,
    403: ErrorKind.AUTH,
    404: ErrorKind.NOT_FOUND,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.OVERLOADED,
    410: ErrorKind.NOT_FOUND,
    413: ErrorKind.TOO_LARGE,
    425: ErrorKind.OVERLOADED,
    429: ErrorKind.RATE_LIMITED,
    451: ErrorKind.REFUSED,
    504: ErrorKind.TIMEOUT,
    524: ErrorKind.TIMEOUT,
}
# What the services call these in `code` or `type` when there is no number.
_BY_NAME = {
    "insufficient_quota": ErrorKind.PAYMENT,
    "billing_error": ErrorKind.PAYMENT,
    "rate_limit_error": ErrorKind.RATE_LIMITED,
    "rate_limit_exceeded": ErrorKind.RATE_LIMITED,
    "authentication_error": ErrorKind.AUTH,
    "invalid_api_key": ErrorKind.AUTH,
    "permission_error": ErrorKind.AUTH,
    "not_found_error": ErrorKind.NOT_FOUND,
    "model_not_found": ErrorKind.NOT_FOUND,
    "request_too_large": ErrorKind.TOO_LARGE,
    "invalid_request_error": ErrorKind.BAD_REQUEST,
    "timeout_error": ErrorKind.TIMEOUT,
    "content_filter": ErrorKind.REFUSED,
    "content_policy_violation": ErrorKind.REFUSED,
    "moderation_blocked": ErrorKind.REFUSED,
    # of a generation that failed, by the Responses API
    "server_error": ErrorKind.OVERLOADED,
    "invalid_prompt": ErrorKind.REFUSED,
    "bio_policy": ErrorKind.REFUSED,
    "image_content_policy_violation": ErrorKind.REFUSED,
    "image_too_large": ErrorKind.TOO_LARGE,
    "image_file_too_large": ErrorKind.TOO_LARGE,
    "invalid_image": ErrorKind.BAD_REQUEST,
    "invalid_image_format": ErrorKind.BAD_REQUEST,
    "invalid_image_url": ErrorKind.BAD_REQUEST,
    "image_parse_error": ErrorKind.BAD_REQUEST,
    "failed_to_download_image": ErrorKind.BAD_REQUEST,
}
_MODERATION = (
    "moderation",
    "content_filter",
    "content filter",
    "content policy",
    "content_policy",
    "flagged",
    "safety",
)


def classify(status: int, names: tuple[str, ...] = (), message: str = "") -> ErrorKind:
    """The kind of an error: by the service's own names for it, by its words (moderation), by its HTTP status.

    status: the HTTP status, or the error's own code when it came inside a 200; 0 when there is neither.
    """
    known = [_BY_NAME[name] for name in names if name in _BY_NAME]
    # out of credit is also sent as 429, and waiting does not help
    for kind in (ErrorKind.PAYMENT, ErrorKind.REFUSED):
        if kind in known:
            return kind
    if status in (400, 403) and any(word in f"{message} {' '.join(names)}".casefold() for word in _MODERATION):
        return ErrorKind.REFUSED
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 500:
        return ErrorKind.BAD_REQUEST
    return known[0] if known else ErrorKind.OVERLOADED
