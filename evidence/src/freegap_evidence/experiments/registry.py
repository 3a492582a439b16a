"""All experiments, in the order of the papers."""

from __future__ import annotations

from importlib import import_module

from freegap.errors import InvalidArgument
from freegap_evidence.experiments.experiment import PAPERS_SAY, Experiment

FAMILIES = tuple(PAPERS_SAY["families"])

_MODULES = (
    "detection", "shares", "error_reduction", "adaptivity", "hybrids", "p_values", "clamp", "secure",
    "exactness", "split", "choice", "measures", "correction", "coverage",
)  # fmt: skip
_BY_ID: dict[str, Experiment] = {
    experiment.id: experiment
    for name in _MODULES
    for experiment in import_module(f"freegap_evidence.experiments.{name}").EXPERIMENTS
}
EXPERIMENTS = tuple(_BY_ID[name] for name in PAPERS_SAY["experiments"])


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
