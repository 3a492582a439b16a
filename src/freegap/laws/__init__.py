"""The laws of noise: one record each, of everything that is known of it, and the interface that draws them.

>>> law_named("gumbel").bounded_range, law_named("gumbel").price.name
(True, 'UNBOUNDED')
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from freegap.errors import InvalidArgument
from freegap.laws.exponential import EXPONENTIAL, GEOMETRIC
from freegap.laws.further import NORMAL, STAIRCASE, UNIFORM
from freegap.laws.gumbel import GUMBEL
from freegap.laws.laplace import DISCRETE_LAPLACE, LAPLACE
from freegap.laws.law import ExactLaw, Law, ShiftPrice
from freegap.laws.logistic import LOGISTIC

__all__ = [
    "CONTINUOUS_NOISES",
    "DISCRETE_LAPLACE",
    "EXPONENTIAL",
    "GEOMETRIC",
    "GUMBEL",
    "LAPLACE",
    "LAWS",
    "LOGISTIC",
    "NOISES",
    "NORMAL",
    "STAIRCASE",
    "UNIFORM",
    "ContinuousNoiseName",
    "ExactLaw",
    "Law",
    "NoiseName",
    "RankingNoiseName",
    "ShiftPrice",
    "law_named",
]

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        EXPONENTIAL,
        LAPLACE,
        GEOMETRIC,
        DISCRETE_LAPLACE,
        GUMBEL,
        LOGISTIC,
        UNIFORM,
        NORMAL,
        STAIRCASE,
    )
}

ContinuousNoiseName = Literal["exponential", "laplace"]
"""The noise that a mechanism may be asked for where gaps are real numbers."""
CONTINUOUS_NOISES: tuple[ContinuousNoiseName, ...] = get_args(ContinuousNoiseName)
NoiseName = Literal["exponential", "laplace", "geometric"]
"""The noise that a mechanism may be asked for where answers may be whole numbers as well."""
NOISES: tuple[NoiseName, ...] = get_args(NoiseName)
RankingNoiseName = Literal["exponential", "laplace", "geometric", "gumbel"]
"""The noise that the largest answers may be found with: under ε one of the first three, under ρ the last."""


def law_named(name: Any) -> Law:
    """The record of a law; an unknown name is an error."""
    if not isinstance(name, str) or name not in LAWS:
        raise InvalidArgument(
            "noise", name, "is not a known law", f"Pass one of {', '.join(map(repr, LAWS))}."
        )
    return LAWS[name]
