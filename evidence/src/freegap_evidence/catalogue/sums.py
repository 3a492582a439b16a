"""Sums and histograms as streams, with their proofs for every number of answers.

They are private where a single answer moves (neighbours "one"), by at most Δ: one person is in one bin, or at
one time. What that answer is larger by is made up for once in each sum that it is a part of:

| form | one answer is a part of | private at |
|---|---|---|
| `histogram` | itself | Δ/scale |
| `prefix_sum` | itself: each sum is the last one and a noisy answer | Δ/scale |
| `partial_sum` | the sum | Δ/scale |
| `smart_sum` | itself, or not, and the sum of its block | 2Δ/scale |

>>> import freegap as fg
>>> from freegap_evidence.catalogue.sums import smart_sum
>>> proof = fg.prove(smart_sum(scale=2, block=3), epsilon=1, neighbours="one")
>>> proof.holds, proof.tightness.epsilon
(True, Fraction(1, 1))
"""

from __future__ import annotations

from typing import Any

from freegap.forms import Stream


def _no_shifts(*context: Any) -> dict[Any, Any]:
    return {}


def _own_change(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> dict[str, Any]:
    return {"answer": answer - neighbour}


def histogram(scale: Any) -> Stream:
    """Each bin with noise of its own."""

    def step(state: Any, answer: Any, noise: Any) -> tuple[Any, Any, bool]:
        return None, answer + noise.laplace(scale, label="answer"), False

    return Stream(lambda noise: None, step, _no_shifts, _own_change)


def prefix_sum(scale: Any) -> Stream:
    """All sums of the first answers, each answer with noise of its own (LightDP, CheckDP: PrefixSum)."""

    def step(total: Any, answer: Any, noise: Any) -> tuple[Any, Any, bool]:
        total = total + answer + noise.laplace(scale, label="answer")
        return total, total, False

    return Stream(lambda noise: 0, step, _no_shifts, _own_change)


def partial_sum(scale: Any) -> Stream:
    """The sum of all answers, with noise (LightDP, CheckDP: PartialSum)."""

    def step(total: Any, answer: Any, noise: Any) -> tuple[Any, Any, bool]:
        return total + answer, None, False

    def finish(total: Any, noise: Any) -> Any:
        return total + noise.laplace(scale, label="sum")

    def finish_shifts(direction: str, total: Any, entry: Any, other: Any) -> dict[str, Any]:
        return {"sum": total - other}

    return Stream(lambda noise: 0, step, _no_shifts, _no_shifts, finish=finish, finish_shifts=finish_shifts)


def smart_sum(scale: Any, block: int) -> Stream:
    """All sums of the first answers, with fewer noises in each (Chan, Shi and Song 2011; LightDP, CheckDP:
    SmartSum): one for each block that is complete, and one for each answer since.

    The state is the place in the block, the sum of the block so far, the noisy sum of the complete blocks,
    and that with the noisy answers since.
    """

    def step(state: Any, answer: Any, noise: Any) -> tuple[Any, Any, bool]:
        place, total, complete, sums = state
        drawn = noise.laplace(scale, label="answer")
        if place == block - 1:
            complete = complete + total + answer + drawn
            return (0, 0, complete, complete), complete, False
        sums = sums + answer + drawn
        return (place + 1, total + answer, complete, sums), sums, False

    def step_shifts(
        direction: str, state: Any, entry: Any, answer: Any, neighbour: Any, other: Any
    ) -> dict[str, Any]:
        earlier = state[1] - other[1] if state[0] == block - 1 else 0
        return {"answer": answer - neighbour + earlier}

    return Stream(lambda noise: (0, 0, 0, 0), step, _no_shifts, step_shifts, both_states=True)
