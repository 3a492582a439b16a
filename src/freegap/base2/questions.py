"""The discrete sparse vector as a program: a noisy threshold, then one question after the other.

Input    answers q_1, q_2, … minus the threshold, each of sensitivity Δ, in [Q_min, Q_max], on the grid γ
Noise    threshold: ρ ~ DiscLap^γ(Δ/η₁); each answer: ν ~ DiscLap^γ(2kΔ/η₂)
Release  ⊥ where q + ν < CLAMP(ρ, q, w); else ⊤ and the largest gap g of a public list with
         q + ν ≥ CLAMP(ρ, q, w) + g; until k times ⊤
Charge   η₁ + η₂·(number of ⊤)/k in base 2
Theorem  Ilvento 2020, theorem 3.3 (algorithm 2: no gaps) and section 5 (algorithm 4: gaps), simulated
         exactly as in algorithms 2, 3 and 5, with one correction (`reached_gap`).

Why it is private, in one line: CLAMP(ρ, q, w) − q is ρ − q clamped to [−w, w], so ρ + Δ on the neighbour is
never closer to the answer than ρ here (lemma 3.1), and never farther by more than 2Δ. The order matters:
the *difference* is clamped. A noisy threshold that is itself clamped to a largest value has no ρ + Δ at
that value, and leaks without bound (`examples/attack_saturating_sparse_vector.py`).

Everything here is in whole units of γ.
"""

from __future__ import annotations

from itertools import pairwise

from freegap.base2.draws import Draws
from freegap.base2.plan import Base2Plan
from freegap.base2.samplers import (
    clamped_laplace_at,
    conditional_lazy_threshold_at,
    lazy_threshold_at,
    symmetric_clamp,
)
from freegap.base2.weights import Weights
from freegap.errors import BudgetSpent


class Run:
    """One run of the mechanism (Ilvento 2020, algorithms 2 and 5): the noisy threshold is drawn at the start.

    found: how many questions were answered ⊤ so far; at k the run is over.
    """

    def __init__(self, plan: Base2Plan, draws: Draws) -> None:
        self.plan = plan
        self.found = 0
        self.rho = draw_threshold(plan, draws)
        self._draws = draws

    @property
    def exhausted(self) -> bool:
        """Whether k questions were answered ⊤."""
        return self.plan.is_over(self.found)

    def ask(self, answer: int) -> int | None:
        """None for ⊥, else the number of gaps reached (Ilvento 2020, algorithm 2, lines 6–7; algorithm 5,
        5–13).

        answer: the answer minus the threshold, within [Q_min, Q_max].
        """
        if self.exhausted:
            raise BudgetSpent(
                f"this run has released its {self.plan.k} answers above the threshold: nothing more may "
                "be asked of it. Start another run, with a budget of its own."
            )
        tau = self.distance(answer)
        if not lazy_threshold_at(self.plan.answer_weights, tau, self._draws):
            return None
        return self.passed(tau)

    def distance(self, answer: int) -> int:
        """τ = CLAMP(ρ̂, q, w) − q: what the noise of this answer must reach."""
        return symmetric_clamp(self.rho, answer, self.plan.width) - answer

    def passed(self, tau: int) -> int:
        """Count a ⊤, and draw the number of gaps reached by a noise that is known to be at least τ."""
        self.found += 1
        return reached_gap(self.plan.answer_weights, tau, self.plan.gaps, self._draws)


def draw_threshold(plan: Base2Plan, draws: Draws) -> int:
    """ρ̂: ρ clamped to [Q_min − w, Q_max + w] (Ilvento 2020, algorithm 2, line 3).

    Every later clamp, to within w of an answer, gives for ρ̂ what it would give for ρ.
    """
    low, high = plan.low - plan.threshold, plan.high - plan.threshold
    return clamped_laplace_at(plan.threshold_weights, low - plan.width, high + plan.width, draws)


def reached_gap(weights: Weights, tau: int, gaps: tuple[int, ...], draws: Draws) -> int:
    """How many of the rising gaps g_1 < g_2 < … a noise ν ≥ τ reaches: the number of j with ν ≥ τ + g_j.

    Ilvento 2020, algorithm 5, lines 8–13, corrected: what is known when gap j is tested is that gap j−1 was
    passed, ν ≥ τ + g_{j−1}. Line 11 conditions every test on ν ≥ τ instead. Its gaps are too small, and
    each passed test costs privacy anew, so that a long list of gaps breaks the guarantee.
    """
    for j, (passed, gap) in enumerate(pairwise((0, *gaps))):
        if not conditional_lazy_threshold_at(weights, tau + gap, tau + passed, draws):
            return j
    return len(gaps)
