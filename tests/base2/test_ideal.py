"""Ilvento 2020's program on scripted noise, one case by hand."""

from __future__ import annotations

from fractions import Fraction

from freegap.base2 import ideal
from freegap.forms import Known


def test_it_goes_on_below_the_threshold_and_stops_after_k_above() -> None:
    """Answers −3, 4, −1, 9, 9 with a noisy threshold of 1 and no other noise; gaps of 2 and 6; k = 2."""
    noise = Known({"threshold": 1} | dict.fromkeys(range(5), 0))
    form = ideal.form(k=2, eta=(Fraction(1), Fraction(1)), width=100, gaps=(2, 6))
    output = form.program([-3, 4, -1, 9, 9], noise)
    assert output == [None, 1, None, 2]
    assert form.charge is not None
    assert form.charge(output) == 2
