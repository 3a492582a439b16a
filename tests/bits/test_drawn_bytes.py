"""Many bytes at once are the bits that would have come one number after the other."""

from __future__ import annotations

import os
import threading

import pytest

from freegap.bits import RecordedBits, SeededBits, SystemBits, drawn_bytes, last_unpaid_draw, not_noise


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


def test_many_of_the_systems_bytes_are_asked_for_as_they_are_and_few_are_buffered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", urandom)
    source = SystemBits()
    for count in (16, 17, 15, 15, 4000):
        assert drawn_bytes(source, count) == bytes(count)
    assert asked == [16, 17, 512, 4000]


def test_a_seeded_streams_bytes_wait_for_who_draws_from_it() -> None:
    source, drawn = SeededBits(5), list[bytes]()
    thread = threading.Thread(target=lambda: drawn.append(drawn_bytes(source, 600)))
    with source._lock:
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
        assert not drawn
    thread.join()
    assert drawn == [drawn_bytes(SeededBits(5), 600)]


@pytest.mark.parametrize("count", [1, 16, 600])
def test_what_hides_nothing_needs_nobody_who_pays_and_only_there(count: int) -> None:
    source = SystemBits()
    mark = last_unpaid_draw()
    with not_noise():
        drawn_bytes(source, count)
        source.bits(count)
        assert last_unpaid_draw() is mark
    drawn_bytes(source, count)
    assert last_unpaid_draw() is not mark
    mark = last_unpaid_draw()
    with pytest.raises(ZeroDivisionError), not_noise():
        raise ZeroDivisionError
    source.bits(1)
    assert last_unpaid_draw() is not mark
