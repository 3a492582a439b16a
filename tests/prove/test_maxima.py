"""The place of the largest noisy answer, as an ordinary program, is proved for every n."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.prover.check import problem_of
from freegap.prover.maxima import prove_maximum

from .test_loops import written


def everywhere(program: Any, neighbours: str = "each", epsilon: Any = 1, **parameters: Any) -> Any:
    return prove_maximum(
        problem_of(program, epsilon=epsilon, queries=1, neighbours=neighbours, parameters=parameters)
    )


def by_index(answers: Any, noise: Any, *, scale: Any) -> int:
    """The first of the largest."""
    noisy = [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]
    return noisy.index(max(noisy))


def by_key(answers: Any, noise: Any, *, scale: Any, law: str = "exponential") -> int:
    noisy = [answer + getattr(noise, law)(scale) for answer in answers]
    return max(range(len(noisy)), key=lambda place: noisy[place])


@pytest.mark.parametrize("program", [by_index, by_key])
@pytest.mark.parametrize(("neighbours", "scale"), [("each", 2), ("one", 2), ("monotonic", 1)])
def test_maxima(program: Any, neighbours: str, scale: int) -> None:
    proof = everywhere(program, neighbours, scale=scale)
    assert proof.holds
    assert proof.queries is None
    assert "on any number of answers" in proof.claim
    if neighbours != "one":  # which is proved with "each"
        assert everywhere(program, neighbours, scale=scale * Fraction(99, 100)) is None
    assert everywhere(program, neighbours, epsilon=2, scale=scale).holds
    assert everywhere(program, neighbours, epsilon=Fraction(1, 2), scale=scale) is None


def test_six_answers_are_as_easy_as_any() -> None:
    assert fg.prove(by_index, epsilon=1, queries=6, parameters={"scale": 2}).queries is None


def test_other_laws_are_left_to_others() -> None:
    for law in ("gumbel", "geometric", "normal", "uniform"):
        assert everywhere(by_key, scale=2, law=law) is None


_NOISY = "[a + noise.laplace(2, label=i) for i, a in enumerate(answers)]"
_BEST = "noisy.index(max(noisy))"
LEAKS = {
    "the least": (_NOISY, "noisy.index(min(noisy))", ""),
    "the largest answer": (_NOISY, "answers.index(max(answers))", ""),
    "the value too": (_NOISY, "(noisy.index(max(noisy)), max(noisy))", ""),
    "the value": (_NOISY, "max(noisy)", ""),
    "twice the answer": ("[2 * a + noise.laplace(2) for a in answers]", _BEST, ""),
    "without the answer of the round": ("[answers[0] + noise.laplace(2) for a in answers]", _BEST, ""),
    "less noise": ("[a - noise.laplace(2) / 4 for a in answers]", _BEST, ""),
    "noise of the answer": ("[a + noise.laplace(2 + abs(a)) for a in answers]", _BEST, ""),
    "noise of the place": (
        "[a + noise.laplace(2 if i < 5 else 1) for i, a in enumerate(answers)]",
        _BEST,
        "",
    ),
    "noise of the number": ("[a + noise.laplace(2 / len(answers)) for a in answers]", _BEST, ""),
    "no noise for some": ("[a + noise.laplace(2) if a > 0 else a for a in answers]", _BEST, ""),
    "some only": ("[a + noise.laplace(2) for a in answers if a > 0]", _BEST, ""),
    "all pairs": ("[a + noise.laplace(2) for a in answers for b in answers]", _BEST, ""),
    "one draw for all": ("[a + drawn for a in answers]", _BEST, "    drawn = noise.laplace(2)\n"),
    "a label with an effect": ("[a + noise.laplace(2, label=answers.pop()) for a in answers]", _BEST, ""),
    "other names": ("[noise + noise.laplace(2) for noise in answers]", _BEST, ""),
}


@pytest.mark.usefixtures("each_guard")
@pytest.mark.parametrize("leak", LEAKS)
def test_what_is_no_maximum(leak: str) -> None:
    noisy, told, before = LEAKS[leak]
    text = f"def program(answers, noise):\n{before}    noisy = {noisy}\n    return {told}\n"
    assert everywhere(written(text)) is None


def test_a_function_of_another_meaning() -> None:
    text = f"""
def max(values):
    return values[0]
def program(answers, noise):
    noisy = {_NOISY}
    return {_BEST}
"""
    assert everywhere(written(text)) is None
    assert everywhere(written(f"def program(answers, noise):\n    noisy = {_NOISY}\n    return {_BEST}\n"))
