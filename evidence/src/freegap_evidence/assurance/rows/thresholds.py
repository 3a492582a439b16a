"""Mechanisms that compare with a threshold: sparse vectors, in batch and online, adaptive, hybrid, base 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import freegap as fg
from freegap import base2
from freegap.bits import BitSource
from freegap.laws import CONTINUOUS_NOISES, NOISES, ContinuousNoiseName, NoiseName, law_named
from freegap_evidence.assurance import base2_law
from freegap_evidence.assurance.regimes import base2 as base2_regimes
from freegap_evidence.assurance.regimes import ranking, thresholds
from freegap_evidence.assurance.row import EPSILON, NoFastPath, Proved, Released, Row
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting, sparse_vector_law

__all__ = ["rows"]

SHARE = Fraction(2, 5)
ANSWERS = (1, -1)
PAIRS = (((1, 1, 0), (0, 0, 1)), ((2, -1), (1, 0)))
WIDE = 3
WITHOUT_GAP = 1e6  # one cell for all gaps


def rows() -> Iterator[Row]:
    """Each with every noise that it can be asked for."""
    for noise in NOISES:
        yield _batch(noise, gap=True)
        yield _batch(noise, gap=False)
        yield _online(noise)
        yield _adaptive(noise)
        yield _adaptive_online(noise)
    for noise in CONTINUOUS_NOISES:
        yield _hybrid(noise)
    for gaps in ((), (1, 2)):
        for online in (False, True):
            yield _base2(gaps, online)
    yield _base2_unclamped()


def _law(noise: NoiseName, *, halvings: int = 0, gap: bool = True) -> Mapping[Any, float]:
    setting = ThresholdSetting(noise, float(EPSILON), 1, float(SHARE), halvings=halvings)
    grid, cells = (1.0, 26) if gap else (WITHOUT_GAP, 1)
    return sparse_vector_law(setting, [float(a) for a in ANSWERS], grid, cells)


def _entries(found: Any, halvings: int) -> tuple[Any, ...]:
    """For each question asked: None, or (place of the branch, gap)."""
    entries: list[Any] = [None] * found.answered
    gaps = found.gap_multiples or (0,) * len(found.indices)
    for i, multiple, branch in zip(found.indices, gaps, found.branches, strict=True):
        entries[i] = (halvings - branch, multiple)
    return tuple(entries)


def _asked(mechanism: Any, answers: Sequence[float], halvings: int) -> Released:
    """The same from an online mechanism, asked until it has nothing left."""
    entries: list[Any] = []
    for answer in answers:
        if mechanism.exhausted:
            break
        reply = mechanism.ask(answer)
        entries.append((halvings - reply.branch, int(reply.gap)) if reply else None)
    return Released(tuple(entries), mechanism.spent)


def _batch(noise: NoiseName, *, gap: bool) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.sparse_vector(
            list(answers), 0, k=1, epsilon=epsilon, share=SHARE, noise=noise, gap=gap, resolution=1, bits=bits
        )
        return Released(_entries(found, 0), found.spent)

    # Without gaps the proof for geometric noise is the one with gaps: the output is a function of it.
    selected = {"gap": False} if not gap and not law_named(noise).lattice else None
    return Row(
        function="sparse_vector",
        noise=noise,
        variant="" if gap else "without gap",
        theorem="Ding 2020, theorem 5.3",
        proof=Proved("sparse vector", selected),
        release=release,
        answers=ANSWERS,
        law=lambda: _law(noise, gap=gap),
        pairs=PAIRS,
        regimes=thresholds.sparse_vector(noise, gap=gap),
    )


def _online(noise: NoiseName) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        mechanism = fg.SparseVector(
            0, k=1, epsilon=epsilon, share=SHARE, noise=noise, resolution=1, bits=bits
        )
        return _asked(mechanism, answers, 0)

    return replace(
        _batch(noise, gap=True),
        function="SparseVector",
        release=release,
        regimes=thresholds.sparse_vector(noise, online=True),
    )


def _adaptive(noise: NoiseName) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.adaptive_sparse_vector(
            list(answers), 0, k=1, epsilon=epsilon, share=SHARE, noise=noise, resolution=1, bits=bits
        )
        return Released(_entries(found, 1), found.spent)

    return Row(
        function="adaptive_sparse_vector",
        noise=noise,
        theorem="Ding 2020, theorem 5.3 for algorithm 16",
        proof=Proved("adaptive sparse vector"),
        release=release,
        answers=ANSWERS,
        law=lambda: _law(noise, halvings=1),
        pairs=PAIRS,
        regimes=thresholds.adaptive(noise),
    )


def _adaptive_online(noise: NoiseName) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        mechanism = fg.AdaptiveSparseVector(
            0, k=1, epsilon=epsilon, share=SHARE, noise=noise, resolution=1, bits=bits
        )
        return _asked(mechanism, answers, 1)

    return replace(
        _adaptive(noise),
        function="AdaptiveSparseVector",
        release=release,
        regimes=thresholds.adaptive(noise, online=True),
    )


def _hybrid(noise: ContinuousNoiseName) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.hybrid_sparse_vector(
            list(answers), 0, k=2, epsilon=epsilon, share=SHARE, noise=noise, resolution=1, bits=bits
        )
        gaps = tuple(int(gap // WIDE) for gap in found.selected_gaps)
        return Released((found.indices, gaps), found.spent)

    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON), 2, float(SHARE))
        return HybridSparseVector(setting, [float(a) for a in ANSWERS], float(WIDE)).law(8)

    return Row(
        function="hybrid_sparse_vector",
        noise=noise,
        theorem="Ding 2020, lemma 5.11",
        proof=Proved("hybrid sparse vector"),
        release=release,
        answers=ANSWERS,
        law=law,
        pairs=(((1, 0, 0, 0, 0), (0, 1, 1, 1, 1)), ((1, 1, 0, 0, 0), (0, 0, 1, 1, 1))),
        regimes=ranking.hybrid_sparse_vector(noise),
    )


# Base 2 ---------------------------------------------------------------------------------------

LOW, HIGH, WIDTH = -3, 3, 6


def _base2(gaps: tuple[int, ...], online: bool) -> Row:
    def setting(epsilon: Fraction) -> dict[str, Any]:
        eta = base2.share_epsilon(epsilon, k=1)
        return {"k": 1, "eta": eta, "low": LOW, "high": HIGH, "width": WIDTH} | (
            {"gaps": gaps} if gaps else {}
        )

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        whole = [int(answer) for answer in answers]
        if online:
            kind = base2.DiscreteSparseVectorWithGap if gaps else base2.DiscreteSparseVector
            mechanism: Any = kind(0, **setting(epsilon), bits=bits)
            replies: list[Any] = []
            for answer in whole:
                if mechanism.exhausted:
                    break
                replies.append(_reached(mechanism.ask(answer)))
            return Released(tuple(replies), mechanism.spent)
        run = base2.sparse_vector_with_gap if gaps else base2.sparse_vector
        found: Any = run(whole, 0, **setting(epsilon), bits=bits)
        entries: list[Any] = [None] * found.answered
        reached = found.gap_multiples or (0,) * len(found.indices)
        for i, gap in zip(found.indices, reached, strict=True):
            entries[i] = int(gap)
        return Released(tuple(entries), found.spent)

    def law() -> Mapping[Any, float]:
        one, two = base2.share_epsilon(EPSILON, k=1)
        exact = base2_law.sparse_vector(
            ANSWERS, k=1, w=WIDTH, gaps=gaps, bases=(one.base, two.divided(2).base)
        )
        return {
            tuple(e if e is None else (0, *gaps)[e] for e in output): float(p) for output, p in exact.items()
        }

    names = (
        ("DiscreteSparseVector", "sparse_vector")
        if not gaps
        else ("DiscreteSparseVectorWithGap", "sparse_vector_with_gap")
    )
    return Row(
        function=f"base2.{names[0] if online else names[1]}",
        noise="discrete Laplace",
        theorem="Ilvento 2020, theorem 3.3" if not gaps else "Ilvento 2020, section 5",
        proof=Proved("base-2 sparse vector with gap", {"width": 3}),
        release=release,
        answers=ANSWERS,
        law=law,
        pairs=PAIRS,
        regimes=base2_regimes.sparse_vector(with_gap=bool(gaps), online=online),
    )


def _base2_unclamped() -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        eta = base2.share_epsilon(epsilon, k=1)
        found = base2.unclamped_sparse_vector([int(answer) for answer in answers], 0, k=1, eta=eta, bits=bits)
        return Released(found.above, found.spent)

    def law() -> Mapping[Any, float]:
        one, two = base2.share_epsilon(EPSILON, k=1)
        bases = (one.base, two.divided(2).base)
        exact = base2_law.unclamped_sparse_vector(ANSWERS, k=1, bases=bases, n=40)
        return {replies: float(p) for replies, p in exact.items()}

    return Row(
        function="base2.unclamped_sparse_vector",
        noise="discrete Laplace",
        theorem="Ilvento 2020, theorem 3.3 with w = ∞ (algorithm 1)",
        proof=Proved("base-2 sparse vector with gap", {"width": None}),
        release=release,
        answers=ANSWERS,
        law=law,
        pairs=PAIRS,
        regimes=NoFastPath("the program of Ilvento 2020, algorithm 1, is itself what is run"),
    )


def _reached(reply: Any) -> int | None:
    """Of an online reply: None below, else the gap; a reply without gaps is True or False."""
    return None if reply is None or reply is False else 0 if reply is True else int(reply)
