"""The discrete sparse vector with gap on infinite noise (Ilvento 2020, algorithm 4), and its proof (section
5).

This is what `questions` simulates with finitely many bits, and what is proved private: step A of the
preface to Ilvento 2020's proof template. `program` is the mechanism for any kind of number, and `alignment`
the one of section 5. With no gaps it is algorithm 2; with no width either, nothing is clamped, and it is
algorithm 1 on discrete noise (answers are then those less their thresholds). Scales and charges are in base
2: P(x) ∝ 2^(−|x|/scale).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from freegap.laws.labelled import LabelledNoise

__all__ = ["alignment", "charge", "clamp", "program"]


def clamp(value: Any, centre: Any, width: Any) -> Any:
    """Ilvento 2020, equation 3: the value, or the nearest end of [centre − width, centre + width], if any."""
    return value if width is None else max(centre - width, min(centre + width, value))


def program(
    answers: Sequence[Any],
    noise: LabelledNoise[Any],
    *,
    k: int,
    eta: tuple[Fraction, Fraction],
    sensitivity: Fraction,
    width: Any,
    gaps: Sequence[Any] = (),
    resolution: Any = 1,
) -> list[Any]:
    """Ilvento 2020, algorithm 4: for each question None, or how many of the rising gaps were reached."""
    rho = noise.discrete_laplace(sensitivity / eta[0], label="threshold", resolution=resolution)
    output: list[Any] = []
    left = k
    for i, answer in enumerate(answers):
        nu = noise.discrete_laplace(2 * k * sensitivity / eta[1], label=i, resolution=resolution)
        distance = answer + nu - clamp(rho, answer, width)
        if distance < 0:
            output.append(None)
            continue
        output.append(sum(1 for gap in gaps if distance >= gap))
        left -= 1
        if left == 0:
            break
    return output


def charge(output: Sequence[Any], *, k: int, eta: tuple[Fraction, Fraction]) -> Fraction:
    """η₁, and η₂/k for each ⊤."""
    return eta[0] + eta[1] / k * sum(entry is not None for entry in output)


def alignment(
    answers: Sequence[Any],
    neighbour: Sequence[Any],
    output: Sequence[Any],
    noise: Mapping[Any, Any],
    *,
    sensitivity: Fraction,
    width: Any,
) -> dict[Any, Any]:
    """Ilvento 2020, section 5: ρ' = ρ + Δ, and each ν above the threshold makes up for what the clamp
    does."""
    rho = noise["threshold"]
    moved: dict[Any, Any] = {"threshold": rho + sensitivity}
    for i, entry in enumerate(output):
        if entry is not None:
            change = clamp(rho + sensitivity, neighbour[i], width) - clamp(rho, answers[i], width)
            moved[i] = noise[i] + answers[i] - neighbour[i] + change
    return moved
