"""The sparse vector as it was before clamping, in base 2 (Ilvento 2020, algorithm 1 with the noise of
section 3).

Input    answers q_1, q_2, …, each of sensitivity Δ, rounded down to the grid γ; public thresholds T_1, T_2, …
Noise    threshold: ρ ~ DiscLap^γ(Δ/η₁); each answer: ν_i ~ DiscLap^γ(2kΔ/η₂); neither has a largest value
Release  ⊤ where q_i + ν_i ≥ T_i + ρ, else ⊥; until k times ⊤
Charge   η₁ + η₂·(number of ⊤)/k in base 2
Theorem  Ilvento 2020, theorem 3.3 with w = ∞: ρ' = ρ + Δ, and ν'_i = ν_i + Δ + q_i − q'_i where the answer
         was ⊤. Each of the latter moves by at most 2Δ. Both maps are one-to-one on the grid *because* it has
         no end.

Ilvento 2020 goes on from here to algorithm 2, for what is drawn here may be any whole number, and takes as
many bits as it takes. That harms nothing but the clock: the number of bits depends on the noise alone, never
on an answer. In return no range of the answers and no width has to be declared, and nothing is clamped.
Algorithm 2 (`sparse_vector`) is the faster one, with precision and time that are known beforehand; its law
tends to this one as its width grows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from freegap.base2.arguments import multiple_argument
from freegap.base2.draws import BitDraws, Draws
from freegap.base2.eta import Eta
from freegap.base2.ideal import charge, form
from freegap.base2.plan import answer_base, pair_argument, threshold_base
from freegap.base2.samplers import laplace_at
from freegap.base2.weights import Weights
from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import REDACTED, InvalidArgument
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise
from freegap.values.above import AboveThreshold
from freegap.values.answers import as_array, exact_number, named, split_labels
from freegap.values.measures import Pure
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational, count_argument, positive_rational
from freegap.values.thresholds import one_threshold_each

_PIECE_SCALES, _PIECE_BITS = 8, 4096  # beyond is rare, or numbers are long; the law stays


@lru_cache(maxsize=8)  # of public parameters, which runs alike share
def piecewise(base: Fraction) -> Weights:
    """The weights of noise with this base, for a piece of its law at a time (see `laplace_at`)."""
    shift = base.denominator.bit_length() - 1
    return Weights(base, max(1, min(math.ceil(_PIECE_SCALES / (1 - base)), _PIECE_BITS // shift - 1)))


class _InPieces(LabelledNoise[int]):
    """Discrete Laplace noise in units of γ: the first weights for the threshold, the second for answers."""

    def __init__(self, weights: tuple[Weights, Weights], draws: Draws) -> None:
        self._weights = weights
        self._draws = draws

    def draw(self, law: Law, scale: Any, label: Any = None, **options: Any) -> int:
        """The scale is that of the weights."""
        return laplace_at(self._weights[0 if label == "threshold" else 1], self._draws)


def outcomes(
    offsets: Sequence[int], *, k: int, weights: tuple[Weights, Weights], draws: Draws
) -> list[int | None]:
    """Ilvento 2020, algorithm 1: None for ⊥ and 0 for ⊤, until k were ⊤; q_i − T_i are in units of γ."""
    program = form(k=k, eta=(Fraction(1), Fraction(1)), width=None).program
    return program(offsets, _InPieces(weights, draws))


def unclamped_sparse_vector(
    answers: Any,
    threshold: Rational | Sequence[Rational] | Mapping[Any, Rational],
    *,
    k: int,
    eta: tuple[Eta, Eta],
    sensitivity: Rational = 1,
    resolution: Rational = 1,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """Which answers are above their thresholds, until k of them were, with no range declared.

    Ilvento 2020, algorithm 1 on the discrete noise of section 3: (η₁ + η₂)-private in base 2. Slower than
    `sparse_vector`, and its time varies with the noise (not with the answers).

    answers: a list, an array, a dict or a Series of finite numbers; they are rounded down to the resolution.
    threshold: public; one for all answers or one for each (by label for labelled answers), multiples of the
        resolution.
    k: how many answers above the threshold may be released.
    eta: (η₁, η₂), for the threshold and for the answers; `share_epsilon(ε, k=k)` makes them.
    sensitivity: how much one person can change each answer at most, a multiple of the resolution.
    resolution: γ, the grid on which all of this is exact.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.
    bits: leave out for a private release; a seeded source for tests.

    >>> import freegap as fg
    >>> from freegap import base2
    >>> release = base2.unclamped_sparse_vector(
    ...     [3, 900, 5, 10**30], [500, 500, 500, 10**29], k=2, eta=base2.share_epsilon(1, k=2),
    ...     bits=fg.SeededBits(5),
    ... )
    >>> release.above
    (False, True, False, True)
    """
    k = count_argument("k", k)
    grid = positive_rational("resolution", resolution)
    delta = positive_rational("sensitivity", sensitivity)
    multiple_argument("sensitivity", sensitivity, grid)  # else rounding down would not keep it
    first, second = pair_argument(eta)
    weights = (piecewise(threshold_base(first, grid, delta)), piecewise(answer_base(second, grid, delta, k)))
    numbers, names = split_labels(answers)
    array = as_array(numbers, "answers")
    if array.ndim != 1:
        raise InvalidArgument(
            "answers", REDACTED, f"must have one dimension, not {array.ndim}", "Pass answers.ravel()."
        )
    lines = _thresholds(threshold, grid, len(array), names)
    source = source_or_system(bits)
    units = [math.floor(exact_number(value, "answers", grid) / grid) for value in array]
    offsets = [unit - line for unit, line in zip(units, lines, strict=True)]
    budget = first.epsilon + second.epsilon
    parameters = {
        "k": k,
        "resolution": grid,
        "sensitivity": delta,
        "eta": [[part.x, part.y, part.z] for part in (first, second)],
    }
    plan = PlainPlan("base2.unclamped_sparse_vector", Pure(budget), parameters)

    def release() -> AboveThreshold:
        entries = outcomes(offsets, k=k, weights=weights, draws=BitDraws(source))
        places = [i for i, entry in enumerate(entries) if entry is not None]
        answered = len(entries)
        return AboveThreshold(
            plan=plan,
            questions=range(answered) if names is None else tuple(names[:answered]),
            indices=tuple(places) if names is None else (),
            labels=named(names, places),
            gap_multiples=None,
            branches=(0,) * len(places),
            thresholds=tuple(lines[i] * grid for i in places),
            resolution=grid,
            spent=charge([first.epsilon, second.epsilon], k, len(places)) if units else Fraction(0),
            private=source.private,
        )

    return charged(ledger, plan, release)


def _thresholds(threshold: Any, grid: Fraction, n: int, names: Sequence[Any] | None) -> list[int]:
    """One threshold for each of n answers, in units of the grid."""
    if not isinstance(threshold, list | tuple | Mapping) and not hasattr(threshold, "tolist"):
        return [multiple_argument("threshold", threshold, grid)] * n
    each = [multiple_argument("threshold", line, grid) for line in one_threshold_each(threshold, names)]
    if len(each) != n:
        raise InvalidArgument(
            "threshold",
            f"<{len(each)} thresholds>",
            f"must be one for all or one for each of the {n} answers",
            "Pass a number, or as many numbers as there are answers.",
        )
    return each
