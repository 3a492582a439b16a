"""Where proof and attack meet: of each mechanism the ε that is proved, and a loss that is certain.

The catalogue's correct mechanisms and the library's own, each at three ε. What is proved is in the table of
`freegap assure` and in `freegap prove --library`; here an event is searched whose probabilities, in exact and
ball arithmetic, differ by at least 99 % of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import Any

from freegap.base2 import ideal
from freegap.forms import Composition
from freegap.laws import law_named
from freegap.mechanisms import histogram, hybrids, measurement, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover import lower_bound
from freegap.prover.lower_bounds import LowerBound
from freegap_evidence.catalogue import CATALOGUE

EPSILONS = (Fraction(1, 5), Fraction(7, 10), Fraction(3, 2))
SHARE = Fraction(99, 100)

_ONE = Fraction(1)
_THRESHOLD = {"threshold": 0, "bound": 1}


@dataclass(frozen=True)
class Meeting:
    """A mechanism that is proved private at ε, for each ε.

    make: the program or form for a claimed ε.
    """

    name: str
    make: Callable[[Fraction], Any]
    neighbours: str
    parameters: dict[str, Any] | None = None
    resolution: Fraction | None = None

    def bound(self, epsilon: Fraction, seconds: int = 60) -> tuple[LowerBound, float]:
        """The largest loss that is found, and how long that took."""
        start = monotonic()
        found = lower_bound(
            self.make(epsilon),
            epsilon=epsilon,
            neighbours=self.neighbours,  # type: ignore[arg-type]
            parameters=self.parameters,
            resolution=self.resolution,
            share=SHARE,
            seconds=seconds,
        )
        return found, monotonic() - start


def _catalogued() -> list[Meeting]:
    needed = ("sparse_vector", "adaptive")
    return [
        Meeting(
            f"catalogue: {entry.name}",
            lambda epsilon, mechanism=entry.mechanism: mechanism,  # type: ignore[misc]
            entry.neighbours,
            _THRESHOLD if any(word in entry.name for word in needed) else None,
        )
        for entry in CATALOGUE.values()
        if entry.correct and "rappor" not in entry.name  # chances in doubles are not for exact arithmetic
    ]


def _grid(noise: str) -> Fraction | None:
    """What answers are multiples of, if the noise is discrete."""
    return _ONE if law_named(noise).lattice else None


def _ranked(
    name: str, form: Callable[[TopKPlan], Any], k: int, noise: str, monotonic_: bool, *, gap: bool = True
) -> Meeting:
    def make(epsilon: Fraction) -> Any:
        return form(
            TopKPlan.read("noisy_top_k", k=k, epsilon=epsilon, monotonic=monotonic_, noise=noise, gap=gap)
        )

    neighbours = "monotonic" if monotonic_ else "each"
    return Meeting(f"{name}, k = {k}, {noise}, {neighbours}", make, neighbours, resolution=_grid(noise))


def _threshold(
    name: str,
    form: Callable[[ThresholdPlan], Any],
    k: int,
    noise: str,
    monotonic_: bool,
    halvings: int = 0,
    *,
    gap: bool = True,
) -> Meeting:
    def make(epsilon: Fraction) -> Any:
        return form(
            ThresholdPlan.read(
                "sparse_vector",
                k=k,
                epsilon=epsilon,
                monotonic=monotonic_,
                noise=noise,
                branches=halvings,
                gap=gap,
            )
        )

    neighbours = "monotonic" if monotonic_ else "each"
    return Meeting(f"{name}, k = {k}, {noise}, {neighbours}", make, neighbours, resolution=_grid(noise))


def _then_measured(meeting: Meeting) -> Meeting:
    """With as much to measure one answer by as to select it.

    A sparse vector on monotonic answers is charged for its threshold and for the answer that is above it. An
    answer that rises costs nothing beside the threshold, one that falls nothing of the threshold, and one
    that stays nothing to measure: with equal parts, three quarters of the sum are enough. `freegap.prove`
    shows that of the program as a whole, on up to three answers.
    """
    spared = meeting.neighbours == "monotonic" and meeting.name.startswith("sparse vector")
    part = Fraction(2, 3) if spared else Fraction(1, 2)

    def make(epsilon: Fraction) -> Any:
        each = part * epsilon
        return Composition(meeting.make(each), measurement.form(1 / each, each), (each, each))

    charged = " (charged 4/3 of it)" if spared else ""
    return replace(meeting, name=f"{meeting.name}, then measure{charged}", make=make)


def _library() -> list[Meeting]:
    found = []
    for monotonic_ in (False, True):
        for noise in ("laplace", "exponential"):
            found += [
                *(_ranked("noisy top-k with gap", top_k.form, k, noise, monotonic_) for k in (1, 2)),
                _ranked("noisy top-k, no gap", top_k.form, 1, noise, monotonic_, gap=False),
                _ranked("hybrid top-k", hybrids.top_k_form, 1, noise, monotonic_),
                _threshold("hybrid sparse vector", hybrids.sparse_vector_form, 1, noise, monotonic_),
            ]
        found.append(
            _ranked("noisy top-k, ties by place", top_k.tied_form, 1, "geometric", monotonic_, gap=False)
        )
        for noise in ("laplace", "exponential", "geometric"):
            found += [
                _threshold("sparse vector with gap", sparse_vector.form, 1, noise, monotonic_),
                _threshold("sparse vector, no gap", sparse_vector.form, 1, noise, monotonic_, gap=False),
                _threshold("adaptive sparse vector", sparse_vector.form, 1, noise, monotonic_, 1),
            ]
    composed = ("noisy top-k with gap, k = 1", "sparse vector with gap")
    return [
        *found,
        *(_then_measured(meeting) for meeting in found if meeting.name.startswith(composed)),
        Meeting("histogram", lambda epsilon: histogram.form(1 / epsilon), "one", resolution=_ONE),
        Meeting("measure, 1 answer", lambda epsilon: measurement.form(1 / epsilon, epsilon), "each"),
        Meeting("measure, 2 answers", lambda epsilon: measurement.form(2 / epsilon, epsilon / 2), "each"),
        Meeting(
            "base-2 sparse vector with gap",
            lambda epsilon: ideal.form(
                k=1, eta=(epsilon / 4, 3 * epsilon / 4), width=math.ceil(200 / epsilon), gaps=(1, 2)
            ),
            "each",
            resolution=_ONE,
        ),
        Meeting(
            "base-2 sparse vector, not clamped",
            lambda epsilon: ideal.form(k=1, eta=(epsilon / 4, 3 * epsilon / 4), width=None, gaps=()),
            "each",
            resolution=_ONE,
        ),
    ]


MEETINGS: tuple[Meeting, ...] = (*_catalogued(), *_library())


@dataclass(frozen=True)
class Met:
    """What came out for one mechanism at one ε."""

    meeting: Meeting
    epsilon: Fraction
    found: LowerBound
    seconds: float

    @property
    def met(self) -> bool:
        """Whether the loss is at least 99 % of what is proved, and not more than it."""
        return SHARE * self.epsilon <= self.found.loss <= self.epsilon

    @property
    def row(self) -> tuple[str, ...]:
        """In words."""
        event = "–" if self.found.witness is None else str(self.found.witness.event)
        return (
            self.meeting.name,
            str(float(self.epsilon)),
            f"{float(self.found.loss):.5f}",
            f"{self.found.share:.2%}",
            event.removeprefix("the output is "),
            f"{self.seconds:.1f}",
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"mechanism": self.meeting.name, "met": self.met, "seconds": round(self.seconds, 2)} | (
            self.found.to_dict()
        )


COLUMNS = ("mechanism", "proved ε", "loses at least", "share", "shown by", "seconds")

_PAGE = """# Where proof and attack meet

Made by `freegap prove --library --lower --page docs/meeting.md`. Each mechanism is proved private at the ε
that it claims, by the papers and by `freegap prove --library`. Here is how much it loses at least: there is
an event whose probabilities on two neighbours, in exact and ball arithmetic, differ by that much
([`freegap.lower_bound`](prove.md)). No samples are drawn. A loss in this table is certain, and so no smaller
ε is true. {met} of {all} meet within 1 %. The seconds are of one processor each. The gaps of the
exponential mechanism, mechanisms in ρ, and RAPPOR, whose chances are doubles, are not among them. A sparse
vector of monotonic answers that a measurement follows is charged for both, which is more than it loses:
it is proved, and met, at three quarters of the charge.

{table}
"""


def page(results: Sequence[Met]) -> str:
    """The table as a page of the docs."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    lines += [f"| {' | '.join(result.row)} |" for result in results]
    return _PAGE.format(met=sum(result.met for result in results), all=len(results), table="\n".join(lines))
