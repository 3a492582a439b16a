"""Mechanisms that compare with a threshold: sparse vectors, in batch and online, adaptive, hybrid, base 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import freegap as fg
from freegap import base2
from freegap.bits import BitSource
from freegap.laws import CONTINUOUS_NOISES, NOISES, ContinuousNoiseName, NoiseName, law_named
from freegap_evidence.assurance import base2_law
from freegap_evidence.assurance.at_once import above_at_once, runs_at_once
from freegap_evidence.assurance.one_by_one import gap_of_each, repeated, single
from freegap_evidence.assurance.regimes import base2 as base2_regimes
from freegap_evidence.assurance.regimes import ranking, thresholds
from freegap_evidence.assurance.regimes.case import asked, entries_of
from freegap_evidence.assurance.row import ENOUGH, EPSILON, NoFastPath, Proved, Released, Row, releasing
from freegap_evidence.assurance.rows.selection import LATE, WIDE, displaced, wide
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting, sparse_vector_law

SHARE = Fraction(2, 5)
ANSWERS = (1, -1)
PAIRS = (((1, 1, 0), (0, 0, 1)), ((2, -1), (1, 0)))
WITHOUT_GAP = 1e6  # one cell for all gaps


def rows() -> Iterator[Row]:
    """Each with every noise that it can be asked for."""
    for noise in NOISES:
        yield _sparse_vector("sparse_vector", noise)
        yield _sparse_vector("sparse_vector", noise, gap=False)
        yield _sparse_vector("SparseVector", noise)
        yield _sparse_vector("adaptive_sparse_vector", noise, halvings=1)
        yield _sparse_vector("AdaptiveSparseVector", noise, halvings=1)
    for noise in CONTINUOUS_NOISES:
        yield _hybrid(noise)
    for function in ("sparse_vector", "DiscreteSparseVector"):
        yield _base2((), function)
    for function in ("sparse_vector_with_gap", "DiscreteSparseVectorWithGap"):
        yield _base2((1, 2), function)
    yield _base2_unclamped()


def _law(noise: NoiseName, *, halvings: int = 0, gap: bool = True) -> Mapping[Any, float]:
    setting = ThresholdSetting(noise, float(EPSILON), 1, float(SHARE), halvings=halvings)
    grid, cells = (1.0, 26) if gap else (WITHOUT_GAP, 1)
    return sparse_vector_law(setting, [float(a) for a in ANSWERS], grid, cells)


def _entries(found: Any, halvings: int) -> tuple[Any, ...]:
    """For each question asked: None, or (place of the branch, gap)."""
    return entries_of(found, int, lambda gap, branch: (halvings - branch, gap))


def _sparse_vector(function: str, noise: NoiseName, *, halvings: int = 0, gap: bool = True) -> Row:
    """In batch or, where it is a class, online; adaptive where there are halvings."""
    mechanism = getattr(fg, function)
    is_class = isinstance(mechanism, type)
    # What is asked question by question gives the same on the same bits (`freegap.mechanisms.online`).
    at_once = fg.adaptive_sparse_vector if halvings else fg.sparse_vector
    options: dict[str, Any] = {"k": 1, "share": SHARE, "noise": noise, "resolution": 1}

    def entry(reply: Any) -> Any:
        return (halvings - reply.branch, int(reply.gap)) if reply else None

    def online(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        asking = mechanism(0, epsilon=epsilon, bits=bits, **options)
        return Released(*asked(asking, zip(answers, strict=True), entry))

    if not gap:
        options["gap"] = False
    # Without gaps the proof for geometric noise is the one with gaps: the output is a function of it.
    selected = {"gap": False} if not gap and not law_named(noise).lattice else None
    in_batch = releasing(mechanism, partial(_entries, halvings=halvings), 0, **options)
    return Row(
        function=function,
        noise=noise,
        variant="" if gap else "without gap",
        theorem="Ding 2020, theorem 5.3 for algorithm 16" if halvings else "Ding 2020, theorem 5.3",
        proof=Proved("adaptive sparse vector" if halvings else "sparse vector", selected),
        release=online if is_class else in_batch,
        at_once=runs_at_once(at_once, 0, **options),
        answers=ANSWERS,
        law=lambda: _law(noise, halvings=halvings, gap=gap),
        pairs=PAIRS if law_named(noise).one_sided else LATE,
        regimes=thresholds.sparse_vector(noise, online=is_class, gap=gap, adaptive=bool(halvings)),
    )


def _hybrid(noise: ContinuousNoiseName) -> Row:
    options: dict[str, Any] = {"k": 2, "share": SHARE, "noise": noise, "resolution": 1}

    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON), 2, float(SHARE))
        return HybridSparseVector(setting, [float(a) for a in ANSWERS], float(WIDE)).law(8)

    return Row(
        function="hybrid_sparse_vector",
        noise=noise,
        theorem="Ding 2020, lemma 5.11",
        proof=Proved("hybrid sparse vector"),
        release=releasing(
            fg.hybrid_sparse_vector, lambda it: (it.indices, wide(it.gap_multiples)), 0, **options
        ),
        at_once=above_at_once(0, 2, noise=noise, share=SHARE, resolution=1),
        answers=ANSWERS,
        law=law,
        pairs=(((9, 9, *[0] * 8), (8, 8, *[1] * 8)) if law_named(noise).one_sided else displaced(2, 8),),
        regimes=ranking.hybrid_sparse_vector(noise),
    )


# Base 2 ---------------------------------------------------------------------------------------

LOW, HIGH, WIDTH = -3, 3, 6


def _shares(epsilon: Fraction) -> tuple[base2.Eta, base2.Eta]:
    return base2.share_epsilon(epsilon, k=1)


def _bases() -> tuple[Fraction, Fraction]:
    """Of the noise of the threshold and of an answer, 2^(−η₁) and 2^(−η₂/2)."""
    one, two = _shares(EPSILON)
    return one.base, two.divided(2).base


def _base2(gaps: tuple[int, ...], function: str) -> Row:
    """In batch or, where it is a class, online."""
    mechanism: Any = getattr(base2, function)
    online = isinstance(mechanism, type)
    options: dict[str, Any] = {"k": 1, "low": LOW, "high": HIGH, "width": WIDTH}
    if gaps:
        options["gaps"] = gaps

    def reached(reply: Any) -> Any:
        """A reply without gaps is True or False."""
        return None if reply is None or reply is False else (0, 0 if reply is True else int(reply))

    def prepare(answers: Sequence[float], epsilon: Fraction) -> Callable[[BitSource], Released]:
        whole, eta = [int(answer) for answer in answers], _shares(epsilon)

        def release(bits: BitSource) -> Released:
            if online:
                asking = mechanism(0, eta=eta, bits=bits, **options)
                return Released(*asked(asking, zip(whole, strict=True), reached))
            found = mechanism(whole, 0, eta=eta, bits=bits, **options)
            return Released(_entries(found, 0), found.spent)

        return release

    def law() -> Mapping[Any, float]:
        exact = base2_law.sparse_vector(ANSWERS, k=1, w=WIDTH, gaps=gaps, bases=_bases())
        ladder = (0, *gaps)
        return {
            tuple(e if e is None else (0, ladder[e]) for e in output): float(p) for output, p in exact.items()
        }

    return Row(
        function=f"base2.{function}",
        noise="discrete Laplace",
        theorem="Ilvento 2020, theorem 3.3" if not gaps else "Ilvento 2020, section 5",
        proof=Proved("base-2 sparse vector with gap", {"width": 3}),
        release=single(prepare),
        at_once=repeated(prepare, gap_of_each),
        most_at_once=ENOUGH,
        answers=ANSWERS,
        law=law,
        pairs=PAIRS,
        regimes=base2_regimes.sparse_vector(with_gap=bool(gaps), online=online),
    )


def _base2_unclamped() -> Row:
    def prepare(answers: Sequence[float], epsilon: Fraction) -> Callable[[BitSource], Released]:
        whole, eta = [int(answer) for answer in answers], _shares(epsilon)

        def release(bits: BitSource) -> Released:
            found = base2.unclamped_sparse_vector(whole, 0, k=1, eta=eta, bits=bits)
            return Released(found.above, found.spent)

        return release

    def law() -> Mapping[Any, float]:
        exact = base2_law.unclamped_sparse_vector(ANSWERS, k=1, bases=_bases(), n=40)
        return {replies: float(p) for replies, p in exact.items()}

    return Row(
        function="base2.unclamped_sparse_vector",
        noise="discrete Laplace",
        theorem="Ilvento 2020, theorem 3.3 with w = ∞ (algorithm 1)",
        proof=Proved("base-2 sparse vector with gap", {"width": None}),
        release=single(prepare),
        at_once=repeated(prepare, lambda above, n: gap_of_each([(0, 0) if it else None for it in above], n)),
        most_at_once=ENOUGH,
        answers=ANSWERS,
        law=law,
        pairs=PAIRS,
        regimes=NoFastPath("the program of Ilvento 2020, algorithm 1, is itself what is run"),
    )
