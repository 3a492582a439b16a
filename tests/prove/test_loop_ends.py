"""What follows a loop is not interpreted for every n: what is not plain to see is not proved."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest

import freegap as fg
from freegap.prover.loop_text import is_plain_label


def looked_up(_out: Any) -> Any:
    return sys._getframe(1).f_locals["answers"]


def by_the_frame(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return looked_up(out)


def by_locals(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return out, locals()


def by_vars(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return [vars() for _ in out]


def by_eval(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return out, eval("answers")  # noqa: S307


def by_a_label(answers: Any, noise: Any) -> Any:
    """Fails where two answers are equal, and there alone."""
    out = []
    for answer in answers:
        out.append(noise.laplace(1, label=answer) + answer)
    return out


def by_a_label_of_a_maximum(answers: Any, noise: Any) -> Any:
    noisy = [answer + noise.laplace(2, label=answer) for answer in answers]
    return noisy.index(max(noisy))


def by_the_class(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return out.__class__.__subclasses__()


def by_a_function_of_that_name(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        out.append(noise.laplace(1) + answer)
    return sum(out)  # which is not Python's


def plain(answers: Any, noise: Any) -> Any:
    out = []
    for i, answer in enumerate(answers):
        out.append(noise.laplace(1, label=("sum", i)) + answer)
    return len(out), max(out), out[0]


@pytest.mark.parametrize(
    "leaking",
    [by_the_frame, by_locals, by_vars, by_eval, by_a_label, by_a_label_of_a_maximum, by_the_class],
    ids=lambda function: str(function.__name__),
)
def test_what_looks_around_after_the_loop_is_not_proved(leaking: Any) -> None:
    assert not fg.prove(leaking, epsilon=1, neighbours="one", queries=2).holds


def test_a_function_with_a_name_of_pythons_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "sum", looked_up)
    assert not fg.prove(by_a_function_of_that_name, epsilon=1, neighbours="one", queries=2).holds


def test_functions_of_what_was_told_are_proved_for_every_n() -> None:
    proof = fg.prove(plain, epsilon=1, neighbours="one", queries=2)
    assert proof.holds
    assert "any number of answers" in proof.claim


@pytest.mark.usefixtures("each_guard")
def test_a_label_does_nothing_besides() -> None:
    """With three answers there is no label left, and no output."""

    def few(answers: Any, noise: Any) -> Any:
        out = []
        for i, answer in enumerate(answers):
            out.append(noise.laplace(1, label=("a", "b")[i]) + answer)
        return out

    proof = fg.prove(few, epsilon=1, neighbours="one", queries=2)
    assert "any number of answers" not in proof.claim


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("i", True),
        ("('sum', i + 1)", True),
        ("f'{i} of {size}'", True),
        ("answer", False),  # used twice where two answers are equal
        ("('sum', answer)", False),
        ("('a', 'b')[i]", False),  # an error from the third on
        ("told.append(i)", False),
        ("i if i else size", False),
        ("-i", False),
        ("(i := 3)", False),
        ("[i]", False),
    ],
)
def test_what_a_label_may_be_made_of(label: str, plain: bool) -> None:
    """By itself: other guards would refuse most of these as well."""
    assert is_plain_label(ast.parse(label, mode="eval").body, {"i", "size"}) is plain
