"""Values for the parameters that nobody gave: a threshold, a bound on the number of answers, a flag.

Two heuristics of Ding 2020 §4.3.4 come from symbolic execution of the source (algorithm 4): noise is set to
zero by intercepting the draws, the parameters are symbols, the two inputs are concrete. First, counts that
occur in the scales of the noise get the value with the least noise. Second, the other parameters get a value
for which the two runs part at as many branches as possible, and give as many different outputs as possible:
a MaxSMT problem, solved by z3. The grid goes with them and stands in for them: it reaches far from the
answers on both sides, because the largest loss of a sparse vector lies at thresholds that no branch of the
noiseless program suggests.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.mechanism import Mechanism, Parameters, freeze, noise_parameter
from freegap.errors import MissingExtra

MOST_COUNT = 3
FARTHEST = 1000
STEPS = 20_000_000
MOST_COMBINATIONS = 24
MOST_CANDIDATES = 100
LONGEST_ANALYSED = 5
MOST_ANALYSED = 30

_COUNT_NAMES = {"n", "k", "count", "bound", "limit", "cutoff", "top", "number"}


def is_count(name: str, annotation: Any) -> bool:
    """Whether a parameter is a whole number of things, by its annotation or its name."""
    if annotation in (int, "int"):
        return True
    return annotation is inspect.Parameter.empty and name.lower() in _COUNT_NAMES


def numbers_found(found: Mapping[str, Any]) -> list[str]:
    """Those of the parameters to be found that are real numbers."""
    others = (bool, str, "bool", "str")
    return [name for name, kind in found.items() if kind not in others and not is_count(name, kind)]


def parameter_grid(found: Mapping[str, Any], pair: Pair, scale: float) -> list[Parameters]:
    """Combinations of values for the parameters to be found, the most promising first.

    scale: the noise scale to be expected.

    >>> pair = Pair((1, 1), (2, 2), "all above")
    >>> parameter_grid({"threshold": float}, pair, 1.0)[0]
    (('threshold', 1.5),)
    """
    if not found:
        return [()]
    values = [_values(name, kind, pair, scale) for name, kind in found.items()]
    combined = sorted(product(*[list(enumerate(options)) for options in values]), key=_farthest)
    return [
        freeze({name: value for name, (_, value) in zip(found, combination, strict=True)})
        for combination in combined[:MOST_COMBINATIONS]
    ]


def _farthest(combination: Sequence[tuple[int, Any]]) -> tuple[int, int]:
    """Order combinations by how far down the lists of values they reach, one list after the other."""
    places = [place for place, _ in combination]
    return sum(place > 0 for place in places), sum(places)


def _values(name: str, kind: Any, pair: Pair, scale: float) -> list[Any]:
    if kind in (bool, "bool"):
        return [True, False]
    if is_count(name, kind):
        return [1, 2, 3]
    if kind in (str, "str"):
        return [""]
    answers = (*pair.first, *pair.second) or (0,)
    middle = (min(answers) + max(answers)) / 2
    near = [middle, min(answers), max(answers)]
    far = [middle + sign * round(scale * steps, 2) for steps in (2, 4, 8, 16) for sign in (1, -1)]
    return list(dict.fromkeys(near + far))


def mutations(parameters: Parameters, found: Mapping[str, Any], scale: float) -> list[Parameters]:
    """Neighbours of good parameters: numbers moved by a few noise scales, counts by one."""
    moved: list[Parameters] = []
    for name, value in parameters:
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if is_count(name, found.get(name)):
            options: list[float] = [value + 1, value - 1] if value > 1 else [value + 1]
        else:
            options = [round(value + sign * scale * step, 2) for step in (1, 3) for sign in (1, -1)]
        moved += [freeze({**dict(parameters), name: option}) for option in options]
    return moved


# By symbolic execution -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Analysis:
    """Parameters that the source suggests for a pair; `trouble` says why there are none."""

    parameters: tuple[Parameters, ...]
    trouble: str | None = None


def analyse(
    function: Callable[..., Any], found: Mapping[str, Any], fixed: Mapping[str, Any], pair: Pair
) -> Analysis:
    """What algorithm 4 proposes for this pair of inputs.

    >>> def above(answers, threshold, epsilon, rng):
    ...     noisy = threshold + rng.laplace(scale=1 / epsilon)
    ...     return [answer >= noisy for answer in answers]
    >>> pair = Pair((1, 1), (2, 2), "all above")
    >>> ((name, value),) = analyse(above, {"threshold": float}, {"epsilon": 1.0}, pair).parameters[0]
    >>> name, 1 < value <= 2
    ('threshold', True)
    """
    try:
        from freegap.symbolic import NotDecided
    except MissingExtra as missing:
        return Analysis((), str(missing))
    odd = [name for name, kind in found.items() if kind in (bool, str, "bool", "str")]
    if odd:
        return Analysis((), f"the parameter {odd[0]} is not a number")
    counts = [name for name, kind in found.items() if is_count(name, kind)]
    others = [name for name in found if name not in counts]
    program = _Program(function, dict(fixed), noise_parameter(function) or "rng")
    try:
        least = _least_noise(program, counts, others, pair)
        parted = _most_parted(program, least, others, pair)
    except NotDecided as undecided:
        return Analysis((), str(undecided))
    return Analysis((freeze({**least, **parted}),))


@dataclass(frozen=True)
class _Program:
    """The mechanism as a function of the answers, a recorder of draws and the parameters in order."""

    function: Callable[..., Any]
    fixed: Mapping[str, Any]
    noise: str

    def paths(self, answers: Sequence[float], values: Mapping[str, Any], assuming: Sequence[Any] = ()) -> Any:
        from freegap.symbolic import Condition, Limits, SymbolicGenerator, SymbolicNoise, explore

        names = list(values)

        def run(items: list[Any], noise: Any, *given: Any) -> Any:
            parameters = {self.noise: noise, **self.fixed, **dict(zip(names, given, strict=True))}
            result = self.function(items, **parameters)
            # a comparison that is put out and not branched on parts the two runs all the same
            return [bool(item) if isinstance(item, Condition) else item for item in _items(result)]

        silent = (SymbolicNoise if self.noise == "noise" else SymbolicGenerator)(lambda draw: 0)
        limits = Limits(paths=400, branches=200, effort=6_000_000)
        return explore(run, [list(answers), silent, *values.values()], assuming=assuming, limits=limits)


def _least_noise(
    program: _Program, counts: Sequence[str], others: Sequence[str], pair: Pair
) -> dict[str, int]:
    """For each count, the smallest value with the least noise, the other counts being at 1."""
    middle = sum((*pair.first, *pair.second)) / (2 * len(pair.first))
    chosen = dict.fromkeys(counts, 1)
    for name in counts:
        noise = {}
        for value in range(1, MOST_COUNT + 1):
            values = {**chosen, name: value, **dict.fromkeys(others, middle)}
            paths = program.paths(pair.first, values)
            noise[value] = max((float(draw.scale) for path in paths for draw in path.draws), default=0.0)
        chosen[name] = min(noise, key=lambda value: (noise[value], value))
    return chosen


def _most_parted(
    program: _Program, counts: Mapping[str, int], others: Sequence[str], pair: Pair
) -> dict[str, float]:
    """Values for which the two noiseless runs differ the most."""
    if not others:
        return {}
    from freegap.symbolic import NotDecided, real, z3

    symbols = {name: real(name) for name in others}
    within = [condition for s in symbols.values() for condition in (s <= FARTHEST, s >= -FARTHEST)]
    first = program.paths(pair.first, {**counts, **symbols}, within)
    second = program.paths(pair.second, {**counts, **symbols}, within)
    solver = z3.Optimize()
    solver.set("rlimit", STEPS)
    for condition in within:
        solver.add(condition.z3)
    for place in range(max(len(path.branches) for path in (*first, *second))):
        solver.add_soft(z3.Or([z3.And(a, b) for a, b in _parting(first, second, _branch(place))]))
    for place in range(max(len(_items(path.result)) for path in (*first, *second))):
        solver.add_soft(z3.Or([z3.And(a, b) for a, b in _parting(first, second, _output(place))]))
    if solver.check() != z3.sat:
        raise NotDecided("z3 found no parameters in time")
    model = solver.model()
    return {name: _number(model.eval(symbols[name].z3, model_completion=True)) for name in others}


def _parting(first: Any, second: Any, look: Callable[[Any], object]) -> list[tuple[Any, Any]]:
    """The pairs of paths that differ in what is looked at."""
    from freegap.symbolic import z3

    return [
        (z3.And(one.condition), z3.And(two.condition))
        for one in first
        for two in second
        if look(one) != look(two)
    ]


def _branch(place: int) -> Callable[[Any], object]:
    """Which side a path took at its n-th branch; None if it had ended."""
    return lambda path: path.branches[place].direction if place < len(path.branches) else None


def _output(place: int) -> Callable[[Any], object]:
    """What a path put out at a place, as far as it is a plain value."""

    def look(path: Any) -> object:
        items = _items(path.result)
        if place >= len(items):
            return None
        item = items[place]
        return item if isinstance(item, bool | int | float | str) else "a number"

    return look


def _items(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def _number(value: Any) -> float:
    """A model's rational as a short decimal, where it is one."""
    fraction = Fraction(value.numerator_as_long(), value.denominator_as_long())
    whole = int(fraction)
    return whole if fraction == whole else float(fraction)


# What the race starts from -------------------------------------------------------------------------------


@dataclass
class Proposals:
    """Pairs with parameters, from the source where it can be followed (Ding 2020, algorithm 4) and from a
    grid.

    scale: the noise scale to be expected.
    scalar: the mechanism as plain code, one run at a time; None where there is none to follow.
    trouble: why the source could not be followed.
    """

    mechanism: Mechanism
    pairs: Sequence[Pair]
    scale: float
    scalar: Callable[..., Any] | None
    most: int = MOST_CANDIDATES
    trouble: str | None = None
    _known: dict[object, tuple[Parameters, ...]] = field(default_factory=dict)

    @property
    def first(self) -> Parameters:
        """The first of the grid of the first pair."""
        return parameter_grid(self.mechanism.found, self.pairs[0], self.scale)[0]

    def candidates(self) -> list[SearchCandidate]:
        """The best parameters of every pair first, then more of them for long pairs."""
        longest = max(len(pair.first) for pair in self.pairs if not pair.far)
        # of each pattern a short pair is analysed, and the longer ones take over what it says
        for pair in sorted(self.pairs, key=lambda pair: -len(pair.first)):
            if len(pair.first) <= LONGEST_ANALYSED and not pair.far:
                self.suggested(pair)
        grids = []
        for pair in self.pairs:
            grid = parameter_grid(self.mechanism.found, pair, self.scale)
            short = pair.far or len(pair.first) < longest // 2
            grids.append(list(dict.fromkeys([*self.suggested(pair), *grid[: 1 if short else None]])))
        deepest = max(map(len, grids))
        ordered = [
            SearchCandidate(pair, grid[depth])
            for depth in range(deepest)
            for pair, grid in zip(self.pairs, grids, strict=True)
            if depth < len(grid)
        ]
        return list(dict.fromkeys(ordered))[: self.most]

    def suggested(self, pair: Pair) -> tuple[Parameters, ...]:
        """What the source suggests, until it turns out that it cannot be followed."""
        if not self.mechanism.found or self.scalar is None or self.trouble is not None:
            return ()
        pattern = pair if pair.given else (pair.category, pair.far)
        if pattern in self._known:
            return self._known[pattern]
        if len(self._known) >= MOST_ANALYSED:
            return ()
        if pair.whole:
            self.trouble = "the inputs are no lists of answers"
            return ()
        if self.mechanism.noise is None:
            self.trouble = "the mechanism makes its own noise, which cannot be set to zero"
            return ()
        found = analyse(self.scalar, self.mechanism.found, self.mechanism.fixed, pair)
        self.trouble = found.trouble
        self._known[pattern] = found.parameters
        return found.parameters
