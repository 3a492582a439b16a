"""Many bytes at once are the bits that would have come one number after the other."""

from __future__ import annotations

import pytest

from freegap.bits import RecordedBits, SeededBits, SystemBits, drawn_bytes, last_unpaid_draw


@pytest.mark.parametrize("before", [0, 1, 8, 64, 128, 4096])
@pytest.mark.parametrize("count", [0, 1, 3, 16, 511, 512, 513, 5000])
def test_the_same_bits_in_the_same_order(before: int, count: int) -> None:
    one, other, recorded = SeededBits(5), SeededBits(5), RecordedBits(SeededBits(5))
    assert one.bits(before) == other.bits(before) == recorded.bits(before)
    expected = one.bits(8 * count).to_bytes(count, "big")
    assert drawn_bytes(other, count) == drawn_bytes(recorded, count) == expected
    assert one.bits(77) == other.bits(77) == recorded.bits(77)


@pytest.mark.parametrize("count", [1, 15, 16, 4000])
def test_the_systems_bytes_are_fresh_and_leave_a_mark(count: int) -> None:
    source = SystemBits()
    seen = set()
    for _ in range(3):
        mark = last_unpaid_draw()
        seen.add(drawn_bytes(source, count))
        assert last_unpaid_draw() is not mark
        assert all(len(drawn) == count for drawn in seen)
    assert count == 1 or len(seen) == 3
