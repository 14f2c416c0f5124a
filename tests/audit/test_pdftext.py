"""What a PDF says, whatever it is: read in time, or said why not."""

import io
import time

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from audit import pdftext
from audit.pdftext import PdfText, read_pdf


def pdf_of(*pages: str, title: str = "", password: str | None = None) -> bytes:
    """A PDF whose pages say the texts, line by line; a page with "" says nothing."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    named = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(named)})
    for text in pages:
        page = writer.add_blank_page(300, 300)
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.splitlines())
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 250 Td {lines} ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(content)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_text_of_all_pages_with_the_title_and_parted_words_joined() -> None:
    body = pdf_of("The bridge was re-\nbuilt in 1889", "by two brothers.", title="A report")
    assert read_pdf(body) == PdfText("A report", "The bridge was rebuilt in 1889 by two brothers.")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (pdf_of("secret", password="word"), "encrypted"),
        (pdf_of("", ""), "scanned"),
        (b"", "broken"),
        (b"%PDF-1.7\nnothing of the kind", "broken"),
        (pdf_of("some text")[:200], "broken"),
    ],
    ids=["encrypted", "scanned", "empty", "no PDF", "cut off"],
)
def test_pdf_that_cannot_be_read_says_why(body: bytes, problem: str) -> None:
    assert read_pdf(body).problem == problem and read_pdf(body).text == ""


def test_pdf_that_is_only_kept_from_changes_is_read() -> None:
    assert read_pdf(pdf_of("for all to read", password="")).text == "for all to read"


def test_pages_and_time_are_limited() -> None:
    body = pdf_of("one", "two", "three")
    assert pdftext._read(body, 2, 60) == PdfText("", "one two", cut=True)
    assert pdftext._read(body, 3, 60).cut is False
    assert pdftext._read(body, 3, -1) == PdfText("", "", cut=True)


def test_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdftext, "_KILLED", 0.01)
    begun = time.monotonic()
    assert read_pdf(pdf_of("one")).problem == "slow" and time.monotonic() - begun < 5
