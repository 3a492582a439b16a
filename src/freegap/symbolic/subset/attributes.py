"""Attributes: names of modules, laws of the noise, fields, and methods that have a meaning."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.methods import METHODS
from freegap.symbolic.subset.values import (
    KnownNoise,
    Method,
    NoiseInterface,
    Partial,
    Record,
    Structure,
    shown,
)


def attribute(machine: Machine, owner: Any, name: str) -> Any:
    """owner.name: a name of a module, a law of the noise, a field, or a method that has a meaning."""
    kind = type(owner)
    if kind is ModuleType:
        if name not in owner.__dict__:
            raise machine.refusal(f"the module {owner.__name__} has no {name}")
        return machine.outside(owner.__dict__[name])
    if kind is NoiseInterface or kind is KnownNoise:
        return Method(owner, name)
    if kind is Record:
        if name in owner.kind._fields:
            return owner.field(name)
    elif name in METHODS.get(kind, {}):
        return Method(owner, name)
    elif kind is Structure and not name.startswith("__"):
        if name in owner.fields:
            return machine.outside(owner.fields[name], f"the field {name}")
        if name in owner.properties:
            return machine.call(owner.properties[name], [owner])
        if name in owner.functions:
            return Partial(owner.functions[name], (owner,), {})
    raise machine.refusal(f"the attribute {name} of {shown(owner)} is outside the subset")
