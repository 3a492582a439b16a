"""Records are frozen: what was released, planned or written down is not changed afterwards."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import freegap

# What is filled while it is being used, and never given to anybody as a result.
CHANGING = {"freegap.exact.doubles.Candidates", "freegap.mechanisms.reference.Counters"}
# What searches and proves keeps its state where it is handy.
WITH_STATE = ("freegap.auditor", "freegap.prover", "freegap.symbolic")


def records() -> dict[str, type]:
    """Every dataclass of the package, by its full name."""
    found = {}
    for module in pkgutil.walk_packages(freegap.__path__, "freegap."):
        if module.name.startswith(WITH_STATE):
            continue
        loaded = importlib.import_module(module.name)
        for _, thing in inspect.getmembers(loaded, inspect.isclass):
            if dataclasses.is_dataclass(thing) and thing.__module__ == module.name:
                found[f"{module.name}.{thing.__qualname__}"] = thing
    return found


def test_records_are_frozen() -> None:
    found = records()
    assert len(found) > 30
    thawed = {name for name, kind in found.items() if not kind.__dataclass_params__.frozen}  # type: ignore[attr-defined]
    assert thawed == CHANGING
