"""The executor follows ordinary Python, covers every input, and says so when it cannot follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import z3

from freegap.symbolic import (
    Limits,
    NotDecided,
    Path,
    SymbolicGenerator,
    SymbolicNoise,
    both,
    explore,
    integer,
    real,
)

X, Y, Z = real("x"), real("y"), real("z")


def covers_everything(paths: list[Path]) -> bool:
    """No input lies outside of all paths, and none on two of them."""
    conditions = [z3.And(path.condition) for path in paths]
    outside = z3.Solver()
    outside.add(z3.Not(z3.Or(conditions)))
    apart = all(_unsat(z3.And(a, b)) for i, a in enumerate(conditions) for b in conditions[i + 1 :])
    return outside.check() == z3.unsat and apart


def _unsat(formula: Any) -> bool:
    solver = z3.Solver()
    solver.add(formula)
    return bool(solver.check() == z3.unsat)


def test_sorting_has_a_path_for_each_order() -> None:
    paths = explore(lambda items: sorted(range(3), key=lambda i: items[i], reverse=True), [[X, Y, Z]])
    # At least one: from Python 3.15 on, `sorted` reaches some orders by two ways of comparing.
    assert {tuple(path.result) for path in paths} == set(permutations(range(3)))
    assert covers_everything(paths)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda a, b: max(a, b), ["x", "y"]),
        (lambda a, b: min([a, b, 3]), ["3", "x", "y"]),
        (lambda a, b: abs(a - b), ["-x + y", "x - y"]),
        (lambda a, b: int(np.argmax([a, b])), ["0", "1"]),
        (lambda a, b: np.maximum(a, np.float64(0.5)), ["0.5", "x"]),
        (lambda a, b: next(i for i, v in enumerate([a, b, 0]) if v >= 0), ["0", "1", "2"]),
        (lambda a, b: "both" if (a > 0) & (b > 0) else "not", ["both", "not"]),
    ],
)
def test_builtins_and_early_exit(function: Callable[..., Any], values: list[str]) -> None:
    paths = explore(function, [X, Y])
    assert sorted({str(path.result) for path in paths}) == values
    assert covers_everything(paths)


def test_a_program_agrees_with_its_paths_on_numbers() -> None:
    def program(items: list[Any]) -> Any:
        total, seen = 0, []
        for item in items:
            if item - total > 1:
                total = total + 2 * item
                seen.append(item)
            if len(seen) == 2:
                break
        return [total, *seen]

    names = [real(f"a{i}") for i in range(3)]
    variables = [next(iter(name.variables)) for name in names]
    paths = explore(program, [names])
    numbers = [Fraction(n, 2) for n in range(-3, 5)]
    for values in [(a, b, c) for a in numbers for b in numbers for c in numbers]:
        given = dict(zip(variables, values, strict=True))
        taken = [p for p in paths if all(c.substitute(given) is True for c in p.conditions)]
        assert len(taken) == 1
        expected = program(list(values))
        found = [v if isinstance(v, int) else v.substitute(given).as_constant() for v in taken[0].result]
        assert found == expected


def test_numpy_scalars_and_arrays_mix_with_symbols() -> None:
    assert str(np.float64(1.5) + X) == "x + 3/2"
    assert str(X * np.int64(3) - np.float32(0.25)) == "3*x - 1/4"
    assert str((np.array([1.0, 2.0]) - X)[1]) == "-x + 2"
    paths = explore(lambda x: np.float64(1.0) < x, [X])
    assert str(paths[0].result) == "-x + 1 < 0"
    assert explore(lambda x: x > -math.inf and x < np.inf, [X])[0].result is True


def test_generator_draws_are_replaced_by_symbols_or_by_zero() -> None:
    def mechanism(answers: list[Any], rng: Any) -> int:
        noisy = [a + rng.laplace(scale=2.0) for a in answers]
        return int(np.argmax(noisy))

    paths = explore(mechanism, [[X, Y], SymbolicGenerator()])
    assert [draw.law.name for draw in paths[0].draws] == ["laplace", "laplace"]
    assert {v.name for v in paths[0].conditions[0].variables} == {"x", "y", "noise[0]", "noise[1]"}
    silent = explore(mechanism, [[X, Y], SymbolicGenerator(lambda draw: 0)])
    assert {v.name for v in silent[0].conditions[0].variables} == {"x", "y"}
    assert len(explore(lambda rng: rng.laplace(0, 1, size=(2, 3)).sum(), [SymbolicGenerator()])[0].draws) == 6


def test_assumptions_prune_and_branches_carry_lines() -> None:
    def program(x: Any) -> str:
        return "high" if x > 0 else "low"

    (path,) = explore(program, [X], assuming=[X > 1])
    assert path.result == "high"
    assert path.conditions == ()
    assert path.branches[0].where is not None
    assert path.branches[0].where.line == program.__code__.co_firstlineno + 1


def test_integers_stay_on_their_lattice() -> None:
    n = integer("n")
    paths = explore(lambda n: "between" if both([n > 0, n < 1]) else "outside", [n])
    assert [path.result for path in paths] == ["outside"]
    half = integer("h", Fraction(1, 2))
    assert len(explore(lambda h: bool(both([h > 0, h < 1])), [half])) == 2


def _unbounded(x: Any) -> int:
    count = 0
    while x > count:
        count += 1
    return count


def _endless(x: Any) -> None:
    while True:
        x = x + 1


def _plain_endless(x: Any) -> None:
    while True:
        pass


def _careless(x: Any) -> Any:
    try:
        return math.exp(x)
    except Exception:
        return 0


def _fickle(x: Any, seen: list[int] = []) -> bool:  # noqa: B006 - the fault under test
    seen.append(1)
    return bool(x > len(seen))


@pytest.mark.parametrize(
    ("function", "reason", "offset"),
    [
        (_unbounded, "more than 400 branches", 2),
        (_endless, "more than 200000 lines", None),
        (_plain_endless, "more than 200000 lines", None),
        (_fickle, "differently when it is run again", 2),
        (lambda x: math.exp(x), "a float", 0),
        (_careless, "a float", 2),
        (lambda x: np.exp(x), "np.exp", 0),
        (lambda x: [1, 2][x], "an index", 0),
        (lambda x: 1 / x, "division by a symbol", 0),
        (lambda x: x // 2, "the floor", 0),
        (lambda x: "text" + x, "arithmetic of a symbol with 'text'", 0),
        (lambda x: {x: 1}, "TypeError", 0),
        (lambda x: x < "text", "compared with 'text'", 0),
    ],
)
def test_what_cannot_be_followed_is_not_decided(
    function: Callable[..., Any], reason: str, offset: int | None
) -> None:
    with pytest.raises(NotDecided, match=reason) as caught:
        explore(function, [X])
    assert caught.value.where is not None
    if offset is not None:
        assert caught.value.where.line == function.__code__.co_firstlineno + offset


def test_a_repeated_label_and_too_many_paths_are_not_decided() -> None:
    def twice(noise: SymbolicNoise) -> Any:
        return noise.laplace(1, label="a") + noise.laplace(1, label="a")

    with pytest.raises(NotDecided, match="two draws have the label 'a'"):
        explore(twice, [SymbolicNoise()])
    with pytest.raises(NotDecided, match="more than 5 paths"):
        explore(sorted, [[X, Y, Z]], limits=Limits(paths=5))


def test_runs_do_not_share_their_arguments() -> None:
    def greedy(items: list[Any]) -> int:
        while items and items.pop() > 0:
            pass
        return len(items)

    assert sorted(path.result for path in explore(greedy, [[X, Y]])) == [0, 0, 1]
