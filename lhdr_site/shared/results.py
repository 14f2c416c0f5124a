"""What a permission answers: Allowed, or Denied with the reason a person reads. Page, API and action use the same."""

from dataclasses import dataclass
from typing import NoReturn

from .errors import NotAllowed


@dataclass(frozen=True, slots=True)
class Allowed:
    reason: str = ""

    def __bool__(self) -> bool:
        return True

    def require(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Denied:
    reason: str

    def __bool__(self) -> bool:
        return False

    def require(self) -> NoReturn:
        raise NotAllowed(self.reason)


Answer = Allowed | Denied
