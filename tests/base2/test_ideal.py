"""Ilvento 2020's program on scripted noise, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from freegap.base2 import ideal
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise


class Scripted(LabelledNoise[int]):
    """Noise whose values are written down; the scales that it is asked for are kept."""

    def __init__(self, values: Mapping[Any, int]) -> None:
        self._values = values
        self.scales: dict[Any, Fraction] = {}

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> int:
        self.scales[label] = scale
        return self._values[label]


def test_it_goes_on_below_the_threshold_and_stops_after_k_above() -> None:
    """Answers −3, 4, −1, 9, 9 with a noisy threshold of 1 and no other noise; gaps of 2 and 6; k = 2."""
    form = ideal.form(k=2, eta=(Fraction(1), Fraction(1)), width=100, gaps=(2, 6))
    output = form.program([-3, 4, -1, 9, 9], Scripted({"threshold": 1} | dict.fromkeys(range(5), 0)))
    assert output == [None, 1, None, 2]
    assert form.charge is not None
    assert form.charge(output) == 2


def test_its_noise_is_as_wide_as_the_sensitivity_asks_for() -> None:
    """Δ/η₁ for the threshold and 2kΔ/η₂ for each answer (Ilvento 2020, algorithm 4)."""
    noise = Scripted({"threshold": 0, 0: -5, 1: -5})
    eta = (Fraction(1, 3), Fraction(1, 5))
    ideal.form(k=3, eta=eta, sensitivity=Fraction(7), width=100).program([0, 0], noise)
    assert noise.scales == {"threshold": 21, 0: 210, 1: 210}
