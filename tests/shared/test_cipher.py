"""The canary cipher: hand-worked bytes, both ways, and wrong canaries."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lhdr_site.shared.cipher import WrongCanary, decrypt, encrypt

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=200)


def test_encrypt_of_one_letter_is_its_xor_with_the_digest():
    # SHA-256("abc") begins with ba; "A" is 41; 41 xor ba = fb; base64 of the byte fb is "+w==".
    assert encrypt("A", "abc") == "+w=="
    assert decrypt("+w==", "abc") == "A"


def test_key_repeats_after_32_bytes():
    # 64 equal bytes: the second half of the cipher bytes equals the first, so the token's bytes have period 32.
    data = base64.b64decode(encrypt("x" * 64, "canary"))
    assert len(data) == 64 and data[:32] == data[32:]


@given(TEXT, st.text(st.characters(exclude_categories=("Cs",))))
def test_decrypt_undoes_encrypt(text, password):
    assert decrypt(encrypt(text, password), password) == text


def test_text_keeps_tabs_and_line_ends():
    assert decrypt(encrypt("a\tb\r\nc", "p"), "p") == "a\tb\r\nc"


@pytest.mark.parametrize(
    ("token", "password"),
    [
        ("not base64!", "p"),
        ("Jg=", "p"),  # padding cut off
        ("é", "p"),
        (encrypt("a conclusion that is long enough to show it", "right"), "wrong"),  # no UTF-8
        (encrypt("a\x01b", "p"), "p"),  # a control character
    ],
)
def test_decrypt_of_what_was_not_encrypted_with_the_canary_says_wrong_canary(token, password):
    with pytest.raises(WrongCanary, match=r"^wrong canary$"):
        decrypt(token, password)


def test_published_rows_come_back_byte_for_byte(cases):
    lines = (cases / "mm_browsecomp.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        for token in [row["question"], row["answer"], *row["checklist"]]:
            assert encrypt(decrypt(token, row["canary"]), row["canary"]) == token
    assert len(lines) == 224
