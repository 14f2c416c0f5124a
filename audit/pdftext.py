"""What a fetched PDF says. PURE: imports no Django.

The file is read in a process of its own: whatever a stranger's PDF does to its reader, it ends in time, within its
memory, and harms nobody else.
"""

import io
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Final

TYPES: Final = ("application/pdf", "application/x-pdf")
MAX_PAGES: Final = 300
MAX_CHARACTERS: Final = 2_000_000
SECONDS: Final = 15  # after which no further page is begun
_KILLED: Final = 25  # seconds after which the reader is ended amid a page
_MEMORY: Final = 1 << 30  # bytes that the reader may take


@dataclass(frozen=True, slots=True)
class PdfText:
    """White space is collapsed. `problem`: encrypted, scanned (no text on any page), broken, or slow; then no text.

    `cut`: there is more than the limits allow to read.
    """

    title: str = ""
    text: str = ""
    problem: str = ""
    cut: bool = False


def read_pdf(body: bytes) -> PdfText:
    """Title and text of a PDF, within the limits above. Never raises for what the bytes are."""
    try:
        done = subprocess.run([sys.executable, "-m", __name__], input=body, capture_output=True, timeout=_KILLED)
    except subprocess.TimeoutExpired:
        return PdfText(problem="slow")
    return PdfText(**json.loads(done.stdout)) if done.returncode == 0 else PdfText(problem="broken")


def _read(body: bytes, pages: int, seconds: float) -> PdfText:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    until = time.monotonic() + seconds
    reader = PdfReader(io.BytesIO(body))
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            return PdfText(problem="encrypted")
    except DependencyError:
        return PdfText(problem="encrypted")
    said: list[str] = []
    length = 0
    for page in reader.pages[:pages]:
        if time.monotonic() > until or length > MAX_CHARACTERS:
            break
        # A word that is parted at the end of a line is one word.
        said.append(re.sub(r"(?<=[^\W\d_])-\s*\n\s*(?=[^\W\d_])", "", page.extract_text()))
        length += len(said[-1])
    cut = len(said) < len(reader.pages)
    text = " ".join(" ".join(said).replace("\0", " ").split())
    title = " ".join(str(reader.metadata.title or "").replace("\0", " ").split()) if reader.metadata else ""
    return PdfText(title, text, cut=cut) if text or cut else PdfText(title, problem="scanned")


def _main() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    found = _read(sys.stdin.buffer.read(), MAX_PAGES, SECONDS)
    sys.stdout.write(json.dumps(asdict(found)))


if __name__ == "__main__":
    _main()
