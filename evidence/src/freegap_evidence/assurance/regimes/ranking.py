"""Cases of the mechanisms that rank: top-k, the hybrids, the exponential mechanism; with items and groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.reals import Variable
from freegap.laws import EXPONENTIAL, GUMBEL, ExactLaw, law_named
from freegap.mechanisms import hybrids, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap_evidence.assurance.regimes.case import EARLY, WAYS, Matrix, RegimeCase, at_precision
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.measurement import measured
from freegap_evidence.assurance.regimes.numbers import (
    DIMENSIONS,
    GRIDS,
    INPUTS,
    LABELLED,
    scale_at,
    unholdable,
)
from freegap_evidence.assurance.regimes.populations import SHAPES, RegimePopulation, population_at
from freegap_evidence.assurance.regimes.reference import Member, contenders, draws, floored, keyed
from freegap_evidence.assurance.regimes.sizes import SIZES

KS = ("1", "2", "some", "half", "last")
_MOST_MEMBERS = 40  # of a large group that a case asks for: the r-th takes r streams of digits
_MOST_RANKED = 560  # places that a case asks for in all, more than half of a thousand

# Where there are many, what holds them is read no differently; these stand for all.
_HOLD_MANY = ("list", "Fractions", "object array", "dict", "int8", "int64", "uint64", "float64")


def _cells(*, groups: bool = True, ks: tuple[str, ...] = KS, corners: bool = True) -> Cells:
    """groups: whether the mechanism takes `Counts`."""
    shapes = SHAPES if groups else SHAPES[:2]
    many = [shape for shape in shapes if shape.startswith("many")]
    impossible = (
        unholdable()
        | apart("shape", SHAPES[:2], "sizes", SIZES[1:])
        | apart("shape", SHAPES[2:4], "input", LABELLED)
        | apart("shape", SHAPES[4:], "input", ["Series"])
        | apart("shape", SHAPES[4:], "sizes", ["twos and threes"])
        | apart("input", ["dict"], "sizes", ["twos and threes"])  # follows from the above, as does the next
        | apart("input", ["Series"], "sizes", SIZES[1:])
        | apart("shape", many, "input", [kind for kind in INPUTS if kind not in _HOLD_MANY])
        # Digits one at a time: every comparison is exact, which takes long where there are many.
        | apart("shape", many, "precision", ["one bit"])
    )
    dimensions = {
        "shape": shapes,
        "sizes": SIZES if groups else SIZES[:1],
        **DIMENSIONS,
        "k": ks,
        "precision": tuple(WAYS),
    }
    return Cells(
        dimensions,
        frozenset(impossible),
        costly=frozenset(("shape", shape) for shape in many),
        corners=tuple(_corners(groups, ks)) if corners else (),
    )


def _corners(groups: bool, ks: tuple[str, ...]) -> Iterator[Levels]:
    """Equal answers on a fine grid, few gaps and many; large groups that compete; answers 2^63 apart."""
    yield {"shape": "few items", "values": "ties", "grid": "10^-20"}
    screened = {"precision": "as released", "k": ks[0]}
    if "some" in ks:  # so little noise that all that are selected are equal
        tied = {"shape": "many items", "values": "ties", "grid": "10^-20", "scale": "10^-2", "k": "some"}
        yield from ({**tied, "input": kind} for kind in ("list", "int64", "float64", "uint64"))
    for kind, way in product(("list", "int64"), ("as released", EARLY)):
        yield {"shape": "many items", "values": "at 2^62", "input": kind, **screened, "precision": way}
    if not groups:
        return
    sizes = {
        "many groups": ("twos and threes", "one dominant", "log-uniform"),
        "many over a domain": ("one dominant", "2^62 in all"),
    }
    for shape, values in product(sizes, ("close", "ties", "one tall")):
        for size in sizes[shape]:
            yield {"shape": shape, "sizes": size, "values": values, "scale": "10^2", **screened}


@dataclass(frozen=True)
class Choosing:
    """What the cases of all these mechanisms share."""

    population: RegimePopulation
    k: int
    scale: Fraction
    sensitivity: Fraction
    monotonic: bool
    noise: str
    grid: Fraction
    precision: str

    @property
    def c(self) -> int:
        """How many times the sensitivity an answer may move against another."""
        return 1 if self.monotonic else 2

    def asked(self, noise: str, places: int) -> dict[str, Any]:
        """The ε or the ρ for which noise has the scale of the case, where so many places are told of."""
        reach = self.c * self.sensitivity
        if law_named(noise).bounded_range:
            return {"rho": places * (reach / self.scale) ** 2 / 8}
        return {"epsilon": reach * self.k / self.scale}

    def plan(self, noise: str, *, gap: bool = True, last_gap: bool = True) -> TopKPlan:
        """Of noise that has the scale of the case."""
        return TopKPlan.read(
            "noisy_top_k",
            k=self.k,
            sensitivity=self.sensitivity,
            monotonic=self.monotonic,
            noise=noise,
            resolution=self.grid,
            gap=gap,
            last_gap=last_gap,
            **self.asked(noise, self.k + (gap and last_gap)),
        )

    def arguments(self, bits: BitSource, **more: Any) -> dict[str, Any]:
        """Those that every function takes, and more."""
        return {
            "sensitivity": self.sensitivity,
            "monotonic": self.monotonic,
            "resolution": self.grid,
            "bits": bits,
            **more,
        }

    def case(
        self, released: Callable[[BitSource], Hashable], expected: Callable[[str, bool], Hashable]
    ) -> RegimeCase:
        """With the precision of the case, and in words."""

        def at_its_precision(bits: BitSource) -> Hashable:
            with at_precision(self.precision):
                return released(bits)

        people = self.population
        told = (
            f"k={self.k}, scale={self.scale}, sensitivity={self.sensitivity}, monotonic={self.monotonic}, "
            f"grid={self.grid}, sizes={str(people.sizes)[:120]}, exactly={[*map(str, people.exact)][:9]}"
        )
        return RegimeCase(at_its_precision, expected, told)

    def members(self, record: str, top: int, law: ExactLaw, scale: Fraction) -> list[Member]:
        """Those that can be among the `top` largest."""
        people = self.population
        digits = keyed(record, len(people.exact))
        return contenders(people.exact, people.sizes, law=law, scale=scale, digits=digits, top=top)

    def ranked(
        self, record: str, law: ExactLaw, twin: bool, *, gap: bool = True, last_gap: bool = True
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ding 2020, algorithm 18: items or groups in order, and gaps in multiples of the grid."""
        # Who alone can be chosen is chosen by any program: the twin is given one more.
        members = self.members(record, self.k + ((gap and last_gap) or twin), law, self.scale)
        plan = self.plan(EXPONENTIAL.name, gap=gap, last_gap=last_gap)
        form = replace(top_k.form(plan), law=law.name)
        order, gaps = form.program(
            [self.population.exact[m.group] for m in members], draws(lambda i: members[i].noise, twin=twin)
        )
        return tuple(members[i].group for i in order), tuple(floored(gap, self.grid) for gap in gaps)

    def above(
        self, record: str, plan: ThresholdPlan, threshold: Fraction, twin: bool
    ) -> tuple[tuple[int, ...], tuple[int, ...], Fraction]:
        """Ding 2020, algorithm 20: the same above a threshold, with the gaps to it, and the charge."""
        members = self.members(record, self.k, plan.law.continuous, plan.branches[-1].scale)
        n = len(self.population.exact)
        bar = Variable(plan.law.continuous, keyed(record, n).stream(n, 1))
        items, gaps = hybrids.sparse_vector_form(plan, threshold).program(
            [self.population.exact[m.group] for m in members],
            draws(lambda label: bar if label == "threshold" else members[label].noise, twin=twin),
        )
        spent = hybrids.sparse_vector_charge(plan, (items, gaps))
        return tuple(members[i].group for i in items), tuple(floored(g, self.grid) for g in gaps), spent


def _choosing(levels: Levels, seed: str, noise: str, *, more: int = 1, discrete: bool = False) -> Choosing:
    """more: how many more items there must be than are asked for. discrete: answers are whole numbers."""
    choices = Choices(f"{seed} {sorted(levels.items())}")
    grid, scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)
    if discrete:
        grid = Fraction(1)
    population = population_at(levels, scale, grid, choices)
    return Choosing(
        population=population,
        k=_k_at(levels["k"], population, more, choices),
        scale=scale,
        sensitivity=grid * choices.of((1, 3, grid.denominator)),
        monotonic=bool(choices.below(2)),
        noise=noise,
        grid=grid,
        precision=levels["precision"],
    )


def _k_at(level: str, population: RegimePopulation, more: int, choices: Choices) -> int:
    most = population.items - more
    if max(population.sizes or [1]) > 3:
        most = min(most, _MOST_MEMBERS)
    most = min(most, _MOST_RANKED)
    half = len(population.exact) // 2 - choices.below(4)  # as many as are still screened, or not
    wanted = {"1": 1, "2": 2, "some": choices.between(1, 12), "half": half, "last": most}[level]
    return max(min(wanted, most), 1)


# Top-k ------------------------------------------------------------------------------------------


def noisy_top_k(noise: str, *, gap: bool = True, last_gap: bool = True) -> Matrix:
    """Against Ding 2020, algorithm 18."""
    case = partial(_top_k_case, noise=noise, gap=gap, last_gap=last_gap, best=False)
    return Matrix(_cells(corners=gap), case)


def noisy_max(noise: str, *, gap: bool = True) -> Matrix:
    """As top-k, with one place."""
    return Matrix(_cells(ks=KS[:1], corners=gap), partial(_top_k_case, noise=noise, gap=gap, best=True))


def _top_k_case(
    levels: Levels, seed: str, *, noise: str, gap: bool, best: bool, last_gap: bool = True
) -> RegimeCase:
    """Geometric noise on whole numbers, with ties by coin, orders as exponential noise (Ding et al. 2023,
    lemma 4.1)."""
    law = law_named(noise)
    it = _choosing(levels, seed, noise, more=int(gap and last_gap), discrete=law.lattice)
    asked = it.asked(noise, it.k + (gap and last_gap))

    def released(bits: BitSource) -> Hashable:
        arguments = it.arguments(bits, noise=noise, gap=gap, last_gap=last_gap, **asked)
        answers = it.population.answers
        found = fg.noisy_max(answers, **arguments) if best else fg.noisy_top_k(answers, it.k, **arguments)
        return it.population.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        places, gaps = it.ranked(record, law.continuous, twin, gap=gap, last_gap=last_gap)
        return places, gaps if gap else None, *asked.values()

    return it.case(released, expected)


def exponential() -> Matrix:
    """Gumbel noise (Ding 2020, algorithm 22) is a top-k with one place."""
    return Matrix(_cells(groups=False, ks=KS[:1]), _exponential_case)


def _exponential_case(levels: Levels, seed: str) -> RegimeCase:
    it = _choosing(levels, seed, GUMBEL.name)
    epsilon = it.c * it.sensitivity / it.scale

    def released(bits: BitSource) -> Hashable:
        found = fg.exponential_mechanism(it.population.answers, **it.arguments(bits, epsilon=epsilon))
        return it.population.places([found.label]), (found.utility_gap or 0) / it.grid, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        places, (gap,) = it.ranked(record, GUMBEL, twin)
        return places, gap, epsilon

    return it.case(released, expected)


def selecting(noise: str) -> Matrix:
    """Selecting and measuring: half of ε each. The selection is that of top-k, whose corners are enough."""
    return Matrix(_cells(corners=False), partial(_selecting_case, noise=noise))


def _selecting_case(levels: Levels, seed: str, noise: str) -> RegimeCase:
    it = _choosing(levels, seed, noise)
    half = it.c * it.sensitivity * it.k / it.scale

    def released(bits: BitSource) -> Hashable:
        found = fg.select_and_measure(
            it.population.answers, it.k, **it.arguments(bits, epsilon=2 * half, noise=noise)
        )
        measurement = found.measurement.multiples if found.measurement else ()
        return it.population.places(found.labels), found.selection.gap_multiples, measurement, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        places, gaps = it.ranked(record, law_named(noise).continuous, twin)
        chosen = [it.population.exact[place] for place in places]
        scale = it.k * it.sensitivity / half
        return places, gaps, measured(chosen, keyed(record, it.k, last=True), scale, it.grid, twin), 2 * half

    return it.case(released, expected)


# The hybrids ------------------------------------------------------------------------------------


def hybrid_top_k(noise: str) -> Matrix:
    """Against Ding 2020, algorithm 19."""
    return Matrix(_cells(), partial(_hybrid_top_k_case, noise=noise))


def _threshold(it: Choosing, choices: Choices) -> Fraction:
    """Near some answer, off the grid now and then."""
    near = choices.of(it.population.exact) + choices.of((0, 0, 1, -1)) * it.scale * choices.fraction()
    return near + choices.below(2) * it.grid / 3


def _hybrid_top_k_case(levels: Levels, seed: str, noise: str) -> RegimeCase:
    it = _choosing(levels, seed, noise, more=0)
    threshold = _threshold(it, Choices(f"threshold {seed}"))
    bar = threshold // it.grid * it.grid
    law = law_named(noise).continuous
    asked = it.asked(noise, it.k + 1)
    n = len(it.population.exact)

    def released(bits: BitSource) -> Hashable:
        found = fg.hybrid_top_k(
            it.population.answers, threshold, k=it.k, **it.arguments(bits, noise=noise, **asked)
        )
        places = it.population.places(found.labels) + ((n,) if found.reached else ())
        return places, found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        """The threshold is the last item here and the first one there."""
        values, sizes = it.population.exact, it.population.sizes
        members = contenders(
            [*values, bar],
            None if sizes is None else [*sizes, 1],
            law=law,
            scale=it.scale,
            digits=keyed(record, n + 1),
            top=it.k + 1,
            always=(n,),
        )
        (own,) = [m for m in members if m.group == n]
        listed = [own, *(m for m in members if m.group != n)]
        plan = it.plan(noise)
        order, gaps = hybrids.top_k_form(plan, bar).program(
            [values[m.group] for m in listed[1:]], draws(lambda i: listed[i].noise, twin=twin)
        )
        spent = hybrids.top_k_charge(plan, (order, gaps))
        return tuple(listed[i].group for i in order), tuple(floored(g, it.grid) for g in gaps), spent

    return it.case(released, expected)


def hybrid_sparse_vector(noise: str) -> Matrix:
    """Against Ding 2020, algorithm 20."""
    return Matrix(_cells(), partial(_hybrid_sparse_vector_case, noise=noise))


def _plan(it: Choosing) -> ThresholdPlan:
    """Half of ε for the threshold, so that an answer's noise has the scale of the case."""
    return ThresholdPlan.read(
        "hybrid_sparse_vector",
        k=it.k,
        epsilon=2 * it.c * it.sensitivity * it.k / it.scale,
        sensitivity=it.sensitivity,
        monotonic=it.monotonic,
        noise=it.noise,
        resolution=it.grid,
        share=Fraction(1, 2),
    )


def _hybrid_sparse_vector_case(levels: Levels, seed: str, noise: str) -> RegimeCase:
    it = _choosing(levels, seed, noise, more=0)
    threshold = _threshold(it, Choices(f"threshold {seed}"))
    plan = _plan(it)

    def released(bits: BitSource) -> Hashable:
        arguments = it.arguments(bits, epsilon=plan.epsilon, noise=noise, share=plan.share)
        found = fg.hybrid_sparse_vector(it.population.answers, threshold, k=it.k, **arguments)
        return it.population.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        return it.above(record, plan, threshold, twin)

    return it.case(released, expected)
