"""A mechanism as the audit sees it: a callable whose first argument is the list of answers.

Its noise comes from its second parameter, `noise`, as in a program for `freegap.prove`, which is then run
many times at once (`freegap.auditor.columns`); or from a parameter `rng`, a seeded NumPy generator; or it
makes its own. Where it has a parameter `epsilon`, the claimed ε is passed; `sensitivity`, how much one
person can change an answer; `size`, how many outputs are wanted at once. Its other parameters without a
default are found by the audit or given by the caller.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freegap.auditor import watch
from freegap.auditor.columns import run_batch
from freegap.auditor.outputs import Outputs, from_batch, from_objects
from freegap.auditor.programs import run_singly, without_noise
from freegap.errors import InvalidArgument, printable

__all__ = ["Answers", "Arguments", "Mechanism", "Noiseless", "answers_text", "freeze", "noise_parameter"]

Answers = tuple[float, ...]
Arguments = tuple[tuple[str, Any], ...]

_SPECIAL = {"epsilon", "rng", "size", "sensitivity"}


def freeze(arguments: Mapping[str, Any]) -> Arguments:
    """Arguments as a value that can be a key."""
    return tuple(sorted(arguments.items()))


def answers_text(answers: Answers) -> str:
    """A list of answers, as short as it can be written."""
    return "[" + ", ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in answers) + "]"


def noise_parameter(function: Callable[..., Any]) -> str | None:
    """The parameter through which noise comes: `noise`, the second one, or `rng`; None where there is none.

    >>> noise_parameter(lambda answers, noise, *, epsilon: 0), noise_parameter(lambda answers, rng: 0)
    ('noise', 'rng')
    """
    parameters = _parameters(function)
    if len(parameters) > 1 and parameters[1].name == "noise" and parameters[1].default is inspect._empty:
        return "noise"
    return "rng" if any(p.name == "rng" for p in parameters[1:]) else None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature takes the answers alone
        return []


@dataclass(frozen=True)
class Mechanism:
    """A callable and how to call it.

    found: the parameters that the audit must find values for, with their annotations.
    fixed: what is passed on every call: the parameters that were given, ε and the sensitivity.
    noise: the parameter through which noise comes, if there is one.
    vectorized: many runs are made at once.
    """

    function: Callable[..., Any]
    name: str
    fixed: Mapping[str, Any]
    found: Mapping[str, Any]
    noise: str | None
    vectorized: bool
    replayable: bool

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        epsilon: float,
        sensitivity: float = 1,
        parameters: Mapping[str, Any] | None = None,
        vectorized: bool | None = None,
    ) -> Mechanism:
        """Read the signature of a callable.

        >>> def noisy(answers, threshold, epsilon, rng): ...
        >>> sorted(Mechanism.of(noisy, epsilon=1.0).found)
        ['threshold']
        """
        if not callable(function):
            raise InvalidArgument(
                "mechanism", function, "must be callable", "Pass a function of the answers."
            )
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InvalidArgument("parameters", parameters, "must be a mapping", 'Pass for example {"k": 2}.')
        given = dict(parameters or {})
        named = _parameters(function)
        noise = noise_parameter(function)
        noise = None if noise in given else noise
        by_name = {p.name: p for p in named[1:] if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in named)
        unknown = [name for name in given if name not in by_name and not open_ended]
        if unknown:
            raise InvalidArgument("parameters", given, f"the mechanism has no {unknown[0]!r}", "Remove it.")
        if "epsilon" in by_name and "epsilon" not in given:
            given["epsilon"] = epsilon
        if "sensitivity" in by_name and "sensitivity" not in given:
            given["sensitivity"] = sensitivity
        found = {
            name: p.annotation
            for name, p in by_name.items()
            if name not in given and name not in _SPECIAL and name != noise and p.default is p.empty
        }
        many = "size" in by_name if vectorized is None else vectorized
        if many and "size" not in by_name and not open_ended:
            raise InvalidArgument(
                "vectorized",
                vectorized,
                "needs a mechanism with a parameter `size`",
                "Add one, or leave it out.",
            )
        name = printable(str(getattr(function, "__qualname__", type(function).__qualname__)))
        replayable = noise is not None or getattr(function, "replayable", False)
        return cls(function, name, given, found, noise, many, replayable)

    def tried(self, answers: Answers, arguments: Arguments, run_limit: float | None) -> Mechanism:
        """The same, vectorised if it is a program that can be run many times at once on this input."""
        if self.noise != "noise":
            return self
        keywords, rng = {**self.fixed, **dict(arguments)}, np.random.default_rng(0)
        try:
            with watch.limit_runs(run_limit):
                many = run_batch(self.function, answers, keywords, 100, rng) is not None
        except watch.RunTookTooLong:
            many = False
        return replace(self, vectorized=many)

    def call(self, answers: Answers, arguments: Arguments, size: int, rng: np.random.Generator) -> Outputs:
        """Run the mechanism `size` times. The answers are a fresh list every time."""
        keywords: dict[str, Any] = {**self.fixed, **dict(arguments)}
        if self.noise == "noise":
            found = run_batch(self.function, answers, keywords, size, rng) if self.vectorized else None
            return run_singly(self.function, answers, keywords, size, rng) if found is None else found
        if self.noise == "rng":
            keywords["rng"] = rng
        many = getattr(self.function, "run_many", None)
        if many is not None:  # an external program answers many runs in one request
            return from_objects(many(list(answers), size, int(rng.integers(2**63)), keywords))
        if self.vectorized:
            return from_batch(self.function(list(answers), size=size, **keywords), size)
        function = self.function
        outputs: list[Any] = []
        with watch.running(outputs):
            for _ in range(size):
                outputs.append(function(list(answers), **keywords))
        return from_objects(outputs)

    def noiseless(self, answers: Answers, arguments: Arguments) -> Outputs | None:
        """The output with every draw set to its centre (Ding 2020 §4.3.3, case 1), where noise can be
        reached."""
        if self.noise is None:
            return None
        keywords = {**self.fixed, **dict(arguments)}
        try:
            if self.noise == "noise":
                return without_noise(self.function, answers, keywords)
            keywords["rng"] = Noiseless()
            if self.vectorized:
                return from_batch(self.function(list(answers), size=1, **keywords), 1)
            return from_objects([self.function(list(answers), **keywords)])
        except Exception:  # a draw that has no centre: then there is simply no noiseless output
            return None


class Noiseless:
    """Stands in for a NumPy generator: every draw of noise is its location, or zero."""

    def _centre(self, location: Any, size: Any) -> Any:
        return location if size is None else np.full(size, location, dtype=np.float64)

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """No noise."""
        return self._centre(loc, size)

    normal = gumbel = logistic = laplace

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        """No noise."""
        return self._centre(0.0, size)

    def standard_exponential(self, size: Any = None) -> Any:
        """No noise."""
        return self._centre(0.0, size)

    standard_normal = standard_exponential
