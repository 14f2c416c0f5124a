"""Kombu's filesystem transport with whole-file writes: a message appears under its name only when complete.

The stock transport lets a reader pick up half a file, which loses the message and crashes the worker, and takes
messages by way of /tmp, where another file system makes two readers of one. A file that a crash left in pieces all the
same is passed over: messages are wake-ups, and the sweeps send others.
"""

import os
import time
import uuid
from queue import Empty
from typing import Any

import structlog
from kombu.transport import filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps, loads

log = structlog.get_logger(__name__)


class Channel(filesystem.Channel):
    def _put(self, queue: Any, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020d}_{uuid.uuid4()}.{queue}.msg"
        hidden = os.path.join(self.data_folder_out, f".{name}.tmp")
        try:
            with open(hidden, "wb") as file:
                file.write(str_to_bytes(dumps(payload)))
            os.rename(hidden, os.path.join(self.data_folder_out, name))
        except OSError:
            if os.path.exists(hidden):
                os.remove(hidden)
            raise

    def _get(self, queue: Any) -> Any:  # type: ignore[override]
        folder = self.data_folder_in
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = os.path.join(folder, f".{name}.taken")
            try:
                os.rename(os.path.join(folder, name), taken)  # for one reader only
            except FileNotFoundError:
                continue
            with open(taken, "rb") as file:
                text = file.read()
            os.remove(taken)
            try:
                message = loads(text.decode())
                if isinstance(message, dict):
                    return message
            except ValueError:
                pass
            log.warning("message_unreadable", name=name, bytes=len(text))
        raise Empty


class Transport(filesystem.Transport):
    Channel = Channel
