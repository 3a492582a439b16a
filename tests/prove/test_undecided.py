"""What cannot be decided is never a proof, and the line or the reason is given."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.symbolic import z3
from freegap.symbolic.subset import remember_source


def no_shift(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {}


def stops_by_a_coin(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(1)  # which rounds share
    while True:
        if answers[0] + noise.laplace(1) > bar:
            return True
        if noise.coin(0.5):
            return None


def test_a_loop_that_ends_at_random() -> None:
    """Its draws are hidden, and there is no bound on their number: not decided, and soon."""
    proof = fg.prove(stops_by_a_coin, epsilon=3, queries=1, growth=False)
    assert proof.holds is None
    assert "a loop that ends at random: no bound on its rounds is known" in str(proof.reason)
    assert "docs/prove.md has (test_undecided.py" in str(proof.reason)


def unbounded_loop(answers: Any, noise: Any) -> int:
    count = 0
    while answers[0] + noise.laplace(1, label=count) > 0:
        count += 1
    return count


def exponential_of_a_symbol(answers: Any, noise: Any) -> bool:
    return bool(math.exp(answers[0]) > 1)


def unknown_call(answers: Any, noise: Any) -> Any:
    return np.linalg.norm(answers)


@pytest.mark.parametrize(
    ("mechanism", "offset"), [(unbounded_loop, 2), (exponential_of_a_symbol, 1), (unknown_call, 1)]
)
def test_the_line_is_given(mechanism: Callable[..., Any], offset: int) -> None:
    proof = fg.prove(mechanism, no_shift, epsilon=1, queries=1)
    assert proof.holds is None
    assert proof.reason is not None
    assert f"test_undecided.py:{mechanism.__code__.co_firstlineno + offset}" in proof.reason
    assert not any(condition.holds for condition in proof.conditions)
    assert str(proof).startswith("not decided: ")


def test_unknown_noise() -> None:
    def program(answers: Any, noise: Any) -> bool:
        return bool(answers[0] + noise.gumbel(1) > 0)

    proof = fg.prove(program, no_shift, epsilon=1, queries=1)
    assert proof.holds is None
    assert "gumbel noise is not log-Lipschitz" in str(proof.reason)


def test_draws_that_the_output_does_not_tell() -> None:
    def program(answers: Any, noise: Any) -> str:
        if noise.laplace(1, label="first") > 0:
            noise.laplace(1, label="second")
        return "done"

    proof = fg.prove(program, no_shift, epsilon=1, queries=1)
    assert proof.holds  # as if the list of draws were released too, which is private here
    assert "as if the list were released" in next(c.how for c in proof.conditions if c.name == "draws")


def test_draws_that_the_output_does_not_tell_and_that_leak() -> None:
    """The output is the same, but the list of draws is not on the neighbour: nothing is proved."""

    def program(answers: Any, noise: Any) -> str:
        if answers[0] + noise.laplace(1, label="first") > 0:
            noise.laplace(1, label="second")
        return "done"

    assert not fg.prove(program, no_shift, epsilon=1, queries=1, counterexample=False)


def test_draws_that_the_numbers_tell() -> None:
    def program(answers: Any, noise: Any) -> Any:
        first = noise.laplace(1, label="first")
        if first > 0:
            return first
        noise.laplace(1, label="second")
        return first - 1

    proof = fg.prove(program, no_shift, epsilon=1, queries=1)
    assert proof.holds, str(proof)
    assert "1 pairs told apart" in str(proof)


def test_a_scale_that_depends_on_the_answers() -> None:
    def program(answers: Any, noise: Any) -> bool:
        return bool(noise.laplace(answers[0]) > 0)

    assert "depends on the answers" in str(fg.prove(program, no_shift, epsilon=1, queries=1).reason)


def test_uncountably_many_alignments() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(1, label="sum")

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {"sum": output - neighbour[0]}  # the right noise, but found by looking at the output

    proof = fg.prove(program, alignment, epsilon=1, queries=1)
    assert proof.holds is None
    assert "uncountably many" in str(proof.reason)


def test_objects_that_compare_by_identity() -> None:
    class Box:
        pass

    proof = fg.prove(lambda answers, noise: Box(), no_shift, epsilon=1, queries=1)
    assert "the outer name Box" in str(proof.reason)


def noisy_sum(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.laplace(1, label="sum")


def make_up(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {"sum": noise["sum"] + answers[0] - neighbour[0]}


def test_what_z3_does_not_decide_is_neither_right_nor_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(z3.Solver, "check", lambda self, *_: z3.unknown)
    proof = fg.prove(noisy_sum, make_up, epsilon=1, queries=1)
    assert proof.holds is None
    assert "z3 did not decide" in str(proof.reason)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"mechanism": 3}, "mechanism"),
        ({"mechanism": lambda answers: 0}, "mechanism"),
        ({"parameters": {"k": 1}}, "mechanism"),
        ({"alignment": lambda a, b, o, n, *, k: {}}, "alignment"),
        ({"alignment": 3}, "alignment"),
        ({"alignment": lambda a, b, o, n: [1]}, "alignment"),
        ({"alignment": lambda a, b, o, n: {"summ": 1}}, "alignment"),
        ({"alignment": lambda a, b, o, n: {"sum": "x"}}, "alignment"),
        ({"charge": 3}, "charge"),
        ({"epsilon": 0}, "epsilon"),
        ({"queries": 0}, "queries"),
        ({"queries": None}, "queries"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"neighbours": "near"}, "neighbours"),
        ({"resolution": 0}, "resolution"),
        ({"seconds": 0}, "seconds"),
        ({"samples": 0}, "samples"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"mechanism": noisy_sum, "alignment": no_shift, "epsilon": 1, "queries": 1}
    with pytest.raises(InvalidArgument) as caught:
        fg.prove(**(given | arguments))
    assert caught.value.argument == named


def test_without_z3_the_core_works_and_prove_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['z3'] = None\n"
        "import freegap as fg\n"
        "print(fg.noisy_max([1, 900], epsilon=1, bits=fg.SeededBits(1)).indices)\n"
        "try: fg.prove(lambda answers, noise: 0, lambda *_: {}, epsilon=1, queries=1)\n"
        "except fg.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.splitlines() == [
        "(1,)",
        "This needs z3-solver. Install it with: pip install 'freegap[prove]'",
    ]


def doubled_list(answers: Any, noise: Any) -> Any:
    items = [1]
    for _ in range(60):
        items = items + items
    return len(items)


def extended_list(answers: Any, noise: Any) -> Any:
    items = [1]
    for _ in range(60):
        items.extend(items)
    return len(items)


def doubled_text(answers: Any, noise: Any) -> Any:
    text = "a"
    for _ in range(60):
        text = f"{text}{text}"
    return text


def doubled_pair(answers: Any, noise: Any) -> Any:
    pair: Any = ()
    for _ in range(60):
        pair = (pair, pair)
    return pair


def deep_list(answers: Any, noise: Any) -> Any:
    items: Any = []
    for _ in range(900):
        items = [items]
    return items


@pytest.mark.parametrize("program", [doubled_list, extended_list, doubled_text, doubled_pair, deep_list])
def test_what_grows_without_end(program: Any) -> None:
    """Neither the memory nor the time for it is used."""
    proof = fg.prove(program, epsilon=1, queries=1)
    assert proof.holds is None
    assert "more than" in str(proof.reason)


def test_a_text_that_is_nested_too_deeply() -> None:
    text = f"def program(answers, noise):\n    return {'+'.join(['1'] * 900)}\n"
    remember_source("<deep>", text)
    space: dict[str, Any] = {}
    exec(compile(text, "<deep>", "exec"), space)  # noqa: S102
    assert "a recursion without a bound" in str(fg.prove(space["program"], epsilon=1, queries=1).reason)
