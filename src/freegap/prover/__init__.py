"""Machine checks of randomness alignments: is this mechanism private, for all inputs of this size?

`prove` and its other side, `lower_bound`, are the whole of the public surface. This module imports nothing
that needs z3, so that the core of freegap works without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freegap.values.neighbours import Direction, Neighbours
from freegap.values.rationals import Rational

if TYPE_CHECKING:
    from freegap.prover.lower_bounds import LowerBound
    from freegap.prover.report import Proof

__all__ = ["lower_bound", "prove"]


def prove(
    mechanism: Any,
    alignment: Callable[..., Mapping[Any, Any]] | None = None,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    queries: int | None = None,
    sensitivity: Rational = 1,
    neighbours: Neighbours | Direction = "each",
    parameters: Mapping[str, Any] | None = None,
    charge: Callable[..., Any] | None = None,
    resolution: Rational | None = None,
    tightness: bool = True,
    growth: bool = True,
    counterexample: bool = True,
    seconds: Rational = 120,
    certificate: str | PathLike[str] | None = None,
    samples: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Proof:
    """Check by machine that a mechanism is ε-differentially private, or show where it is not.

    mechanism: a function of (answers, noise, **parameters) that draws `noise.laplace(scale, label=…)` and
        so on and returns its output; or a `Selection` or `Stream`, for a proof for every number of answers.
    alignment: a function of (answers, neighbour, output, noise, **parameters) that returns the aligned noise
        of the draws that it moves, by label. Leave it out to have one searched for.
    epsilon: the claim. With `charge`, the output may be charged less: charge(output, **parameters).
    rho: in its place, the claim in zero-concentrated differential privacy: for sums with Gaussian noise.
    queries: how many answers. The proof is for all inputs of this size, and of all sizes where it says so.
    neighbours: what one person can do to the answers: move "each" by at most the sensitivity, move "one",
        or move all the same way ("monotonic"). "increasing" or "decreasing" alone is one direction of the
        inequality; differential privacy needs both.
    parameters: the mechanism's own; `epsilon` and `sensitivity` are passed to functions that name them.
    resolution: answers are whole multiples of it, as discrete noise needs.
    tightness: also find the smallest ε that this alignment proves.
    growth: other sizes as well. Without an alignment, a program that is a loop over its answers is tried for
        all n first. Where that is not found, and with an alignment, one answer more is tried, with a warning
        where that fails or costs more: what holds at three answers need not hold at four.
    counterexample: where it is not proved, look for two neighbours and an event whose probabilities, in exact
        and ball arithmetic, differ by more than e^ε: `proof.counterexample`.
    seconds: for the whole claim; what is left then is not decided. Besides, each question to z3 may take
        so many steps, which z3 counts itself, so that an answer does not depend on the machine.
    certificate: a new folder, for what the proof rests on: each "unsat" of z3 as SMT-LIB, with its meaning.
    samples: do not prove, but replay the alignment on so many random and adversarial inputs, in exact
        arithmetic: for sizes beyond the symbolic, such as queries=1000. This can only refute.
    progress: called with what is being done, how many are done, and how many there are (0 if not known).

    >>> import freegap as fg
    >>> def noisy_sum(answers, noise, *, epsilon):
    ...     return answers[0] + noise.laplace(1 / epsilon, label="sum")
    >>> def alignment(answers, neighbour, output, noise):
    ...     return {"sum": noise["sum"] + answers[0] - neighbour[0]}
    >>> proof = fg.prove(noisy_sum, alignment, epsilon="1/2", queries=1)
    >>> proof.holds, proof.tightness.epsilon
    (True, Fraction(1, 2))
    """
    from freegap.symbolic import Certificate  # first, as it says what to install where z3 is missing
    from freegap.prover.routes import prove_any  # isort: skip

    folder = None if certificate is None else Path(certificate)
    written = None if folder is None else Certificate(folder)
    proof = prove_any(
        mechanism,
        alignment,
        epsilon=epsilon,
        rho=rho,
        queries=queries,
        sensitivity=sensitivity,
        neighbours=neighbours,
        parameters=parameters,
        charge=charge,
        resolution=resolution,
        tightness=tightness,
        growth=growth,
        counterexample=counterexample,
        seconds=seconds,
        certificate=written,
        samples=samples,
        progress=progress,
    )
    if folder is not None and written is not None and proof.holds:
        written.write(folder, proof.claim)
    return proof


def lower_bound(
    mechanism: Any,
    *,
    epsilon: Rational,
    queries: int | None = None,
    sensitivity: Rational = 1,
    neighbours: Neighbours | Direction = "each",
    parameters: Mapping[str, Any] | None = None,
    resolution: Rational | None = None,
    share: Rational = "0.99",
    seconds: Rational = 60,
) -> LowerBound:
    """How much a mechanism loses at least: neighbours and an event, with probabilities that are computed.

    The other side of `prove`: no ε below this one is true of the mechanism, which is certain, not a matter of
    samples. Where both meet, neither a better proof nor a better attack has anything to gain.

    mechanism: as in `prove`, a function of (answers, noise, **parameters), or a form.
    epsilon: the claim; it is passed to the mechanism if that names it.
    queries: how many answers. Left out, some small numbers are tried.
    neighbours, sensitivity, parameters, resolution: as in `prove`.
    share: the search ends when this share of ε is reached.
    seconds: for the whole search; then the largest loss that was seen is what is returned.

    >>> import freegap as fg
    >>> def noisy_max(answers, noise, *, epsilon):
    ...     noisy = [answer + noise.exponential(2 / epsilon) for answer in answers]
    ...     return max(range(len(noisy)), key=lambda i: noisy[i])
    >>> found = fg.lower_bound(noisy_max, epsilon="0.7", queries=2)
    >>> found.share > 0.99, found.witness.answers, str(found.witness.event)
    (True, (Fraction(25, 1), Fraction(-25, 1)), 'the output is 1')
    """
    from freegap.symbolic import Limits  # noqa: F401 - first, as it says what to install where z3 is missing
    from freegap.prover.lower_bounds import bound_loss  # isort: skip

    return bound_loss(
        mechanism,
        epsilon=epsilon,
        queries=queries,
        sensitivity=sensitivity,
        neighbours=neighbours,
        parameters=parameters,
        resolution=resolution,
        share=share,
        seconds=seconds,
    )
