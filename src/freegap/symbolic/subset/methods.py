"""The methods of lists, tuples, dicts and sets that have a meaning, and the draws of the noise interface."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from freegap.laws import LAWS, Law
from freegap.symbolic.subset import order
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.values import KnownNoise, Method, NoiseInterface, View, is_number, shown
from freegap.symbolic.symbols import Symbol, is_public


def call_method(machine: Machine, method: Method, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """owner.name(…)."""
    if isinstance(method.owner, NoiseInterface | KnownNoise):
        return _draw(machine, method.owner, method.name, *arguments, **keywords)
    return METHODS[type(method.owner)][method.name](machine, method.owner, *arguments, **keywords)


# Noise -----------------------------------------------------------------------------------------------


def _draw(
    machine: Machine,
    noise: NoiseInterface | KnownNoise,
    name: str,
    scale: Any,
    label: Any = None,
    **options: Any,
) -> Any:
    if name in _MADE:
        return _MADE[name](machine, noise, scale, label, **options)
    if name not in LAWS:
        there = ", ".join((*LAWS, *_MADE))
        raise machine.refusal(f"the noise interface has no {name}: there are {there}")
    law = LAWS[name]
    width = law.needs
    if set(options) - {width}:
        raise TypeError(f"noise.{law} takes no {', '.join(sorted(options))}")
    _require_scale(machine, law, scale)
    if width is not None:
        options.setdefault(width, 1 if width == "resolution" else None)
        if not _positive(options[width]):
            raise machine.refusal(
                f"the {width} of noise.{law} is {shown(options[width])}: it must be a positive number that "
                "does not depend on answers or noise"
            )
    key = label if label is None else machine.key(label)
    if noise.rename is not None:
        key = machine.key(machine.call(noise.rename, [key]))
    if isinstance(noise, KnownNoise):
        return noise.values[key]
    known = {draw.label for draw in noise.recorder.draws}
    if (len(known) if key is None else key) in known:
        raise machine.refusal(f"two draws have the label {key!r}")
    return noise.recorder.draw(law, scale * noise.factor, key, **options)


def _coin(machine: Machine, noise: NoiseInterface | KnownNoise, probability: Any, label: Any) -> bool:
    if type(probability) not in (int, Fraction) or not 0 <= probability <= 1:
        raise machine.refusal(
            f"the probability of a coin is {shown(probability)}: it must be a number from 0 to 1 that does "
            "not depend on answers or noise; the exponent of an exponential coin may"
        )
    return order.less(machine, _draw(machine, noise, "uniform", 1, label), probability)


def _exponential_coin(
    machine: Machine, noise: NoiseInterface | KnownNoise, exponent: Any, label: Any
) -> bool:
    drawn = _draw(machine, noise, "exponential", 1, label)
    return order.less(machine, exponent, drawn, or_equal=True)


def _choice(machine: Machine, noise: NoiseInterface | KnownNoise, weights: Any, label: Any) -> int:
    known = list(machine.iterate(weights)) if type(weights) in (list, tuple) else []
    if not known or not all(type(w) in (int, Fraction) and w >= 0 for w in known) or not sum(known):
        raise machine.refusal(
            f"the weights of a choice are {shown(weights)}: they must be a list of numbers that are not "
            "negative and not all 0, and do not depend on answers or noise"
        )
    drawn = _draw(machine, noise, "uniform", sum(known), label)
    below = Fraction(0)
    for place, weight in enumerate(known[:-1]):
        below += weight
        if order.less(machine, drawn, below):
            return place
    return len(known) - 1


def _exponential_choice(
    machine: Machine, noise: NoiseInterface | KnownNoise, exponents: Any, label: Any
) -> int:
    if type(exponents) not in (list, tuple) or not exponents or not all(map(is_number, exponents)):
        raise machine.refusal(f"the exponents of a choice are {shown(exponents)}: they must be numbers")
    best = 0
    largest: Any = None
    for place, exponent in enumerate(exponents):
        drawn = _draw(machine, noise, "gumbel", 1, (label, place))
        value = Symbol.of(exponent) + drawn
        if largest is None or order.less(machine, largest, value):
            best, largest = place, value
    return best


_MADE = {
    "coin": _coin,
    "exponential_coin": _exponential_coin,
    "choice": _choice,
    "exponential_choice": _exponential_choice,
}
"""What is made of one draw, as in `freegap.laws.labelled`."""


def _positive(value: Any) -> bool:
    return type(value) in (int, Fraction) and value > 0


def _require_scale(machine: Machine, law: Law, scale: Any) -> None:
    if type(scale) is Symbol and is_public(scale) and len(scale.variables) == len(scale.terms) == 1:
        return  # for all values of it: see freegap.prover.schema
    if type(scale) is Symbol:
        raise machine.refusal(f"the scale of a draw of {law} noise depends on the answers or on noise")
    if not _positive(scale):
        raise machine.refusal(f"the scale of a draw of {law} noise is not a positive number")


# Lists and tuples ---------------------------------------------------------------------------------------


def _append(machine: Machine, owner: list[Any], item: Any) -> None:
    owner.append(item)


def _extend(machine: Machine, owner: list[Any], items: Any) -> None:
    if type(items) in (list, tuple):
        machine.require_short(len(owner) + len(items))
    for item in list(items) if type(items) is list else machine.iterate(items):
        owner.append(item)  # one by one: what makes the items may see those that are there


def _insert(machine: Machine, owner: list[Any], place: Any, item: Any) -> None:
    owner.insert(machine.integer(place, "insert"), item)


def _pop(machine: Machine, owner: list[Any], place: Any = -1) -> Any:
    return owner.pop(machine.integer(place, "pop"))


def _index(machine: Machine, owner: Any, item: Any) -> int:
    for place, other in enumerate(owner):
        if order.equal(machine, other, item):
            return place
    raise ValueError("index of an item that is not there")


def _count(machine: Machine, owner: Any, item: Any) -> int:
    return sum([order.equal(machine, other, item) for other in owner])


def _reverse(machine: Machine, owner: list[Any]) -> None:
    owner.reverse()


def _sort(machine: Machine, owner: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    items, descending = list(owner), order.true(machine, reverse)
    owner.clear()  # as in Python, where a key sees the list empty
    keys = items if key is None else [machine.call(key, [item]) for item in items]
    if owner:
        raise machine.refusal("the key of a sort changes the list that is sorted")
    owner.extend(order.ordered(machine, items, keys, descending))


def _remove(machine: Machine, owner: list[Any], item: Any) -> None:
    del owner[_index(machine, owner, item)]


def _clear(machine: Machine, owner: Any) -> None:
    owner.clear()


def _copy(machine: Machine, owner: Any) -> Any:
    return owner.copy()


# Dicts and sets ---------------------------------------------------------------------------------------


def _get(machine: Machine, owner: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return owner.get(machine.key(key), default)


def _set_default(machine: Machine, owner: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return owner.setdefault(machine.key(key), default)


def _pop_key(machine: Machine, owner: dict[Any, Any], key: Any, *default: Any) -> Any:
    return owner.pop(machine.key(key), *default)


def _update(machine: Machine, owner: dict[Any, Any], other: Any) -> None:
    if type(other) is not dict:
        raise machine.refusal(f"update with {shown(other)}")
    owner.update(other)


def _add(machine: Machine, owner: set[Any], item: Any) -> None:
    owner.add(machine.key(item))


def _discard(machine: Machine, owner: set[Any], item: Any) -> None:
    owner.discard(machine.key(item))


METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    list: {
        "append": _append,
        "clear": _clear,
        "copy": _copy,
        "count": _count,
        "extend": _extend,
        "index": _index,
        "insert": _insert,
        "pop": _pop,
        "remove": _remove,
        "reverse": _reverse,
        "sort": _sort,
    },
    tuple: {"count": _count, "index": _index},
    dict: {
        "copy": _copy,
        "get": _get,
        "items": lambda machine, owner: View(owner.items()),
        "keys": lambda machine, owner: View(owner.keys()),
        "pop": _pop_key,
        "setdefault": _set_default,
        "update": _update,
        "values": lambda machine, owner: View(owner.values()),
    },
    set: {"add": _add, "copy": _copy, "discard": _discard},
}
