"""Forms of which none is private at ε = 1 (a composition: at 2), as a researcher may write them by mistake:
the wrong variants of sparse vector of Lyu, Su and Li (2017) and others, sums, selections, rankings, and parts
that follow each other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from freegap import Composition, Ranking, Selection, Stream

_ONE = {"neighbours": "one"}


def _bar(noise: Any) -> Any:
    return noise.laplace(2, label="bar"), 2


def _lift(direction: str) -> Any:
    return {"bar": 1}


def _moves(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
    return {"x": 1 + answer - neighbour} if entry else {}


def _own(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
    return {"x": answer - neighbour}


def _none(*context: Any) -> Any:
    return {}


def _zero(noise: Any) -> Any:
    return 0


def _makes_up(direction: str, state: Any, entry: Any, other: Any) -> Any:
    return {"x": state - other}


def _left(state: Any, hit: Any) -> Any:
    return state[0], state[1] - 1 if hit else state[1]


def _value(state: Any, answer: Any, noise: Any) -> Any:
    value = answer + noise.laplace(8, label="x")
    hit = value >= state[0]
    return _left(state, hit), value if hit else None, hit and state[1] <= 1


def _above(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
    return {} if entry is None else {"x": 1 + answer - neighbour}


def _again(state: Any, answer: Any, noise: Any) -> Any:
    hit = answer + noise.laplace(8, label="x") >= state[0]
    bar = noise.laplace(2, label="again") if hit else state[0]
    return (bar, state[1] - 1 if hit else state[1]), hit, hit and state[1] <= 1


def _measured_too(state: Any, answer: Any, noise: Any) -> Any:
    hit = answer + noise.laplace(8, label="x") >= state[0]
    told = answer + noise.laplace(4, label="y") if hit else None
    return _left(state, hit), told, hit and state[1] <= 1


def _near(state: Any, answer: Any, noise: Any) -> Any:
    gap = answer + noise.laplace(8, label="x") - state[0]
    return _left(state, gap >= 0), (gap >= 0, gap >= -1), gap >= 0 and state[1] <= 1


def _far(state: Any, answer: Any, noise: Any) -> Any:
    gap = answer + noise.laplace(8, label="x") - state[0]
    told = "above" if gap >= 0 else "far" if gap < -100 else "below"
    return _left(state, gap >= 0), told, gap >= 0 and state[1] <= 1


def _last_noisy(state: Any, answer: Any, noise: Any) -> Any:
    value = answer + noise.laplace(8, label="x")
    hit = value >= state[0]
    return (value, state[1] - 1 if hit else state[1]), hit, hit and state[1] <= 1


def _found(scale: Any, end: Any) -> Any:
    """A sparse vector that ends where `end` says."""

    def step(state: Any, answer: Any, noise: Any) -> Any:
        hit = answer + noise.laplace(scale, label="x") >= state[0]
        return _left(state, hit), hit, end(state, hit)

    return step


def _total(step: Any, **options: Any) -> Stream:
    finish: Any = options.pop("finish", lambda total, noise: total + noise.laplace(1, label="x"))
    shifts = options.pop("finish_shifts", _makes_up)
    return Stream(_zero, step, _none, _none, finish=finish, finish_shifts=shifts, **options)


def _gap(value: Any, following: Any) -> Any:
    return value - following


def _keeps_the_gap(item: Any, least: Any, runner_up: Any, best: Any) -> Any:
    return item.answer - item.neighbour + best - (runner_up.answer + runner_up.noise)


def _best(k: int = 1, scale: Any = 2, **options: Any) -> Selection:
    return Selection(k, "laplace", scale, _gap, _keeps_the_gap, **options)


def _rises(direction: str, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour + 1


def _measure(scale: Any, charge: Any, **changes: Any) -> Stream:
    parts: dict[str, Any] = {
        "start": lambda noise: None,
        "step": lambda state, answer, noise: (state, answer + noise.laplace(scale, label="x"), False),
        "start_shifts": _none,
        "step_shifts": _own,
        "start_charge": 0,
        "entry_charge": lambda entry: charge,
    }
    return Stream(**(parts | changes))


HALF = Fraction(1, 2)

FORM_ATTACKS: dict[str, tuple[Any, dict[str, Any]]] = {
    # Sparse vector, for two answers above.
    "noise that does not grow with k": (
        Stream(_bar, _found(4, lambda s, hit: hit and s[1] <= 1), _lift, _moves),
        {},
    ),
    "no noise for the answers": (
        Stream(_bar, lambda s, a, noise: (s, a >= s[0], False), _lift, _none),
        {},
    ),
    "without an end": (
        Stream(_bar, lambda s, a, noise: (s, a + noise.laplace(2, label="x") >= s[0], False), _lift, _moves),
        {},
    ),
    "one too many": (Stream(_bar, _found(8, lambda s, hit: hit and s[1] <= 0), _lift, _moves), {}),
    "the noisy answer itself": (Stream(_bar, _value, _lift, _above), {}),
    "a new bar for nothing": (
        Stream(_bar, _again, _lift, lambda d, s, e, a, n: {"x": 1 + a - n, "again": 1} if e else {}),
        {},
    ),
    "a measurement for nothing": (
        Stream(
            _bar,
            _measured_too,
            _lift,
            lambda d, s, e, a, n: {} if e is None else {"x": 1 + a - n, "y": a - n},
        ),
        {},
    ),
    "that it is near": (
        Stream(_bar, _near, _lift, lambda d, s, e, a, n: {"x": 1 + a - n} if e[0] else {}),
        {},
    ),
    "that it is far": (
        Stream(_bar, _far, _lift, lambda d, s, e, a, n: {"x": 1 + a - n} if e == "above" else {}),
        {},
    ),
    "a bar that is the last answer": (Stream(_bar, _last_noisy, _lift, _moves), {}),
    "noise for monotonic answers": (
        Stream(_bar, _found(4, lambda s, hit: hit and s[1] <= 1), _lift, _moves),
        {},
    ),
    "a little too little": (
        Stream(_bar, _found(8, lambda s, hit: hit and s[1] <= 1), _lift, _moves),
        {"epsilon": Fraction(99, 100)},
    ),
    "a charge of nothing for what is below": (
        Stream(
            _bar,
            _found(8, lambda s, hit: hit and s[1] <= 1),
            _lift,
            _moves,
            start_charge=0,
            entry_charge=lambda entry: HALF if entry else 0,
        ),
        {},
    ),
    # Sums, where one answer moves.
    "each prefix with noise of its own": (
        Stream(
            _zero,
            lambda s, a, noise: (s + a, s + a + noise.laplace(1, label="x"), False),
            _none,
            lambda d, s, e, a, n, o: {"x": s + a - o - n},
            both_states=True,
        ),
        _ONE,
    ),
    "a sum that doubles": (_total(lambda s, a, noise: (2 * s + a, None, False)), _ONE),
    "a product": (_total(lambda s, a, noise: (s * a + a, None, False)), _ONE),
    "a sum of squares": (_total(lambda s, a, noise: (s + a * a, None, False)), _ONE),
    "how long it is positive": (_total(lambda s, a, noise: (s + 1 if a > 0 else 0, None, False)), _ONE),
    "an end by the sum": (_total(lambda s, a, noise: (s + a, None, s + a > 10)), _ONE),
    "a sum where each moves": (_total(lambda s, a, noise: (s + a, None, False)), {}),
    "a clipped sum where each moves": (
        _total(lambda s, a, noise: (s + (a if a < 10 else 10), None, False)),
        {},
    ),
    "the sum twice": (
        _total(
            lambda s, a, noise: (s + a, None, False),
            finish=lambda s, noise: (s + noise.laplace(1, label="x"), s + noise.laplace(1, label="y")),
            finish_shifts=lambda d, s, e, o: {"x": s - o, "y": s - o},
        ),
        _ONE,
    ),
    "whether the sum is large": (
        _total(lambda s, a, noise: (s + a, None, False), finish=lambda s, noise: s > 10, finish_shifts=_none),
        _ONE,
    ),
    "a sum that is charged half": (
        _total(
            lambda s, a, noise: (s + a, None, False),
            start_charge=0,
            entry_charge=lambda entry: 0 if entry is None else HALF,
        ),
        _ONE,
    ),
    # Selections and rankings.
    "the value and not the gap": (Selection(1, "laplace", 2, lambda v, f: v, _keeps_the_gap), {}),
    "the runner-up too": (Selection(1, "laplace", 4, lambda v, f: (v - f, f), _keeps_the_gap), {}),
    "two for the noise of one": (_best(2), {}),
    "a rounded gap with half the noise": (
        Selection(1, "laplace", 1, lambda v, f: round(v - f), _keeps_the_gap),
        {},
    ),
    "half a charge for an item": (_best(threshold=0, item_charge=HALF), {}),
    "two ranked with noise for one and a half": (Ranking(2, "laplace", 3, _rises, HALF), {}),
    "a bar for nothing": (
        Ranking(1, "laplace", 2, _rises, 1, threshold=0, threshold_scale=1, lift=lambda d: 1, start_charge=0),
        {},
    ),
    "a bar that stays": (
        Ranking(1, "laplace", 2, lambda d, a, n: a - n, 1, threshold=0, threshold_scale=2),
        {},
    ),
    # One form and then another.
    "budgets that are both short": (
        Composition(_best(), _measure(1, 1), budgets=(HALF, HALF)),
        {"epsilon": 1},
    ),
    "a measurement of three for one": (Composition(_best(3, 6), _measure(1, 1), budgets=(1, 1)), {}),
    "a third of a charge": (Composition(_best(3, 6), _measure(1, Fraction(1, 3)), budgets=(1, 1)), {}),
    "all answers measured": (Composition(_best(), _measure(1, 1), budgets=(1, 1), chosen=False), {}),
    "a measurement without noise of its own": (
        Composition(
            _best(2, 4),
            _measure(
                2,
                HALF,
                start=lambda noise: noise.laplace(2, label="bar"),
                step=lambda s, a, noise: (s, a - s, False),
                step_shifts=_none,
            ),
            budgets=(1, 1),
        ),
        {},
    ),
    "a sum of what was measured": (
        Composition(
            _best(2, 4),
            _measure(
                2,
                HALF,
                start=_zero,
                step=lambda s, a, noise: (s + a, s + noise.laplace(2, label="x"), False),
            ),
            budgets=(1, 1),
        ),
        {},
    ),
    "entries that are never None": (
        Composition(
            Stream(_bar, _found(8, lambda s, hit: hit and s[1] <= 1), _lift, _moves),
            _measure(2, HALF),
            budgets=(1, 1),
        ),
        {},
    ),
}
"""By what is wrong: the form, and further arguments of the claim."""
