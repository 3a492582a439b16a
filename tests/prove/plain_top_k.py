"""Noisy top-k with gap as a function of its parameters, not of a plan: what a user writes for `fg.prove`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from freegap.forms import Change
from freegap.mechanisms.top_k import shifts

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
    items = [Change(answers[i], neighbour[i], noise[i]) for i in [*chosen, second]]
    moves, last = shifts(items[:-1], items[-1], best, one_sided=law != "laplace")
    return {i: noise[i] + move for i, move in zip([*chosen, second], [*moves, last], strict=True)}
