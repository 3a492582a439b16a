"""How much higher a sparse vector's threshold should stand, so that noise alone seldom passes it.

Many questions share k places. An answer that is not above T is reported all the same with some probability,
and each such false alarm takes a place. With the threshold at T + t an answer q ≤ T is reported only if the
noise D of its gap is at least t; with P(D ≥ t) ≤ a/n for each of n questions, a false alarms are expected at
most, whatever the answers are. t follows from public parameters alone, so that T + t is a public threshold
like any other. (Liu et al. 2024 correct the threshold for the same reason, by a formula of their own.)
"""

from __future__ import annotations

import math
from fractions import Fraction

from freegap.errors import InvalidArgument
from freegap.estimate.bounds import gap_noise
from freegap.laws import NoiseName
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.rationals import Rational, count_argument, positive_rational


def threshold_shift(
    *,
    questions: int,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    false_alarms: Rational = 1,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | None = None,
) -> Fraction:
    """What to add to a threshold, so that few answers below it are reported: more precision, less recall.

    Pass it on with the same parameters: `sparse_vector(answers, T + shift, k=…, epsilon=…)`. Then at most
    `false_alarms` of so many questions with answers up to T are expected to be reported, whatever the answers
    are. It is worth while where a false alarm is dear, or where more than k answers are above T, so that
    false alarms take the places of others. An answer above T by less than the shift is reported less often:
    where fewer than k are above, leave the threshold as it is.

    questions: how many will be asked, a public number. All are fixed beforehand.
    false_alarms: how many are to be expected at most.
    The other arguments are those of `sparse_vector`.

    >>> import freegap as fg
    >>> shift = fg.threshold_shift(questions=2000, k=10, epsilon=1, monotonic=True)
    >>> float(shift)
    81.2...
    >>> found = fg.sparse_vector([900, 20, 700], 400 + shift, k=10, epsilon=1, monotonic=True,
    ...                          bits=fg.SeededBits(1))
    >>> found.above
    (True, False, True)
    """
    asked = count_argument("questions", questions)
    expected = positive_rational("false_alarms", false_alarms)
    if expected > asked:
        raise InvalidArgument(
            "false_alarms",
            false_alarms,
            f"must be at most the number of questions, {asked}",
            "Pass for example false_alarms=1.",
        )
    plan = ThresholdPlan.read(
        "sparse_vector",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        share=share,
    )
    if expected == asked:
        return Fraction(0)
    quantile = gap_noise(plan, 0).quantile(float(1 - expected / asked))
    steps = (
        math.floor(Fraction(quantile) / plan.resolution) + 1
    )  # noise on a grid may be equal to the quantile
    return max(steps, 0) * plan.resolution
