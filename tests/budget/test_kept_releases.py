"""A release that was paid for is kept with its charge and can be had again for nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap import InvalidArgument, Ledger
from freegap.budget import arguments

ODD = {"tea\x00\udc80": 900, "milk": 3, "é": 1}


def test_it_is_what_it_was(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    made = fg.noisy_top_k(ODD, 2, epsilon=1, ledger=(ledger, "shop"))
    returned = ledger.charge("shop", lambda: fg.measure(ODD, epsilon=1), epsilon=1, what="measure")
    assert ledger.release(2) == json.loads(json.dumps(made.to_dict()))
    assert ledger.release(4) == json.loads(json.dumps(returned.to_dict()))
    assert ledger.account("shop").spent == 2
    assert ledger.verify().ok


def test_what_is_not_a_private_release_of_freegap_is_not_kept(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=9)
    stale = fg.noisy_max([3, 1], epsilon=1)
    releases: list[Any] = [
        lambda: fg.noisy_max([3, 1], epsilon=1, bits=fg.SeededBits(1)),  # not private: it tells the answers
        lambda: [3, 1],
        lambda: stale,  # made before, and not paid for here
        lambda: (fg.noisy_max([3, 1], epsilon=1), [3, 1]),
    ]
    for release in releases:
        ledger.charge("shop", release, epsilon=1, what="a")
    ledger.reserve("shop", 1, what="open")
    ledger.reserve("shop", 1, what="given back").abandon("no file")
    assert [entry.parameters for entry in ledger.entries()] == [{}] * 12
    for line in (1, 2, 4, 6, 8, 10, 11, 99):
        with pytest.raises(InvalidArgument, match="is not the line of a release that is kept"):
            ledger.release(line)
    with pytest.raises(InvalidArgument, match="number"):
        ledger.release(0)


def test_one_that_is_too_long_is_not_kept_and_charged_all_the_same(
    file_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_LONGEST_RELEASE", 100)
    fg.noisy_max([3, 1], epsilon=1, ledger=(file_ledger, "shop"))
    assert file_ledger.account("shop").spent == Fraction(1)
    with pytest.raises(InvalidArgument, match="is not the line"):
        file_ledger.release(2)


def test_a_release_that_cannot_be_written_down_is_not_lost(
    file_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: fg.TopK) -> dict[str, Any]:
        raise RuntimeError("a label without a text")

    monkeypatch.setattr(fg.TopK, "to_dict", broken)
    assert fg.noisy_max([900, 3], epsilon=1, ledger=(file_ledger, "shop")).spent == 1
    assert file_ledger.account("shop").spent == 1
