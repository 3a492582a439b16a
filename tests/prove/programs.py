"""Right mechanisms with their alignments, each as in the papers, written for any kind of number.

Parameters: θ is `share`; ε₀ = θε for the threshold, ε₁ = (1 − θ)ε/k for each answer above it; c is 1 if
`monotonic`, else 2. An answer's noise is labelled by its place, the threshold's by "threshold".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Numbers = Sequence[Any]
Noise = dict[Any, Any]


def budgets(epsilon: Fraction, k: int, share: Fraction) -> tuple[Fraction, Fraction]:
    return share * epsilon, (1 - share) * epsilon / k


# Sparse vector (Ding 2020, algorithm 17) ----------------------------------------


def sparse_vector(
    answers: Numbers,
    noise: Any,
    *,
    k: int,
    share: Fraction,
    epsilon: Fraction,
    sensitivity: Fraction,
    threshold: Any = 0,
    monotonic: bool = False,
    law: str = "laplace",
    gap: bool = True,
) -> list[Any]:
    """None below the threshold; above it the gap, or True where gaps are not wanted."""
    first, each = budgets(epsilon, k, share)
    draw = getattr(noise, law)
    bar = threshold + draw(sensitivity / first, label="threshold")
    output: list[Any] = []
    left = k
    for i, answer in enumerate(answers):
        above = answer + draw((1 if monotonic else 2) * sensitivity / each, label=i) - bar
        if above >= 0:
            output.append(above if gap else True)
            left -= 1
        else:
            output.append(None)
        if left == 0:
            break
    return output


def sparse_vector_charge(output: Any, *, epsilon: Fraction, k: int, share: Fraction) -> Fraction:
    first, each = budgets(epsilon, k, share)
    return first + each * sum(entry is not None for entry in output)


def lift_of(answers: Numbers, neighbour: Numbers, sensitivity: Any, monotonic: bool) -> Any:
    """How much the threshold rises: by Δ, or not at all if no answer rises (Ding 2020, footnote 5)."""
    falling = monotonic and all(a >= b for a, b in zip(answers, neighbour, strict=True))
    return 0 if falling else sensitivity


def sparse_vector_alignment(
    answers: Numbers,
    neighbour: Numbers,
    output: Any,
    noise: Noise,
    *,
    sensitivity: Fraction,
    monotonic: bool = False,
) -> Noise:
    """Equation 5.1 without its first branch: raise the threshold, and with it the answers above."""
    lift = lift_of(answers, neighbour, sensitivity, monotonic)
    moved: Noise = {"threshold": noise["threshold"] + lift} if "threshold" in noise else {}
    for i, entry in enumerate(output):
        if entry is not None and i in noise:
            moved[i] = noise[i] + lift + answers[i] - neighbour[i]
    return moved


def renewing_sparse_vector(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Dwork and Roth's: a fresh threshold after each answer above it, which costs k times its noise."""
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(k * sensitivity / first, label=("threshold", 0))
    output: list[Any] = []
    for i, answer in enumerate(answers):
        above = answer + noise.laplace(2 * sensitivity / each, label=i) >= bar
        output.append(True if above else None)
        if above:
            count = output.count(True)
            if count == k:
                break
            bar = noise.laplace(k * sensitivity / first, label=("threshold", count))
    return output


def renewing_sparse_vector_alignment(
    answers: Numbers, neighbour: Numbers, output: Any, noise: Noise, *, sensitivity: Fraction
) -> Noise:
    moved: Noise = {label: value + sensitivity for label, value in noise.items() if isinstance(label, tuple)}
    for i, entry in enumerate(output):
        if entry is not None:
            moved[i] = noise[i] + sensitivity + answers[i] - neighbour[i]
    return moved


# Adaptive sparse vector (Ding 2020, algorithm 16) ----------------------------------------


def adaptive(
    answers: Numbers,
    noise: Any,
    *,
    k: int,
    share: Fraction,
    epsilon: Fraction,
    sensitivity: Fraction,
    branches: int = 1,
    monotonic: bool = False,
    law: str = "laplace",
    last_call: bool = True,
) -> list[Any]:
    """None below; above, the gap and the budget of the branch. `last_call=False` is the wrong rule: it
    goes on until the budget is exceeded, not until less than ε₁ is left."""
    first, each = budgets(epsilon, k, share)
    draw = getattr(noise, law)
    bar = draw(sensitivity / first, label="threshold")
    spent = first
    output: list[Any] = []
    for i, answer in enumerate(answers):
        ladder = [each / 2**b for b in range(branches, -1, -1)]
        scales = [(1 if monotonic else 2) * sensitivity / budget for budget in ladder]
        gaps = [answer + draw(s, label=(i, b)) - bar for b, s in enumerate(scales)]
        entry = None
        for gap, budget, scale in zip(gaps, ladder, scales, strict=True):
            if gap >= (0 if budget == each else 2 * scale):
                entry = (gap, budget)
                spent += budget
                break
        output.append(entry)
        if spent > (epsilon - each if last_call else epsilon):
            break
    return output


def adaptive_charge(output: Any, *, epsilon: Fraction, k: int, share: Fraction) -> Fraction:
    return budgets(epsilon, k, share)[0] + sum((entry[1] for entry in output if entry), Fraction(0))


def adaptive_alignment(
    answers: Numbers,
    neighbour: Numbers,
    output: Any,
    noise: Noise,
    *,
    sensitivity: Fraction,
    epsilon: Fraction,
    k: int,
    share: Fraction,
    branches: int = 1,
    monotonic: bool = False,
) -> Noise:
    """Equation 5.1."""
    lift = lift_of(answers, neighbour, sensitivity, monotonic)
    ladder = [budgets(epsilon, k, share)[1] / 2**b for b in range(branches, -1, -1)]
    moved: Noise = {"threshold": noise["threshold"] + lift}
    for i, entry in enumerate(output):
        if entry is not None:
            label = (i, ladder.index(entry[1]))
            moved[label] = noise[label] + lift + answers[i] - neighbour[i]
    return moved


# Top-k (Ding 2020, algorithm 18) ----------------------------------------


def top_k_alignment_of_the_paper(answers: Numbers, neighbour: Numbers, output: Any, noise: Noise) -> Noise:
    """Equations 5.3 and 5.4 to the letter: it raises t, the runner-up on the neighbour's side."""
    chosen = output[0]
    rest = [i for i in range(len(answers)) if i not in chosen]
    s = max(rest, key=lambda i: answers[i] + noise[i])
    t = max(rest, key=lambda i: neighbour[i] + noise[i])
    least = min(answers[i] - neighbour[i] for i in chosen)
    move = neighbour[t] + noise[t] - answers[s] - noise[s]
    if least + move >= 0:
        return {i: noise[i] + answers[i] - neighbour[i] + move for i in chosen}
    moved = {i: noise[i] + answers[i] - neighbour[i] - least for i in chosen}
    moved[t] = noise[t] - (least + move)
    return moved


def ranked(noisy: list[Any], count: int) -> list[int]:
    return sorted(range(len(noisy)), key=lambda i: noisy[i], reverse=True)[:count]
