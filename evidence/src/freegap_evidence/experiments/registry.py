"""All experiments, in the order of the papers."""

from __future__ import annotations

from freegap.errors import InvalidArgument
from freegap_evidence.experiments import (
    adaptivity,
    choice,
    clamp,
    detection,
    error_reduction,
    exactness,
    hybrids,
    p_values,
    secure,
    shares,
    split,
)
from freegap_evidence.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "FAMILIES", "find"]

FAMILIES = ("chapter-4", "chapter-5", "pvldb", "arxiv", "base2", "secure", "beyond")

_MODULES = (
    detection, shares, error_reduction, adaptivity, hybrids, p_values, clamp, secure, exactness, split,
    choice,
)  # fmt: skip
_BY_ID = {experiment.id: experiment for module in _MODULES for experiment in module.EXPERIMENTS}

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment for family in FAMILIES for experiment in _BY_ID.values() if experiment.family == family
)


def find(names: list[str]) -> list[Experiment]:
    """The experiments of these ids; a family or "all" stands for all of its own.

    >>> [experiment.id for experiment in find(["secure"])]
    ['secure-table-4', 'secure-table-5', 'secure-table-6']
    """
    chosen: dict[str, Experiment] = {}
    for name in names:
        found = [e for e in EXPERIMENTS if name in ("all", e.family, e.id)]
        if not found:
            known = ", ".join([*(e.id for e in EXPERIMENTS), *FAMILIES, "all"])
            raise InvalidArgument("id", name, "is not an experiment", f"The experiments are: {known}.")
        chosen |= {e.id: e for e in found}
    return list(chosen.values())
