"""What runs alike share cannot be written to: a second run would have other chances."""

from __future__ import annotations

from fractions import Fraction

import pytest

from freegap.base2.batch import threshold_words
from freegap.base2.weights import Weights


def test_a_table_that_runs_share_cannot_be_changed() -> None:
    table = threshold_words(Weights(Fraction(3, 4), 6), 5, 64)
    assert threshold_words(Weights(Fraction(3, 4), 6), 5, 64) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0
