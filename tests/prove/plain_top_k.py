"""Noisy top-k with gap as a function of its parameters, not of a plan: what a user writes for `fg.prove`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .programs import Noise, Numbers


def program(
    answers: Numbers, noise: Any, *, k: int, scale: Any, law: str = "exponential"
) -> tuple[list[int], list[Any]]:
    draw = getattr(noise, law)
    noisy = [answer + draw(scale, label=i) for i, answer in enumerate(answers)]
    order = sorted(range(len(noisy)), key=lambda i: noisy[i], reverse=True)[: k + 1]
    return order[:k], [noisy[a] - noisy[b] for a, b in pairwise(order)]


def alignment(
    answers: Numbers, neighbour: Numbers, output: Any, noise: Noise, *, law: str = "exponential"
) -> Noise:
    chosen = output[0]
    rest = [i for i in range(len(answers)) if i not in chosen]
    second = max(rest, key=lambda i: answers[i] + noise[i])
    best = max(neighbour[i] + noise[i] for i in rest)
    changes = {i: answers[i] - neighbour[i] for i in [*chosen, second]}
    move = best - (answers[second] + noise[second])
    least = min(changes[i] for i in chosen)
    if law != "laplace" and least + move < 0:
        return {i: noise[i] + change - least for i, change in changes.items()}
    return {i: noise[i] + changes[i] + move for i in chosen} | {second: noise[second]}
