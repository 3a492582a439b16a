"""Mechanisms that claim to be private and are not. The wrong line carries the reason.

The sparse vectors are those of Lyu, Su and Li's comparison, with the faults they found; each is tried with
the right one's alignment.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .programs import Noise, Numbers, budgets, ranked


def noise_not_scaled_by_k(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Lee and Clifton 2014."""
    bar = noise.laplace(sensitivity / (share * epsilon), label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        scale = 2 * sensitivity / ((1 - share) * epsilon)  # each of k answers spends all of the budget
        output.append(True if answer + noise.laplace(scale, label=i) >= bar else None)
        if output.count(True) == k:
            break
    return output


def no_noise_on_answers(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Stoddard and others 2014."""
    bar = noise.laplace(sensitivity / (share * epsilon), label="threshold")
    return [True if answer >= bar else None for answer in answers]  # two answers are told apart exactly


def no_limit_on_answers_above(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Chen and others 2015."""
    first, each = budgets(epsilon, 1, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        above = answer + noise.laplace(2 * sensitivity / each, label=i) >= bar
        output.append(True if above else None)  # and on: each answer above costs again
    return output


def releases_the_noisy_answer(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Roth's lecture notes 2011."""
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        noisy = answer + noise.laplace(2 * sensitivity / each, label=i)
        output.append(noisy if noisy >= bar else None)  # it bounds the threshold for all answers below
        if output[-1] is not None:
            break
    return output


def no_noise_on_the_threshold(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    output: list[Any] = []
    for i, answer in enumerate(answers):
        above = answer + noise.laplace(2 * k * sensitivity / epsilon, label=i) >= 0
        output.append(True if above else None)  # each answer below costs as well
        if output.count(True) == k:
            break
    return output


def half_the_noise(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        gap = answer + noise.laplace(sensitivity / each, label=i) - bar  # enough for monotonic answers only
        output.append(gap if gap >= 0 else None)
        if sum(entry is not None for entry in output) == k:
            break
    return output


def gap_to_the_public_threshold(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        noisy = answer + noise.laplace(2 * sensitivity / each, label=i)
        output.append(noisy - 0 if noisy - bar >= 0 else None)  # the gap must be to the noisy threshold
        if output[-1] is not None:
            break
    return output


def one_answer_too_many(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    for i, answer in enumerate(answers):
        output.append(True if answer + noise.laplace(2 * sensitivity / each, label=i) >= bar else None)
        if output.count(True) > k:  # must stop at k: the budget is for k answers above
            break
    return output


def second_try_is_free(
    answers: Numbers, noise: Any, *, k: int, share: Fraction, epsilon: Fraction, sensitivity: Fraction
) -> list[Any]:
    """Adaptive: what the cheap branch missed is tried again, and that answer is never counted."""
    first, each = budgets(epsilon, k, share)
    bar = noise.laplace(sensitivity / first, label="threshold")
    output: list[Any] = []
    spent = first
    for i, answer in enumerate(answers):
        cheap = answer + noise.laplace(4 * sensitivity / each, label=(i, 0)) - bar
        again = answer + noise.laplace(2 * sensitivity / each, label=(i, 1)) - bar
        if cheap >= 8 * sensitivity / each:
            output.append((cheap, each / 2))
            spent += each / 2
        else:
            output.append((again, each) if again >= 0 else None)  # spent must grow by each here
        if spent > epsilon - each:
            break
    return output


SPARSE_VECTORS = (
    one_answer_too_many,
    noise_not_scaled_by_k,
    no_noise_on_answers,
    no_limit_on_answers_above,
    releases_the_noisy_answer,
    no_noise_on_the_threshold,
    half_the_noise,
    gap_to_the_public_threshold,
)


# Noisy max and top-k ------------------------------------------------------------


def releases_the_maximum(answers: Numbers, noise: Any, *, k: int, scale: Any) -> tuple[list[int], list[Any]]:
    noisy = [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]
    order = ranked(noisy, k)
    return order, [noisy[i] for i in order]  # values, where only gaps are free


def scale_without_k(answers: Numbers, noise: Any, *, k: int, scale: Any) -> tuple[list[int], list[Any]]:
    noisy = [
        answer + noise.laplace(scale / k, label=i) for i, answer in enumerate(answers)
    ]  # k times too small
    order = ranked(noisy, k + 1)
    return order[:k], [noisy[order[i]] - noisy[order[i + 1]] for i in range(k)]


def names_the_runner_up(answers: Numbers, noise: Any, *, k: int, scale: Any) -> tuple[list[int], list[Any]]:
    noisy = [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]
    order = ranked(noisy, k + 1)
    gaps = [noisy[order[i]] - noisy[order[i + 1]] for i in range(k)]
    return order[:k], [*gaps, order[k]]  # a selection more than was paid for


def gap_without_noise(answers: Numbers, noise: Any, *, k: int, scale: Any) -> tuple[list[int], list[Any]]:
    noisy = [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]
    order = ranked(noisy, k + 1)
    return order[:k], [answers[order[i]] - answers[order[i + 1]] for i in range(k)]  # exact


def value_instead_of_place(
    answers: Numbers, noise: Any, *, k: int, scale: Any, law: str = "laplace"
) -> tuple[list[int], list[Any]]:
    noisy = [answer + getattr(noise, law)(scale, label=i) for i, answer in enumerate(answers)]
    return [], [max(noisy)]  # the value of the maximum, which every answer moves


def exponential_value_instead_of_place(
    answers: Numbers, noise: Any, *, k: int, scale: Any
) -> tuple[list[int], list[Any]]:
    return value_instead_of_place(answers, noise, k=k, scale=scale, law="exponential")


def half_the_noise_of_the_maximum(
    answers: Numbers, noise: Any, *, k: int, scale: Any
) -> tuple[list[int], list[Any]]:
    # Enough for answers that all move the same way, and not for others.
    noisy = [answer + noise.laplace(scale / 2, label=i) for i, answer in enumerate(answers)]
    return ranked(noisy, k), []


NOISY_MAXIMA = (
    releases_the_maximum,
    scale_without_k,
    names_the_runner_up,
    gap_without_noise,
    value_instead_of_place,
    exponential_value_instead_of_place,
    half_the_noise_of_the_maximum,
)


def laplace_shifts(answers: Numbers, neighbour: Numbers, output: Any, noise: Noise) -> Noise:
    """Equation 5.2, also where the noise is exponential."""
    chosen = output[0]
    rest = [i for i in range(len(answers)) if i not in chosen]
    move = max(neighbour[i] + noise[i] for i in rest) - max(answers[i] + noise[i] for i in rest)
    return {i: noise[i] + answers[i] - neighbour[i] + move for i in chosen}
