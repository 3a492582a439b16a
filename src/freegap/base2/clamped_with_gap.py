"""Discrete sparse vector with gap in base 2 (Ilvento 2020, algorithms 4 and 5): above a threshold, and how
far.

The gap of an answer above the threshold is released as the largest of a public, finite list of gaps that
it reaches, so that no gap is without bound. The program and its theorem are in `questions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from freegap.base2.clamped import OnlineRun, run_batch
from freegap.base2.eta import Eta
from freegap.base2.plan import Base2Plan
from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset
from freegap.values.above import AboveThreshold
from freegap.values.rationals import Rational


def sparse_vector_with_gap(
    answers: Any,
    threshold: Rational,
    *,
    gaps: Sequence[Rational],
    k: int,
    eta: tuple[Eta, Eta],
    low: Rational,
    high: Rational,
    width: Rational,
    sensitivity: Rational = 1,
    resolution: Rational = 1,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """As `sparse_vector`, and for each answer above, the largest of `gaps` by which it is above.

    Ilvento 2020, algorithm 4 and section 5, simulated as in algorithm 5 with the correction of its line 11.
    The gap costs nothing: the whole is (η₁ + η₂)-private in base 2.

    gaps: public, rising multiples of the resolution, greater than 0. An answer above the threshold that
        reaches none of them has the gap 0.
    The other arguments are those of `sparse_vector`, `ledger` among them.

    >>> import freegap as fg
    >>> from freegap import base2
    >>> release = base2.sparse_vector_with_gap(
    ...     [3, 900, 5, 870, 910], 500, gaps=range(50, 1000, 50), k=2, eta=base2.share_epsilon(1, k=2),
    ...     low=0, high=1000, width=500, bits=fg.SeededBits(5),
    ... )
    >>> release.gaps
    (None, Fraction(400, 1), None, Fraction(350, 1))
    """
    plan = Base2Plan.read(
        threshold,
        k=k,
        eta=eta,
        low=low,
        high=high,
        width=width,
        gaps=gaps,
        sensitivity=sensitivity,
        resolution=resolution,
    )
    return run_batch(plan, answers, ledger, bits)


class DiscreteSparseVectorWithGap(OnlineRun):
    """`sparse_vector_with_gap`, one question at a time.

    >>> import freegap as fg
    >>> from freegap import base2
    >>> run = base2.DiscreteSparseVectorWithGap(
    ...     500, gaps=range(50, 1000, 50), k=2, eta=base2.share_epsilon(1, k=2), low=0, high=1000, width=500,
    ...     bits=fg.SeededBits(5),
    ... )
    >>> run.ask(3), run.ask(900)
    (None, Fraction(400, 1))
    """

    def __init__(
        self,
        threshold: Rational,
        *,
        gaps: Sequence[Rational],
        k: int,
        eta: tuple[Eta, Eta],
        low: Rational,
        high: Rational,
        width: Rational,
        sensitivity: Rational = 1,
        resolution: Rational = 1,
        ledger: LedgerAndDataset | None = None,
        bits: BitSource | None = None,
    ) -> None:
        plan = Base2Plan.read(
            threshold,
            k=k,
            eta=eta,
            low=low,
            high=high,
            width=width,
            gaps=gaps,
            sensitivity=sensitivity,
            resolution=resolution,
        )
        super().__init__(plan, ledger, bits)

    def ask(self, answer: Any) -> Fraction | None:
        """None below the noisy threshold; else the largest gap reached, 0 for none."""
        reached = self._answer(answer)
        if reached is None:
            return None
        return self._plan.gaps[reached - 1] * self._plan.resolution if reached else Fraction(0)
