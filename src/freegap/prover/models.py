"""What the noise interfaces and records of forms mean to the interpreter, which knows no classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freegap.forms import Change, Known, Labelled
from freegap.symbolic.subset import MODELS, RECORDS, KnownNoise, NoiseInterface
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.values import Partial


def labelled(machine: Machine, noise: object, rename: object) -> NoiseInterface | KnownNoise:
    """A noise interface that passes other labels on."""
    inner = machine.noise(noise)
    if inner.rename is not None:
        rename = Partial(_both, (inner.rename, rename), {})
    return replace(inner, rename=rename)


def _both(outer: Any, inner: Any, label: Any) -> Any:
    """A label that is renamed, and once more by whoever passed the noise interface on."""
    return outer(inner(label))


def _known(machine: Machine, noise: object) -> KnownNoise:
    if type(noise) is not dict:
        raise machine.refusal("known noise must be a dict by label")
    return KnownNoise(noise)


RECORDS.add(Change)
MODELS.update({Labelled: labelled, Known: _known})
