"""Sending wake-ups: a queue that is down must not fail the write that is already committed; the sweep catches up."""

from typing import Any

import structlog
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)


def send(task: Any, *args: Any) -> bool:
    """Whether the message went out; where not, further ones need not be tried at once."""
    try:
        task.apply_async(args, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("queue_unreachable", task=task.name, error=str(error))
        return False
    return True
