"""The discrete sparse vector with gap on infinite noise (Ilvento 2020, algorithm 4), and its proof (section
5).

This is what `questions` simulates with finitely many bits, and what is proved private: step A of the
preface to Ilvento 2020's proof template. `form` is the mechanism for any kind of number, with the alignment
of section 5. With no gaps it is algorithm 2; with no width either, nothing is clamped, and it is
algorithm 1 on discrete noise (answers are then those less their thresholds). Scales and charges are in base
2: P(x) ∝ 2^(−|x|/scale).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from freegap.forms import Stream
from freegap.laws.labelled import LabelledNoise


def clamp(value: Any, centre: Any, width: Any) -> Any:
    """Ilvento 2020, equation 3: the value, or the nearest end of [centre − width, centre + width], if any."""
    return value if width is None else max(centre - width, min(centre + width, value))


def form(
    *,
    k: int,
    eta: tuple[Fraction, Fraction],
    sensitivity: Fraction = Fraction(1),
    width: Any,
    gaps: Sequence[Any] | None = (),
    resolution: Any = 1,
) -> Stream:
    """Ilvento 2020, algorithm 4: for each question None, or how many of the rising gaps were reached.

    Section 5 moves ρ to ρ + Δ, and each ν above the threshold makes up for what the clamp does.
    """
    return scaled_form(
        k=k,
        budgets=(eta[0], eta[1] / k),
        scales=(sensitivity / eta[0], 2 * k * sensitivity / eta[1]),
        sensitivity=sensitivity,
        width=width,
        gaps=gaps,
        resolution=resolution,
    )


def scaled_form(
    *,
    k: Any,
    budgets: tuple[Any, Any],
    scales: tuple[Any, Any],
    sensitivity: Any,
    width: Any,
    gaps: Sequence[Any] | None,
    resolution: Any = 1,
) -> Stream:
    """The same with budgets and scales of the threshold and of an answer, which may be symbols. Where gaps is
    None the distance itself is released, of which the number of gaps that are reached is a function.

    The state is how many ⊤ are left, and ρ.
    """

    def start(noise: LabelledNoise[Any]) -> tuple[int, Any]:
        return k, noise.discrete_laplace(scales[0], label="threshold", resolution=resolution)

    def step(state: tuple[int, Any], answer: Any, noise: LabelledNoise[Any]) -> tuple[Any, Any, bool]:
        left, rho = state
        nu = noise.discrete_laplace(scales[1], label="answer", resolution=resolution)
        distance = answer + nu - clamp(rho, answer, width)
        if distance < 0:
            return (left, rho), None, False
        reached = distance if gaps is None else sum(1 for gap in gaps if distance >= gap)
        return (left - 1, rho), reached, left == 1

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> dict[str, Any]:
        if entry is None:
            return {}
        rho = state[1]
        change = clamp(rho + sensitivity, neighbour, width) - clamp(rho, answer, width)
        return {"answer": answer - neighbour + change}

    return Stream(
        start,
        step,
        lambda direction: {"threshold": sensitivity},
        step_shifts,
        place_alone=True,
        start_charge=budgets[0],
        entry_charge=lambda entry: 0 if entry is None else budgets[1],
    )


def charge(eta: Sequence[Fraction], k: int, found: int) -> Fraction:
    """η₁, and η₂/k for each ⊤: in base 2, or in ε where those are given in ε."""
    return eta[0] + eta[1] * found / k
