from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freegap.receipts.canonical import NotCanonical, canonical, parsed, read_json

# RFC 8785, appendix B: the bits of a double, and its text.
DOUBLES = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
}


@pytest.mark.parametrize(("bits", "text"), DOUBLES.items())
def test_doubles_are_written_as_the_rfc_writes_them(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value).decode() == text
    assert parsed(text.encode()) == value


def test_names_are_in_the_order_of_utf_16() -> None:
    """RFC 8785, section 3.2.3: the smiling face, beyond the basic plane, is before the ligature."""
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\u00f6"]
    text = canonical(dict.fromkeys(names, 0)).decode()
    assert list(json.loads(text)) == ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]
    assert canonical('€$\x0f\nA\'B"\\\\"/\x7f') == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f"'.encode()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_what_is_written_is_read_and_means_the_same(value: object) -> None:
    text = canonical(value)
    assert parsed(text) == value
    assert canonical(json.loads(text, parse_int=float)) == text


OTHER_TEXTS = [
    b"",
    b" 1",
    b"1 ",
    b"1.0",
    b"01",
    b"-0",
    b"1E2",
    b"1e2",
    b"NaN",
    b"Infinity",
    b"1e999",
    b'"\\u0041"',
    b'"\\/"',
    b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    b"\xef\xbb\xbf1",
    b'{"b":1,"a":2}',
    b'{"a":1,"a":1}',
    b'{"a":1,"\\u0061":2}',
    b'{"a": 1}',
    b"[1,]",
    b"[1]]",
    b"[" * 100_000,
    b"[" * 50 + b"]" * 50,
    b"9" * 5000,
    b"-" + b"9" * 401,
    b"0." + b"0" * 500 + b"1",
    b"9007199254740993",
    "１".encode(),
]


@pytest.mark.parametrize("text", OTHER_TEXTS, ids=lambda text: repr(text[:20]))
def test_no_other_text_is_read(text: bytes) -> None:
    with pytest.raises(NotCanonical):
        parsed(text)


@pytest.mark.parametrize(
    "value", [2**53 + 1, math.nan, -math.inf, "\ud800", {"\udfff": 1}, {1: 2}, {1, 2}, b"a", 1j]
)
def test_what_has_no_text_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical(value)


def test_a_release_may_be_laid_out_but_says_each_thing_once() -> None:
    assert read_json(b'{ "a": [1.0, "\\u0041"] }') == {"a": [1, "A"]}
    with pytest.raises(NotCanonical, match="twice"):
        read_json(b'{"a":1,"a":2}')
