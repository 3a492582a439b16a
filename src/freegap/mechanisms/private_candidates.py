"""Private selection from private candidates (Ilvento 2020, section 6, algorithms 6 and 7; Liu and Talwar
2019).

Input    candidates, each an ε_M-private mechanism; a score, ε_q-private or a function of the output alone
Draw     Q: a candidate uniformly at random, its output x, its score q; ε₁-private, ε₁ = ε_M + ε_q (lemma 6.1)
Release  algorithm 6: the first x with q ≥ τ; after each failure a coin ends the search with probability γ
         algorithm 7: the best of N draws, N geometric with parameter γ; equal scores: one at random
         the same with a logarithmic N, P(N = j) proportional to (1−γ)^j/j (Papernot and Steinke 2022, η = 0)
Charge   algorithm 6: 2ε₁, and with a hard stop after T draws 2ε₁ + ε₀; algorithm 7: 3ε₁, or 3ε₁ + 3ε₀; with a
         logarithmic N 2ε₁, for about ln(1/γ) times fewer draws
         (Ilvento 2020 prints 2ε₀ + ε₁ for algorithm 6; that does not hold, see
         tests/test_private_candidates.py)
T        the least whole number with T ≥ ln(2/ε₀)/γ and T ≥ 1 + 1/(e·γ), for ε₀ ≤ 1
         (Ilvento 2020 prints 1/(ε·γ), with an ε that is not among the inputs; e is Euler's number)

How many draws were made is not released, and must not become visible.

Why. Write β = 1 − γ, and a prime for the neighbour. By the choice of T, β^T ≤ e^(−γT) ≤ ε₀/2 ≤ 1 − e^(−ε₀),
and p(1−p)^(T−1) ≤ 1/(e(T−1)) ≤ γ for every p. Without a hard stop, put 0 for β^T.

Algorithm 6. Let p = P(q ≥ τ) and r = β(1−p). Then

    P(x) = Q(x)·(1 − r^T)/(1 − r)        P(⊥) = (1−p)·(γ + p(1−p)^(T−1)·β^T)/(1 − r)

Between neighbours Q(x), p and 1−p change by a factor of at most e^ε₁, and so does 1 − r = γ + βp. In P(x)
there remains 1 − r^T, within [1 − β^T, 1]; in P(⊥) the bracket, within [γ, γ(1 + β^T)]: e^ε₀ at most.
Together: 2ε₁ + ε₀.

Algorithm 7. For an output x with score s let a = P(q < s) and b = P(q ≤ s). The best of j draws has the
score s with probability b^j − a^j, and is then x with probability Q(x)/(b − a), since draws of equal score
are alike. Summed over the number of draws, with S = (b^T − a^T)/(b − a) = Σ_{i<T} b^i·a^(T−1−i):

    P(x) = Q(x)·γ/((1 − βa)(1 − βb))·(1 + R)        R = β^T·((1 − βa)(1 − b)·S/γ − a^T)

As before, 1 − βa and 1 − βb change by at most e^ε₁ each. It remains to bound R, from below by −β^T. From
above: (1 − βa)/γ = 1 + β(1−a)/γ. First, (1−b)·S ≤ T(1−b)b^(T−1) ≤ 1/2, since T ≥ 2. Second,
(1−a)(1−b)·S ≤ 4γ: in every term of S one of the two exponents is at least (T−1)/2; that power, times its
1−a or 1−b, is at most 2/(e(T−1)) ≤ 2γ, and what is left of such terms adds up to at most 1, once for a and
once for b. So R ≤ (1/2 + 4)·β^T, and (1 + R)/(1 + R') ≤ (1 + 9ε₀/4)/(1 − ε₀/2) ≤ e^(3ε₀). Together:
3ε₁ + 3ε₀.

A logarithmic N has E[z^N] = ln(1 − βz)/ln γ, so that with a and b as before

    P(x) = Q(x)·E[b^N − a^N]/(b − a) = Q(x)·β/ln(1/γ)·∫₀¹ du/(γ + β·((1−u)(1−a) + u(1−b)))

In the integral 1 − a = P(q ≥ s) and 1 − b = P(q > s) change by at most e^ε₁, hence each denominator, hence
the whole; and Q(x) once more. Together: 2ε₁.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from freegap.base2.draws import BitDraws, Draws
from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import REDACTED, InvalidArgument
from freegap.exact.integers import bernoulli, uniform_below
from freegap.mechanisms.candidate_programs import (
    Drawn,
    best_program,
    hard_stop_after,
    logarithmic,
    select_program,
)
from freegap.mechanisms.noisy_score import NoisyScore, Score, exact_score
from freegap.values.answers import named
from freegap.values.columns import Column
from freegap.values.measures import Pure, measure_argument
from freegap.values.plans import PlainPlan, ReleasePlan
from freegap.values.rationals import Rational, positive_rational, rational
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, text_of

Mechanism = Callable[[BitSource], Any]
Tries = Literal["geometric", "logarithmic"]


@dataclass(frozen=True, kw_only=True)
class Candidate(Release):
    """The selected candidate with its output and score; all None where none was good enough.

    index: its position in a list of candidates; None where they have labels, whose order can be private.
    """

    index: int | None
    label: Any
    output: Any = field(hash=False)
    score: Fraction | float | None

    @property
    def found(self) -> bool:
        """Whether a candidate was selected."""
        return self.score is not None

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return "Selected private candidate" if self.found else "No candidate reached the threshold"

    def columns(self) -> list[Column]:
        """Candidate and score."""
        labels, scores = ((self.label,), (self.score,)) if self.found else ((), ())
        form = ",.3f" if isinstance(self.score, Fraction) else ""
        return [Column("candidate", labels), Column("score", scores, float, form=form)]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, with the output as a text."""
        return {
            "mechanism": "private_candidate",
            "index": self.index,
            "label": jsonable(self.label),
            "output": None if self.output is None else text_of(self.output),
            "score": None if self.score is None else _plain_score(self.score),
            **self._common(),
        }


def _plain_score(score: Fraction | float) -> Any:
    return as_double(score) if isinstance(score, Fraction) else jsonable(score)


def select_private_candidate(
    candidates: Mapping[Any, Mechanism] | Sequence[Mechanism],
    score: Score | NoisyScore,
    threshold: Rational,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    stop: Rational,
    hard_stop: Rational | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Candidate:
    """A candidate whose score reaches a threshold, or none: 2ε₁-private, ε₁ for one candidate and score.

    Ilvento 2020, algorithm 6, charged as in Liu and Talwar 2019 (see the module). It is drawn again and
    again until a score reaches the threshold or the coin says stop; 1/stop draws are expected at most.

    candidates: private mechanisms, as a list or a dict by label. Each is called with a source of bits,
        must take all of its randomness from there, and must never fail on some data and not on others.
    score: a function from an output to a number. A plain function must not look at private data beyond the
        output; use `NoisyScore` for one that does.
    threshold: the public score that is good enough.
    epsilon: ε_M; each candidate alone is ε_M-private. (rho is refused: there is no theorem in ρ.)
    stop: the probability, after each draw, of giving up.
    hard_stop: ε₀, at most 1: what may be paid for never making more than a certain number of draws.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.
        That one charge covers all that the candidates draw, however often: give them no ledger.
    bits: leave out for a private release; a seeded source for tests.

    >>> import freegap as fg
    >>> data = {"a": 40, "b": 90, "c": 35}
    >>> candidates = {e: lambda bits, e=e: fg.noisy_max(data, epsilon=e, bits=bits) for e in ("0.1", "0.5")}
    >>> gap = lambda release: release.gaps[0]
    >>> chosen = fg.select_private_candidate(
    ...     candidates, gap, 20, epsilon="0.5", stop="0.01", bits=fg.SeededBits(1)
    ... )
    >>> chosen.output.labels, chosen.spent
    (('b',), Fraction(1, 1))
    """
    search = _CandidateSearch(candidates, score, epsilon, rho, stop, hard_stop, bits)
    limit = rational("threshold", threshold)
    return search.release(
        lambda: select_program(search.sample, search.stops, limit, search.steps),
        ledger,
        "select_private_candidate",
        threshold=limit,
        per_draw=2,
        per_stop=1,
    )


def best_private_candidate(
    candidates: Mapping[Any, Mechanism] | Sequence[Mechanism],
    score: Score | NoisyScore,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    stop: Rational,
    hard_stop: Rational | None = None,
    tries: Tries = "geometric",
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Candidate:
    """The best-scoring of a random number of draws: 3ε₁-private, or 2ε₁; ε₁ for one candidate and score.

    Ilvento 2020, algorithm 7, charged as in Liu and Talwar 2019 (see the module): 3ε₁, and 3ε₀ more with a
    hard stop. There are 1/stop draws on average, so every candidate comes up about 1/(stop·n) times.
    Arguments are those of `select_private_candidate`.

    tries: the law of the number of draws. "logarithmic" costs 2ε₁ (Papernot and Steinke 2022): there are
        (1−stop)/(stop·ln(1/stop)) draws on average, 21 for stop = 0.01, and often few. It has no hard stop.

    >>> import freegap as fg
    >>> data = {"a": 40, "b": 90, "c": 35}
    >>> candidates = {e: lambda bits, e=e: fg.noisy_max(data, epsilon=e, bits=bits) for e in ("0.1", "0.5")}
    >>> chosen = fg.best_private_candidate(
    ...     candidates, lambda release: release.gaps[0], epsilon="0.5", stop="0.1", hard_stop="0.1",
    ...     bits=fg.SeededBits(1),
    ... )
    >>> chosen.output.labels, chosen.spent, chosen.parameters["most_draws"]
    (('b',), Fraction(9, 5), 30)
    """
    search = _CandidateSearch(candidates, score, epsilon, rho, stop, hard_stop, bits)
    if not search.is_logarithmic(tries):
        return search.release(
            lambda: best_program(search.sample, search.stops, search.uniform, search.steps),
            ledger,
            "best_private_candidate",
            per_draw=3,
            per_stop=3,
            tries="geometric",
        )

    def program() -> Drawn:
        number = logarithmic(search.stops, search.uniform)
        return best_program(search.sample, lambda: False, search.uniform, number)

    return search.release(
        program, ledger, "best_private_candidate", per_draw=2, per_stop=0, tries="logarithmic"
    )


def sampler(
    mechanisms: Sequence[Mechanism], score: Score | NoisyScore, source: BitSource, draws: Draws
) -> Callable[[], Drawn]:
    """Q: a uniformly random candidate, its output and its score (Ilvento 2020, algorithm 7, GETSAMPLE)."""

    def sample() -> Drawn:
        index = uniform_below(len(mechanisms), source)
        output = mechanisms[index](source)
        if isinstance(score, NoisyScore):
            return Drawn(index, output, score.draw(output, draws))
        return Drawn(index, output, exact_score(score(output)))

    return sample


class _CandidateSearch:
    """The arguments that both mechanisms share, checked before anything is drawn."""

    def __init__(
        self,
        candidates: Any,
        score: Any,
        epsilon: Rational | None,
        rho: Rational | None,
        stop: Rational,
        hard_stop: Rational | None,
        bits: BitSource | None,
    ) -> None:
        self._names, mechanisms = _candidates_argument(candidates)
        self._number = len(mechanisms)
        if not isinstance(score, NoisyScore) and not callable(score):
            raise InvalidArgument("score", REDACTED, "must be callable", "Pass a function or a NoisyScore.")
        self._noise = (
            positive_rational("epsilon", score.epsilon) if isinstance(score, NoisyScore) else Fraction(0)
        )
        asked = measure_argument(epsilon=epsilon, rho=rho)
        if not isinstance(asked, Pure):
            raise InvalidArgument(
                asked.name,
                rho,
                "has no theorem here: private candidates are selected in the measure epsilon alone",
                "Pass epsilon=, what each candidate costs in ε.",
            )
        self._epsilon = asked.epsilon
        self._stop = positive_rational("stop", stop)
        if self._stop > 1:
            raise InvalidArgument("stop", stop, "must be at most 1", "It is the probability of giving up.")
        self._extra = Fraction(0) if hard_stop is None else positive_rational("hard_stop", hard_stop)
        if self._extra > 1:
            raise InvalidArgument("hard_stop", hard_stop, "must be at most 1", 'Pass for example "0.1".')
        self.steps = None if hard_stop is None else hard_stop_after(self._stop, self._extra)
        self._source = source_or_system(bits)
        self.sample = sampler(mechanisms, score, self._source, BitDraws(self._source))

    def is_logarithmic(self, tries: Any) -> bool:
        """Whether the number of draws is logarithmic, which has a theorem without a hard stop, for γ < 1."""
        if tries not in get_args(Tries):
            raise InvalidArgument("tries", tries, "is not known", 'Pass "geometric" or "logarithmic".')
        if tries != "logarithmic":
            return False
        if self.steps is not None:
            raise InvalidArgument(
                "hard_stop", self._extra, 'has no theorem with tries="logarithmic"', "Leave out one of them."
            )
        if self._stop == 1:
            raise InvalidArgument(
                "stop", self._stop, 'must be less than 1 with tries="logarithmic"', 'Pass for example "0.01".'
            )
        return True

    def stops(self) -> bool:
        """The coin: True with probability γ exactly."""
        return bernoulli(self._stop, self._source)

    def uniform(self, n: int) -> int:
        """Uniform on {0, …, n−1}."""
        return uniform_below(n, self._source)

    def release(
        self,
        search: Callable[[], Drawn | None],
        ledger: LedgerAndDataset | None,
        what: str,
        *,
        per_draw: int,
        per_stop: int,
        **public: Any,
    ) -> Candidate:
        """Search, charged per_draw·ε₁ + per_stop·ε₀."""
        each = self._epsilon + self._noise
        charge = per_draw * each + per_stop * self._extra
        parameters = {
            "candidates": self._number,
            "epsilon_of_each_draw": each,
            "stop": self._stop,
            "hard_stop": self._extra,
            "most_draws": self.steps,
            **public,
        }
        plan = PlainPlan(what, Pure(charge), parameters)
        return charged(ledger, plan, lambda: self._found(plan, search()))

    def _found(self, plan: ReleasePlan, drawn: Drawn | None) -> Candidate:
        return Candidate(
            plan=plan,
            index=None if drawn is None or self._names is not None else drawn.candidate,
            label=None if drawn is None else named(self._names, [drawn.candidate])[0],
            output=None if drawn is None else drawn.output,
            score=None if drawn is None else drawn.score,
            spent=plan.asked.spent,
            private=self._source.private,
        )


def _candidates_argument(candidates: Any) -> tuple[list[Any] | None, list[Mechanism]]:
    """The labels, if there are any, and the candidates. A draw is uniform, so that no order matters to it."""
    names: list[Any] | None = None
    mechanisms: list[Mechanism] = []
    if isinstance(candidates, Mapping):
        names, mechanisms = list(candidates), list(candidates.values())
    elif isinstance(candidates, Sequence) and not isinstance(candidates, str | bytes):
        mechanisms = list(candidates)
    if not mechanisms or not all(map(callable, mechanisms)):
        raise InvalidArgument(
            "candidates",
            REDACTED,
            "must be a list or a dict of functions, at least one",
            "Pass private mechanisms of a source of bits: lambda bits: noisy_max(..., bits=bits).",
        )
    return names, mechanisms
