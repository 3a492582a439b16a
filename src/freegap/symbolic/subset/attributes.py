"""Attributes: names of modules, laws of the noise, fields, and methods that have a meaning."""

from __future__ import annotations

from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.methods import METHODS
from freegap.symbolic.subset.values import KnownNoise, Method, NoiseInterface, Record, is_frozen, shown


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
    elif is_frozen(owner) and not name.startswith("__"):
        return _field(machine, owner, name)
    raise machine.refusal(f"the attribute {name} of {shown(owner)} is outside the subset")


def _field(machine: Machine, owner: Any, name: str) -> Any:
    """A field, a property or a method of a frozen dataclass."""
    found = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), None)
    if type(found) is property and type(found.fget) is FunctionType:
        return machine.call(found.fget, [owner])
    if type(found) is MemberDescriptorType:  # of a dataclass with slots
        return machine.outside(found.__get__(owner), f"the field {name}")
    if type(found) is not FunctionType and hasattr(type(found), "__get__"):
        raise machine.refusal(
            f"the attribute {name} of {shown(owner)} is computed by a {type(found).__name__}"
        )
    if name in type(owner).__dataclass_fields__ and name in vars(owner):
        return machine.outside(vars(owner)[name], f"the field {name}")
    if type(found) is FunctionType and name not in getattr(owner, "__dict__", {}):
        return machine.outside(MethodType(found, owner))
    raise machine.refusal(f"the attribute {name} of {shown(owner)} is outside the subset")
