"""Which bits are taken, to the last one, and under which lock; what is no number of bits."""

from __future__ import annotations

import os
from typing import Any

import pytest

import freegap as fg
from freegap.bits import _Reservoir
from freegap.errors import InvalidArgument


@pytest.mark.parametrize("n", [-1, True, False, 1.0, "3", None], ids=repr)
def test_what_is_no_number_of_bits_is_refused_by_every_source(n: Any) -> None:
    """A negative number would make a buffer hand out zeros later."""
    recorded = fg.RecordedBits(fg.SeededBits(1))
    for source in (fg.SystemBits(), fg.SeededBits(1), fg.ReplayedBits("0101"), recorded):
        with pytest.raises(InvalidArgument, match="must be a whole number of at least 0"):
            source.bits(n)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 4095, 4096, 4097, 4103, 4104, 4105])
@pytest.mark.parametrize("before", [0, 1, 8, 4095])
def test_a_seeded_stream_is_cut_to_the_bit(before: int, n: int) -> None:
    whole = fg.SeededBits("stream").bits(9000)
    source = fg.SeededBits("stream")
    assert source.bits(before) == whole >> (9000 - before)
    assert source.bits(n) == (whole >> (9000 - before - n)) & ((1 << n) - 1)


def test_requests_of_the_system_and_what_is_made_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes([0x80, *[0] * (count - 2), 0x81])

    monkeypatch.setattr(os, "urandom", urandom)
    source = fg.SystemBits()
    assert source.bits(128) == (0x80 << 120) | 0x81
    assert source.bits(129) == ((0x80 << 128) | 0x81) >> 7
    assert source.bits(135) == ((0x80 << 128) | 0x81) >> 1
    assert asked == [16, 17, 17]  # nothing is kept of them
    assert source.bits(127) == 1 << 126
    assert asked == [16, 17, 17, 512]
    drawn = [source.bits(127) for _ in range(31)]
    assert drawn == [0] * 31
    assert asked == [16, 17, 17, 512]  # 32 · 127 bits of 4,096 are gone
    assert source.bits(32) == 0x81
    assert asked == [16, 17, 17, 512]  # all of it, to the last bit
    assert source.bits(1) == 1
    assert asked == [16, 17, 17, 512, 512]


@pytest.mark.parametrize("kind", [fg.SystemBits, fg.SeededBits])
def test_bits_are_taken_under_the_lock(kind: Any) -> None:
    source = kind() if kind is fg.SystemBits else kind(1)
    seen: list[bool] = []

    class Watched(_Reservoir):
        __slots__ = ()

        def fill(self, data: bytes) -> None:
            seen.append(source._lock.locked())
            super().fill(data)

        def take(self, n: int) -> int:
            seen.append(source._lock.locked())
            return super().take(n)

    source._reservoir = Watched()
    source.bits(8)
    source.bits(8)
    assert seen == [True, True, True]
    assert not source._lock.locked()


def test_seeds_of_every_size_and_kind() -> None:
    seeds: list[Any] = [0, 1, -1, "1", b"1", 10**1000 - 1, 10**1000, -(10**1000), "\udc80", "", b""]
    assert len({fg.SeededBits(seed).bits(128) for seed in seeds}) == len(seeds)
    assert repr(fg.SeededBits("a")) == "SeededBits('a')"
    with pytest.raises(InvalidArgument, match="must be an integer, a string or bytes"):
        fg.SeededBits(True)


def test_a_recording_of_no_bits_is_empty() -> None:
    recorder = fg.RecordedBits(fg.SeededBits(1))
    assert recorder.bits(0) == 0
    assert recorder.record == ""
    recorder.bits(5)
    assert len(recorder.record) == 5
