"""Record and replay: neighbours on the same random numbers, and what they draw, side by side.

A finding of a trace says that two runs differ where a private program has no reason to differ, or that noise
is too narrow for what it hides. It is a place to look at, not a refutation: nothing is counted. What may
depend on the data through the output, as the number of draws of a sparse vector does, is compared only among
runs with the same output, real numbers aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freegap.auditor.claims import ConcentratedClaim, GaussianClaim
from freegap.auditor.inputs import Pair
from freegap.auditor.mechanism import Answers, Mechanism, Parameters, answers_text
from freegap.auditor.outputs import Outputs
from freegap.auditor.parameters import parameter_grid
from freegap.auditor.primitives import primitives_of
from freegap.auditor.programs import limit_runs, released
from freegap.auditor.reading import from_batch, from_objects
from freegap.auditor.recorded import (
    RecordedDraw,
    RecordingGenerator,
    RecordingNoise,
    RunRecord,
    generators_of,
)
from freegap.auditor.statistics import TestedClaim
from freegap.auditor.traced import TraceFinding
from freegap.auditor.whole_inputs import handed_over, shown

TRACED = 3  # answers, of the pairs that are traced
MOST_PAIRS = 12
REPLAYS = 16  # runs on each input
MOST_ALTERED = 16
FAR = 1e6  # widths by which a draw is altered
ROUNDING = 1e-9
_LOSES = frozenset(
    "laplace exponential standard_exponential geometric discrete_laplace gumbel logistic".split()
)
"""Methods whose noise of width b loses d/b, or more, where its centre moves by d."""
_GAUSSIAN = frozenset({"normal", "standard_normal"})


@dataclass(frozen=True)
class TracedRun:
    """One run: the output, what of it is no real number, and what was drawn."""

    output: Outputs
    skeleton: tuple[Any, ...]
    record: RunRecord

    @property
    def draws(self) -> list[RecordedDraw]:
        """In their order."""
        return self.record.draws

    @property
    def kinds(self) -> tuple[object, ...]:
        """What was drawn, where and how much of it."""
        return tuple(draw.kind for draw in self.draws)


def run_once(
    mechanism: Mechanism,
    answers: Answers,
    parameters: Parameters,
    seed: int,
    altered: tuple[int, float] | None = None,
) -> TracedRun:
    """One run on the random numbers of this seed."""
    rng, record = np.random.default_rng(seed), RunRecord(altered=altered)
    keywords: dict[str, Any] = {**mechanism.fixed, **dict(parameters)}
    if mechanism.noise is not None:
        recording = {
            "noise": RecordingNoise(rng, record),
            "rng": RecordingGenerator(rng.bit_generator, record),
        }
        keywords[mechanism.noise] = recording[mechanism.noise]
    many = mechanism.vectorized and mechanism.noise != "noise"
    with generators_of(record, rng), primitives_of(record):
        output = mechanism.function(handed_over(answers), **keywords, **({"size": 1} if many else {}))
    read = from_batch(output, 1) if many else from_objects([released(output)])
    return TracedRun(read, read.rows(1)[0], record)


def trace(
    mechanism: Mechanism, pairs: Sequence[Pair], scale: float, claim: TestedClaim, run_limit: float | None
) -> list[TraceFinding]:
    """What is noticed on these pairs, each thing once. scale: the noise scale to be expected."""
    found: dict[tuple[str, str], TraceFinding] = {}
    chosen = _chosen(pairs)
    with limit_runs(run_limit):
        for pair in chosen:
            parameters = parameter_grid(mechanism.found, pair, scale)[0]
            sides = [
                [run_once(mechanism, answers, parameters, seed) for seed in range(REPLAYS)]
                for answers in (pair.first, pair.second)
            ]
            texts = _text(pair.first), _text(pair.second)
            for finding in (*_alone(sides[0] + sides[1]), *_compared(sides, claim, texts)):
                found.setdefault((finding.kind, finding.site), finding)
        for finding in _unused(mechanism, chosen, scale):
            found.setdefault((finding.kind, finding.site), finding)
    return list(found.values())


def _chosen(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of a few answers; of the user's own, the first."""
    near = [pair for pair in pairs if not pair.far]
    length = min(TRACED, max(len(pair.first) for pair in near))
    return [pair for pair in near if pair.given or len(pair.first) == length][:MOST_PAIRS]


def _text(answers: Answers) -> Any:
    return answers_text(answers) if isinstance(shown(answers), list) else shown(answers)


# What shows in one run -----------------------------------------------------------------------------------


def _alone(runs: Iterable[TracedRun]) -> Iterator[TraceFinding]:
    for run in runs:
        for seed in run.record.seeds:
            site, _, text = seed.partition(", ")
            yield TraceFinding(
                "seed", site, f"a generator is made from a fixed one, {text}: every run has the same noise"
            )
        seen: dict[tuple[str, float], RecordedDraw] = {}
        for draw in run.draws:
            if draw.scale is None:
                continue
            before = seen.setdefault((draw.method, draw.raw), draw)
            if before is not draw and not np.isnan(draw.raw):
                yield TraceFinding("seed", draw.site, "the same random number was drawn twice in one run")
            if _shared(draw):
                yield TraceFinding(
                    "reuse",
                    draw.site,
                    "one draw is added to several numbers, which then tell their differences",
                )


def _shared(draw: RecordedDraw) -> bool:
    wider = any(centre.size > max(1, int(np.prod(draw.shape))) for centre in draw.centres)
    return wider or any(not _same(draw.centres[0], other) for other in draw.centres[1:])


def _same(one: Any, two: Any) -> bool:
    return bool(np.shape(one) == np.shape(two) and np.array_equal(one, two, equal_nan=True))


# What shows side by side ---------------------------------------------------------------------------------


def _compared(
    sides: Sequence[Sequence[TracedRun]], claim: TestedClaim, texts: tuple[Any, Any]
) -> Iterator[TraceFinding]:
    by_output = [_grouped(runs) for runs in sides]
    if None in by_output:  # drawn again and again until something fits: the number is random itself
        return
    first, second = ({} if side is None else side for side in by_output)
    for skeleton in first.keys() & second.keys():
        one, two = first[skeleton], second[skeleton]
        if one.kinds != two.kinds:
            yield _different(one, two, texts)
            continue
        for left, right in zip(one.draws, two.draws, strict=True):
            yield from _draws(left, right, claim, texts)


def _grouped(runs: Sequence[TracedRun]) -> dict[tuple[Any, ...], TracedRun] | None:
    """A run for each output; None where runs with the same output drew differently on one input."""
    found: dict[tuple[Any, ...], TracedRun] = {}
    for run in runs:
        if found.setdefault(run.skeleton, run).kinds != run.kinds:
            return None
    return found


def _different(one: TracedRun, two: TracedRun, texts: tuple[Any, Any]) -> TraceFinding:
    if len(one.draws) != len(two.draws) or [d.shape for d in one.draws] != [d.shape for d in two.draws]:
        numbers = [sum(max(1, int(np.prod(draw.shape))) for draw in run.draws) for run in (one, two)]
        text = f"{numbers[0]} and {numbers[1]} numbers are drawn, and the output does not show it"
        pairs = zip(one.draws, two.draws, strict=False)
        longer = max(one.draws, two.draws, key=len)
        site = next((a.site for a, b in pairs if a.kind != b.kind), longer[-1].site)
        return TraceFinding("draws", site, text, *texts)
    site = next(a.site for a, b in zip(one.draws, two.draws, strict=True) if a.kind != b.kind)
    text = "noise is drawn on another line, or by another law, and the output does not show it"
    return TraceFinding("control flow", site, text, *texts)


def _draws(
    one: RecordedDraw, two: RecordedDraw, claim: TestedClaim, texts: tuple[Any, Any]
) -> Iterator[TraceFinding]:
    if one.width is None or two.width is None:
        return
    if one.width.size == 0 or one.width.shape != two.width.shape:
        return
    if not np.allclose(one.width, two.width, rtol=ROUNDING, atol=0):
        both = f"{one.width.flat[0]:.6g} and {two.width.flat[0]:.6g}"
        yield TraceFinding("scale", one.site, f"how wide the noise is depends on the data: {both}", *texts)
        return
    if not one.centres or not two.centres or one.centres[0].shape != two.centres[0].shape:
        return
    moved = np.abs(one.centres[0] - two.centres[0])
    if moved.size == 0 or one.width.size not in (1, moved.size):
        return
    widths = np.resize(one.width, moved.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.nan_to_num(moved / widths, nan=0.0, posinf=np.inf)
    place = int(np.argmax(apart))
    most, by, width = float(apart.flat[place]), float(moved.flat[place]), float(widths.flat[place])
    if one.method in _LOSES and claim.epsilon is not None and most > claim.epsilon * (1 + ROUNDING):
        needed = f"noise of scale {width:.6g} hides {claim.epsilon * width:.6g} at ε = {claim.epsilon:g}"
        yield TraceFinding("sensitivity", one.site, f"what is noised moves by {by:.6g}; {needed}", *texts)
    if one.method in _GAUSSIAN:
        lost = _gaussian_loss(most, claim)
        if lost is not None and lost > claim.amount * (1 + ROUNDING):
            needed = f"with a standard deviation of {width:.6g} that costs {claim.symbol} = {lost:.6g}"
            yield TraceFinding("sensitivity", one.site, f"what is noised moves by {by:.6g}; {needed}", *texts)


def _gaussian_loss(moved: float, claim: TestedClaim) -> float | None:
    """What Gaussian noise loses where its centre moves by so many standard deviations, in the measure of the
    claim; None where that is no matter of one number."""
    if isinstance(claim, ConcentratedClaim):
        return moved**2 / 2
    return moved if isinstance(claim, GaussianClaim) else None


# What has no influence -----------------------------------------------------------------------------------


def _unused(mechanism: Mechanism, pairs: Sequence[Pair], scale: float) -> Iterator[TraceFinding]:
    """Draws that can be changed at will and nothing happens, at no place where their line is reached."""
    matters: dict[str, bool] = {}
    for pair, seed in ((pair, seed) for pair in pairs[:4] for seed in (0, 1, 2)):
        parameters = parameter_grid(mechanism.found, pair, scale)[0]
        plain = run_once(mechanism, pair.first, parameters, seed)
        for place, draw in enumerate(plain.draws[:MOST_ALTERED]):
            alterable = draw.scale is not None and not np.isnan(
                draw.raw
            )  # the noise of another library is not
            if alterable and not matters.get(draw.site, False):
                matters[draw.site] = any(
                    _changes(mechanism, pair.first, parameters, seed, (place, by), plain)
                    for by in (FAR, -FAR)
                )
    for site, some in matters.items():
        if not some:
            yield TraceFinding("unused", site, "whatever is drawn here, the output is the same")


def _changes(
    mechanism: Mechanism,
    answers: Answers,
    parameters: Parameters,
    seed: int,
    altered: tuple[int, float],
    plain: TracedRun,
) -> bool:
    try:
        other = run_once(mechanism, answers, parameters, seed, altered)
    except Exception:  # it mattered enough to end the run
        return True
    same = other.skeleton == plain.skeleton and np.array_equal(
        other.output.numbers, plain.output.numbers, equal_nan=True
    )
    return not same
