"""What the noise interfaces and records of forms mean to the interpreter, which knows no classes."""

from __future__ import annotations

from dataclasses import replace

from freegap.forms import Change, Known, Labelled
from freegap.symbolic.subset import MODELS, RECORDS, KnownNoise, NoiseInterface
from freegap.symbolic.subset.machine import Machine

__all__: list[str] = []


def _labelled(machine: Machine, noise: object, rename: object) -> NoiseInterface | KnownNoise:
    inner = machine.noise(noise)
    if inner.rename is not None:
        raise machine.refusal("a noise interface whose labels are renamed twice")
    return replace(inner, rename=rename)


def _known(machine: Machine, noise: object) -> KnownNoise:
    if type(noise) is not dict:
        raise machine.refusal("known noise must be a dict by label")
    return KnownNoise(noise)


RECORDS.add(Change)
MODELS.update({Labelled: _labelled, Known: _known})
