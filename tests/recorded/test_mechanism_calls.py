"""What a call shows is a function of its arguments and its bits, to the letter, and every argument matters.

`python -m tests.recorded` writes the files anew: only where what is released, said or refused is meant to
change, and then the change is read line by line before it is committed.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import freegap as fg
from freegap import base2
from tests.recorded import library_calls
from tests.recorded.kept import LIBRARY, MECHANISMS, library, mechanism, read
from tests.recorded.mechanism_calls import MECHANISMS as CALLED
from tests.recorded.mechanism_calls import VALUES, parameters
from tests.recorded.seen import digest, seen

OF_MECHANISMS, OF_THE_LIBRARY = read(MECHANISMS), read(LIBRARY)
EACH = [(name, parameter) for name in CALLED for parameter in ("", *parameters(name))]
CHANGES_NOTHING = {
    **{
        (name, "ledger"): "a bad one is refused here; what a good one notes is in tests/budget"
        for name in CALLED
    },
    **{("histogram", name): "of tables alone" for name in parameters("histogram")[4:18]},
    **{
        ("quantiles", name): "of tables alone"
        for name in ("value", "person", "protect", "where", "per_person")
    },
    **{("quantiles", name): "of tables alone" for name in parameters("quantiles") if "group" in name},
    **{(name, "people"): "it only refuses a delta" for name in ("unknown_top_k", "unknown_counts")},
    **{(f"{kind}_private_candidate", "rho"): "it is always refused" for kind in ("select", "best")},
    ("NoisyScore", "function"): "it is called where candidates are selected",
    ("noisy_top_k_each", "offsets"): "of a flat array alone",
    ("sparse_vector_each", "offsets"): "of a flat array alone",
}


def test_every_mechanism_and_every_parameter_is_called() -> None:
    spending = {
        f"{'base2.' if module is base2 else ''}{name}"
        for module in (fg, base2)
        for name in module.__all__
        if callable(getattr(module, name)) and "bits" in _parameters(getattr(module, name))
    }
    assert spending - {"top_k", "above"} == {*CALLED} - {"NoisyScore"}  # those two have tables
    assert not [(name, part) for name in CALLED for part in parameters(name) if part not in VALUES]
    assert list(OF_MECHANISMS["calls"]) == [f"{name}, {parameter}" for name, parameter in EACH]
    assert list(OF_THE_LIBRARY["calls"]) == list(library_calls.CALLS)


def _parameters(thing: Any) -> set[str]:
    error = isinstance(thing, type) and issubclass(thing, Exception)
    return set() if error else set(inspect.signature(thing).parameters)


@pytest.mark.parametrize(("name", "parameter"), EACH)
def test_a_mechanism_shows_what_it_showed(name: str, parameter: str) -> None:
    shown, refusals = mechanism(name, parameter)
    assert shown == OF_MECHANISMS["calls"][f"{name}, {parameter}"]
    assert refusals.items() <= OF_MECHANISMS["refusals"].items()


@pytest.mark.parametrize("name", library_calls.CALLS)
def test_the_library_shows_what_it_showed(name: str) -> None:
    shown, refusals = library(name)
    assert shown == OF_THE_LIBRARY["calls"][name]
    assert refusals.items() <= OF_THE_LIBRARY["refusals"].items()


@pytest.mark.parametrize(
    ("name", "parameter"), [each for each in EACH if each[1] and each not in CHANGES_NOTHING]
)
def test_every_argument_matters(name: str, parameter: str) -> None:
    """Of all that it may be, something other than the usual value changes the release, or what it says."""
    recorded = OF_MECHANISMS["calls"]
    usual, changed = recorded[f"{name}, "], recorded[f"{name}, {parameter}"]
    assert any(
        not outcome.startswith("!") and outcome.split(" ~ ")[0] != usual[number][0].split(" ~ ")[0]
        for number in changed
        for outcome in changed[number]
    )


def test_what_is_seen_is_more_than_the_release() -> None:
    """A refusal, a warning, a title, a charge, an exact gap: each changes what is noted."""
    outcomes = [
        seen(lambda: fg.noisy_max([3, 90], epsilon=1, bits=fg.SeededBits(1))),
        seen(lambda: fg.noisy_max([3, 90], epsilon=1, bits=fg.SeededBits(2))),
        seen(lambda: fg.noisy_max([3, 90], epsilon=1, bits=fg.SeededBits(1)), forms=False),
        seen(lambda: fg.noisy_max([3, 90], epsilon=-1)),
        seen(lambda: fg.noisy_max([3, 90], epsilon=-2)),
        seen(lambda: fg.noisy_max({"=a": 3, "=b": 90}, epsilon=1, bits=fg.SeededBits(1))),
    ]
    assert len({digest(outcome) for outcome in outcomes}) == len(outcomes)
    assert "warned" in outcomes[-1]
    assert "refused" in outcomes[3]
