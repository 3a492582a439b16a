"""What each construct of the subset means: the interpreter and Python agree, and the rest is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

import freegap as fg
from freegap.forms import Selection
from freegap.symbolic import NotDecided, SymbolicNoise, real
from freegap.symbolic.subset import follow

X, Y = real("x"), real("y")
LIMIT = 2.5
STEPS = (1, 2, 3)


@dataclass(frozen=True)
class Plan:
    scale: Fraction
    steps: tuple[int, ...]

    @property
    def double(self) -> Fraction:
        return 2 * self.scale

    def at(self, i: int) -> int:
        return self.steps[i]


PLAN = Plan(Fraction(3, 2), (4, 5))


def helper(value: Any, *rest: Any, factor: Any = 2, **more: Any) -> Any:
    return value * factor + sum(rest) + len(more)


def loops(x: Any, y: Any) -> Any:
    total: Any = 0
    for i, (a, b) in enumerate(pairwise([x, y, 1]), start=1):
        if a > b:
            continue
        total += i * (b - a)
        if total > 5:
            break
    else:
        total = -total
    left = len(STEPS)
    while total > 0 and left:
        total -= 10
        left -= 1
    return total


def unpacks(x: Any, y: Any) -> Any:
    first, *middle, last = [x, 1, 2, y]
    (a, b), c = (first, last), middle
    c += [a]
    c[0] += 1
    table = {"a": a, **{"b": b}}
    table["a"] = table["a"] + table.get("z", 3)
    return [c, table, {i: i * i for i in range(2)}]


def functions(x: Any, y: Any) -> Any:
    def larger(a: Any, b: Any = LIMIT, *, flip: bool = False) -> Any:
        return a if (a > b) != flip else b

    adders = [lambda v, i=i: v + i for i in range(2)]
    return [
        larger(x),
        larger(y, x, flip=True),
        adders[1](x),
        helper(x, 1, y, factor=3, k=1),
        PLAN.double,
        PLAN.at(1),
    ]


def matches(x: Any, y: Any) -> Any:
    match [x > y, None, (1, "a")]:
        case [True, None, [1, text]]:
            return text
        case [False, _, (1 | 2, _)] if x < 0:
            return "low"
        case _:
            return None


def texts(x: Any, y: Any) -> Any:
    label = f"answer {len([x, y])}" + "!"
    return label if x > y else label * 2


def sorts(x: Any, y: Any) -> Any:
    values = [x, y, 0]
    order = sorted(range(3), key=lambda i: (-values[i], i))
    values.sort(reverse=True)
    return order, values, max(values, key=abs), min(x, y)


def walrus(x: Any, y: Any) -> Any:
    found = [(z := v + 1) for v in (x, y, 1) if v > 0]
    return found, z, any((w := v) > 1 for v in found) and w > 2


@pytest.mark.parametrize("program", [loops, unpacks, functions, matches, texts, sorts, walrus])
def test_the_interpreter_and_python_agree(program: Callable[..., Any]) -> None:
    """At a point of each path by `follow` itself, and on a lattice here."""
    paths = follow(program, [X, Y])
    variables = [next(iter(v.variables)) for v in (X, Y)]
    for a in range(-3, 5):
        for b in range(-3, 5):
            given = dict(zip(variables, (Fraction(a), Fraction(b)), strict=True))
            taken = [p for p in paths if all(c.substitute(given) is True for c in p.conditions)]
            assert len(taken) == 1
            assert _at(taken[0].result, given) == program(Fraction(a), Fraction(b))


def _at(value: Any, given: Any) -> Any:
    if hasattr(value, "substitute"):
        return value.substitute(given).as_constant()
    if isinstance(value, list | tuple):
        return type(value)(_at(item, given) for item in value)
    return {key: _at(item, given) for key, item in value.items()} if isinstance(value, dict) else value


def lazily(answers: Any, noise: Any) -> Any:
    return any(a + noise.laplace(1) > 0 for a in answers)


def test_a_generator_draws_only_what_is_asked_for() -> None:
    paths = follow(lazily, [[X, Y], SymbolicNoise()])
    assert sorted((path.result, len(path.draws)) for path in paths) == [(False, 2), (True, 1), (True, 2)]


MUTABLE = [1]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda x: MUTABLE[0], "the outer name MUTABLE"),
        (lambda x: x.conjugate(), "the attribute conjugate"),
        (lambda x: [v for v in {1, 2}], "the order of a set"),
        (lambda x: x @ x, "MatMult"),
        (lambda x: ~x, "Invert"),
        (lambda x: [1, 2][x], "an index"),
        (lambda x: 1 / x > 2, "rounded or divided"),
        (lambda x: x // 2 == 1, "rounded or divided"),
        (lambda x: str(round(x)), "rounded or divided"),
        (lambda x: isinstance(int(x), int), "rounded or divided"),
        (lambda x: {round(x): 1}, "rounded or divided"),
        (lambda x: sorted([x // 2, 0]), "rounded or divided"),
        (lambda x: x ** (x // 1), r"\*\* of a number"),
        (lambda x: x // 0, "ZeroDivisionError"),
        (lambda x: round(Fraction(1, 2)), "round of a real number"),
        (lambda x: x < "a", "no order"),
        (lambda x: "a" + x, r"\+ of a text"),
        (lambda x: {x: 1}, "as a key"),
        (lambda x: b"a", "type bytes"),
        (lambda x: undefined_name, "is not defined"),  # type: ignore[name-defined]  # noqa: F821
        (lambda x: x * 0, "a product with zero"),
        (lambda x: [1][3], "IndexError"),
        (lambda x: {"b": 1}["a"], "KeyError"),
        (lambda x: 2**1000, "a power"),
        (lambda x: 0.1 + 0.2 == 0.3, "rounded as floats"),
        (lambda x: (lambda f: f(f))(lambda f: f(f)), "recursion"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_line(program: Any, reason: str) -> None:
    with pytest.raises(NotDecided, match=reason) as caught:
        follow(program, [X])
    assert caught.value.where is not None
    assert caught.value.where.line == program.__code__.co_firstlineno


def test_python_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong meaning is seen when the real function is run: here that of `max`."""
    from freegap.symbolic.subset import builtins

    monkeypatch.setitem(builtins.BUILTINS, max, builtins.BUILTINS[min])
    with pytest.raises(NotDecided, match="disagree about the output"):
        follow(lambda x: max(x, 0.5), [X])


def noisy(answers: Any, noise: Any, *, scale: Any) -> Any:
    return answers[0] + noise.laplace(scale, label="sum")


def by_epsilon(answers: Any, noise: Any, *, e: Any) -> Any:
    return answers[0] + noise.laplace(1 / e, label="sum")


def shift(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {"sum": noise["sum"] + answers[0] - neighbour[0]}


def test_floats_are_their_shortest_decimals() -> None:
    for i in range(1, 100):
        e = i / 100
        proof = fg.prove(
            by_epsilon, shift, epsilon=e, queries=1, parameters={"e": e}, growth=False, tightness=False
        )
        assert proof.holds, e


def test_a_rounded_scale_is_said_to_be_one() -> None:
    """1/e in floats is below 1/e for some e: refuted, and the reason names the rounding."""
    verdicts = [
        fg.prove(noisy, shift, epsilon=e, queries=1, parameters={"scale": 1 / e}) for e in (0.07, 0.3, 0.49)
    ]
    assert any(proof.holds is False for proof in verdicts)
    verdicts += [
        fg.prove(noisy, epsilon=e, queries=1, parameters={"scale": 1 / e}, growth=False) for e in (0.49, 0.98)
    ]
    for proof in verdicts:
        assert proof.holds or "rounded as a float" in str(proof.reason)
    negative = fg.prove(noisy, shift, epsilon=1, queries=1, parameters={"scale": 1}, charge=lambda output: -1)
    assert negative.holds is False
    assert "rounded as a float" not in str(negative)


def test_an_exact_literal_and_a_rounded_one() -> None:
    assert fg.prove(
        lambda answers, noise: answers[0] + noise.laplace(0.1, label="sum"), shift, epsilon=10, queries=1
    )


def test_the_headlines() -> None:
    narrow: dict[str, Any] = {"epsilon": "1/2", "queries": 1, "parameters": {"scale": 1}}
    refuted = fg.prove(noisy, shift, **narrow, counterexample=False)
    assert str(refuted).startswith("this alignment does not prove it: noisy(scale=1)")
    assert str(fg.prove(noisy, shift, **narrow)).startswith("not true: noisy(scale=1)")
    undecided = fg.prove(lambda answers, noise: round(answers[0]) > 0, shift, epsilon=1, queries=1)
    assert "rounded" in str(undecided).splitlines()[1]


def test_no_raw_errors() -> None:
    def or_negative(answers: Any, noise: Any) -> Any:
        x = answers[0] + noise.laplace(1, label="x")
        return x if x > 0 else ("neg", x)

    assert fg.prove(or_negative, epsilon=1, queries=1).holds
    listed = fg.prove(lambda answers, noise: noise.laplace(1, label=[1]), shift, epsilon=1, queries=1)
    assert "as a key or label" in str(listed.reason)
    zero = fg.prove(lambda answers, noise: noise.geometric(1, resolution=0), shift, epsilon=1, queries=1)
    assert "must be a positive number" in str(zero.reason)
    with pytest.raises(fg.InvalidArgument, match=r"k = 1\.0"):
        Selection(1.0, "laplace", 2, shift, shift)  # type: ignore[arg-type]
