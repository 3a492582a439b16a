"""What is audited: a mechanism of a library, what it claims, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freegap.values.neighbours import Neighbours

_ISSUES = "https://github.com/IBM/differential-privacy-library/issues"


@dataclass(frozen=True)
class Subject:
    """A mechanism.

    name: in the worker of its library. what: it is, as its documentation calls it.
    known: the public report of a fault, where there is one: a positive control.
    settings: of the audit: inputs, lengths, sensitivity.
    """

    library: str
    name: str
    what: str
    epsilon: float = 1.0
    delta: float | None = None
    neighbours: Neighbours = "one"
    known: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """By which it is chosen on the command line."""
        return f"{self.library}: {self.name}"

    @property
    def claim(self) -> str:
        """What it claims."""
        return f"ε = {self.epsilon:g}" + ("" if self.delta is None else f", δ = {self.delta:g}")


_ONE: dict[str, Any] = {"lengths": (1,)}
_FEW: dict[str, Any] = {"lengths": (2, 5)}
_REGRESSION: dict[str, Any] = {"inputs": [([0, 0, 5, 0], [10, 0, 5, 0])], "sensitivity": 10}
_TARGETS: dict[str, Any] = {"inputs": [([0, 0, 5, 0], [0, 10, 5, 0])], "sensitivity": 10}


def _all(library: str, *rows: tuple[str, str, Neighbours, dict[str, Any]]) -> list[Subject]:
    return [Subject(library, name, what, neighbours=who, settings=how) for name, what, who, how in rows]


SUBJECTS: Sequence[Subject] = (
    *_all(
        "OpenDP",
        ("laplace_int", "make_laplace on integers", "one", _ONE),
        ("laplace_float", "make_laplace on floats", "one", _ONE),
        ("noisy_max", "make_noisy_max", "each", _FEW),
        ("randomized_response", "make_randomized_response_bool", "one", _ONE),
    ),
    Subject("OpenDP", "gaussian_int", "make_gaussian on integers", delta=1e-5, settings=_ONE),
    *_all(
        "diffprivlib",
        ("laplace", "Laplace", "one", _ONE),
        ("laplace_truncated", "LaplaceTruncated", "one", _ONE),
        ("snapping", "Snapping", "one", _ONE),
        ("geometric", "Geometric", "one", _ONE),
        ("geometric_truncated", "GeometricTruncated", "one", _ONE),
        ("exponential", "Exponential", "each", _FEW),
        ("permute_and_flip", "PermuteAndFlip", "each", _FEW),
        ("binary", "Binary", "one", _ONE),
    ),
    Subject("diffprivlib", "gaussian", "GaussianAnalytic", delta=1e-5, settings=_ONE),
    Subject(
        "diffprivlib",
        "linear_regression",
        "LinearRegression, features from 0 to 10",
        known=f"{_ISSUES}/105",
        settings=_REGRESSION,
    ),
    *_all(
        "python-dp",
        ("laplace", "LaplaceMechanism", "one", _ONE),
        ("count", "Count", "one", _ONE),
    ),
    Subject("python-dp", "gaussian", "GaussianMechanism", delta=1e-5, settings=_ONE),
    *_all(
        "SmartNoise SQL",
        ("laplace", "Laplace", "one", _ONE),
        ("geometric", "Geometric", "one", _ONE),
    ),
    *_all("PipelineDP", ("laplace", "LaplaceMechanism of dp_computations", "one", _ONE)),
    Subject(
        "diffprivlib 0.4.0",
        "linear_regression",
        "LinearRegression, targets from 0 to 10",
        known=f"{_ISSUES}/34, fixed in 0.4.1",
        settings=_TARGETS,
    ),
)
