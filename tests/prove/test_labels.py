"""Two draws of one label may be one and the same to who provides the noise: nothing is proved of them, for a
size and for all n alike."""

from __future__ import annotations

from typing import Any

import pytest

import freegap as fg

pytestmark = pytest.mark.usefixtures("without_search")


def noisy_max(answers: Any, noise: Any) -> Any:
    noisy = [answer + noise.laplace(2, label="x") for answer in answers]
    return noisy.index(max(noisy))


def noisy_max_by_place(answers: Any, noise: Any) -> Any:
    noisy = [answer + noise.laplace(2, label=("x", 0)) for i, answer in enumerate(answers)]
    return noisy.index(max(noisy))


def above(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label="x") >= bar:
            return i
    return None


def above_with_the_noise_of_the_bar(answers: Any, noise: Any) -> Any:
    """Where it is the same, the first answer above 0 is put out."""
    bar = noise.laplace(2, label="x")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label="x") >= bar:
            return i
    return None


def above_by_position(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, "bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, "x") >= bar:
            return i
    return None


def above_now_and_then(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label=i % 7) >= bar:
            return i
    return None


def _noisy(noise: Any, answer: Any) -> Any:
    return answer + noise.laplace(4, label="x")


def above_by_a_function(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if _noisy(noise, answer) >= bar:
            return i
    return None


def until(answers: Any, noise: Any) -> Any:
    while True:
        value = answers[0] + noise.laplace(4, label="x")
        if value > 10:
            return value


@pytest.mark.parametrize(
    "program",
    [
        noisy_max, noisy_max_by_place, above, above_with_the_noise_of_the_bar, above_by_position,
        above_now_and_then, above_by_a_function, until,
    ],
)  # fmt: skip
def test_one_label_twice(program: Any) -> None:
    proof = fg.prove(program, epsilon=1, queries=9 if program is above_now_and_then else 3)
    assert proof.holds is None
    assert "two draws have the label" in str(proof.reason)


def test_labels_of_their_own() -> None:
    def named(answers: Any, noise: Any) -> Any:
        bar = noise.laplace(2, "bar")
        for i, answer in enumerate(answers):
            if answer + noise.laplace(4, label=f"answer {i}") >= bar:
                return i
        return None

    def numbered(answers: Any, noise: Any) -> Any:
        bar = noise.laplace(2, "bar")
        for i, answer in enumerate(answers):
            if answer + noise.laplace(4, (None, i)) >= bar:
                return i
        return None

    for program in (named, numbered):
        assert str(fg.prove(program, epsilon=1, queries=2)).startswith("proved: ")
