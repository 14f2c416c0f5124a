"""Whether the model that answered is the one that was asked for. PURE."""

import re

DEMO = " (demo)"  # the demo server's mark
# Routing variants of OpenRouter: the same model at another price or provider. Tags of others (llama3:8b) are no such.
_ROUTES = (":free", ":online", ":nitro", ":floor", ":exacto")
_MONTH, _DAY = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
# -2026-01-01, -20260101, -260101, -2601, -0613, -002, @20260101
_DATE = re.compile(
    rf"-20\d\d-{_MONTH}-{_DAY}|[-@]20\d\d{_MONTH}{_DAY}|-2\d{_MONTH}{_DAY}|-2\d{_MONTH}|-{_MONTH}{_DAY}|-00\d"
)


def _plain(name: str) -> str:
    name = name.strip().casefold().removesuffix(DEMO)
    return next((name.removesuffix(route) for route in _ROUTES if name.endswith(route)), name)


def same_model(requested: str, returned: str) -> bool:
    """Whether a returned model id counts as the requested one; so does "", which claims nothing.

    The same are: other letter cases, a dated or numbered version of what was asked for without one ("x" or "x-latest",
    "x-2026-01-01"), a provider before it on one side ("vendor/x"), a router's variant ("x:free"), the demo's mark. A
    date that was asked for must come back: another one, or none, is another model.
    """
    if not returned.strip():
        return True
    asked, came = _plain(requested), _plain(returned)
    if "/" not in asked or "/" not in came:
        asked, came = asked.rpartition("/")[2], came.rpartition("/")[2]
    if asked == came:
        return True
    asked = asked.removesuffix("-latest")
    return came == asked or (came.startswith(asked) and bool(_DATE.fullmatch(came[len(asked) :])))
