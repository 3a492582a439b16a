from __future__ import annotations

import numpy as np

from freegap.bits import RecordedBits, ReplayedBits, SeededBits
from freegap.exact.digits import FIRST_DIGITS, KeyedDigits


def test_a_stream_is_the_first_digits_and_then_the_blocks() -> None:
    digits = KeyedDigits(SeededBits(1), 100)
    first = digits.first()
    blocks = [digits.block(word, 0, np.arange(100)) for word in range(2)]
    for item in (0, 7, 8, 99):
        read = digits.stream(item)
        assert read(FIRST_DIGITS) == first[item]
        for block in blocks:
            assert [read(64), read(64)] == block[item].tolist()


def test_streams_are_the_same_in_any_portions() -> None:
    digits = KeyedDigits(SeededBits(1), 10)
    for rank in (0, 3):
        whole = digits.stream(5, rank)(300)
        read = digits.stream(5, rank)
        pieces = "".join(format(read(n), f"0{n}b") for n in (1, 2, 3, 94, 200))
        assert int(pieces, 2) == whole


def test_no_two_places_share_digits() -> None:
    """Every block of every stream, and the first digits taken eight at a time, are distinct."""
    n = 4096
    digits = KeyedDigits(SeededBits(2), n)
    seen = {bytes(block) for block in digits.first().reshape(-1, 8)}
    for word in range(3):
        for rank in range(4):
            seen |= {bytes(row) for row in digits.block(word, rank, np.arange(n))}
    assert len(seen) == n // 8 + 12 * n


def test_another_key_gives_other_digits() -> None:
    source = SeededBits(2)
    assert (KeyedDigits(source, 64).first() != KeyedDigits(source, 64).first()).any()


def test_many_first_digits_equal_those_of_the_streams() -> None:
    # More than one buffer of zeros is needed here.
    n = 700_000
    digits = KeyedDigits(SeededBits(3), n)
    first = digits.first()
    assert len(first) == n
    for item in (0, 524_287, 524_288, n - 1):
        assert digits.stream(item)(FIRST_DIGITS) == first[item]


def test_a_block_of_one_stream_is_that_of_many() -> None:
    digits = KeyedDigits(SeededBits(4), 10**4)
    for item in (0, 5, 8191, 8192, 9999):
        for word in (0, 1, 7):
            for rank in (0, 3):
                alone = digits.block(word, rank, range(item, item + 1))
                assert np.array_equal(alone, digits.block(word, rank, np.array([item])))


def test_the_key_is_the_next_256_bits() -> None:
    """Of every kind of source: some hand out bytes, others integers."""
    key = SeededBits(7).bits(256)
    for source in (SeededBits(7), RecordedBits(SeededBits(7)), ReplayedBits(format(key, "0256b"))):
        assert KeyedDigits(source, 64)._algorithm.key == key.to_bytes(32, "big")
