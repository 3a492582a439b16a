"""What the noise interfaces and records of forms mean to the interpreter, which knows no classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freegap.forms import Change, Known, Labelled
from freegap.symbolic.subset import MODELS, RECORDS, KnownNoise

__all__: list[str] = []


def _labelled(machine: Any, noise: Any, rename: Any) -> Any:
    inner = machine.noise(noise)
    if inner.rename is not None:
        raise machine.refusal("a noise interface whose labels are renamed twice")
    return replace(inner, rename=rename)


def _known(machine: Any, noise: Any) -> KnownNoise:
    if type(noise) is not dict:
        raise machine.refusal("known noise must be a dict by label")
    return KnownNoise(noise)


RECORDS.add(Change)
MODELS.update({Labelled: _labelled, Known: _known})
