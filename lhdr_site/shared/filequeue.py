"""Kombu's filesystem transport with whole-file writes: a message appears under its name only when complete.

The stock transport lets a reader pick up half a file, which loses the message and crashes the worker.
"""

import os
import time
import uuid
from typing import Any

from kombu.transport import filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: Any, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020d}_{uuid.uuid4()}.{queue}.msg"
        hidden = os.path.join(self.data_folder_out, f".{name}.tmp")
        with open(hidden, "wb") as file:
            file.write(str_to_bytes(dumps(payload)))
        os.rename(hidden, os.path.join(self.data_folder_out, name))


class Transport(filesystem.Transport):
    Channel = Channel
