"""A release is a function of its input and its bits, and that function does not change unawares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import freegap as fg
from tests.recorded.cases import CASES
from tests.recorded.cases_rho import CASES_IN_RHO
from tests.recorded.digests import FILE_IN_RHO, digest_of, read

RECORDED, IN_RHO = read(), read(FILE_IN_RHO)


def test_every_case_is_recorded() -> None:
    assert (list(RECORDED), list(IN_RHO)) == (sorted(CASES), sorted(CASES_IN_RHO))
    assert sum(entry["releases"] for entry in RECORDED.values()) > 3000


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_give_the_same_releases(name: str) -> None:
    assert digest_of(CASES[name]) == RECORDED[name]


@pytest.mark.parametrize("name", CASES_IN_RHO)
def test_the_same_bits_give_the_same_releases_in_rho(name: str) -> None:
    assert digest_of(CASES_IN_RHO[name]) == IN_RHO[name]


def test_a_digest_sees_one_gap_one_label_one_bit_and_one_charge() -> None:
    def case(change: Any, bits: fg.SeededBits) -> Iterator[Any]:
        for _ in range(3):
            yield fg.noisy_top_k({"a": 5, "b": 4, "c": 3}, 2, epsilon=1, bits=bits)
        last = fg.noisy_top_k({"a": 5, "b": 4, "c": 3}, 2, epsilon=1, bits=bits)
        yield change(last, bits)

    def reading(release: fg.TopK, bits: fg.SeededBits) -> fg.TopK:
        bits.bits(1)
        return release

    changes = [
        lambda release, bits: release,
        lambda release, bits: replace(release, gap_multiples=(release.gap_multiples[0] + 1, 7)),
        lambda release, bits: replace(release, labels=release.labels[::-1]),
        lambda release, bits: replace(release, spent=release.spent / 2),
        reading,
    ]
    digests = {digest_of(lambda bits, c=change: case(c, bits))["sha256"] for change in changes}  # type: ignore[misc]
    assert len(digests) == len(changes)
