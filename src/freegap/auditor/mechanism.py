"""A mechanism as the audit sees it: a callable whose first argument is the list of answers.

Its noise comes from its second parameter, `noise`, as in a program for `freegap.prove`, which is then run
many times at once (`freegap.auditor.columns`); or from a parameter `rng`, a seeded NumPy generator; or it
makes its own. Where it has a parameter `epsilon`, `delta` or `rho`, what is claimed is passed;
`sensitivity`, how much one person can change an answer; `size`, how many outputs are wanted at once; `xp`,
the array library in which it shall compute (`freegap.auditor.device`): NumPy, but for a device. Its other
parameters without a default are found by the audit or given by the caller: given, where they decide
how private it is.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from freegap.auditor.columns import run_batch
from freegap.auditor.outputs import Outputs
from freegap.auditor.programs import (
    DrawnNoise,
    RunTookTooLong,
    Sampler,
    limit_runs,
    run_singly,
    running,
    without_noise,
)
from freegap.auditor.reading import from_batch, from_objects
from freegap.auditor.whole_inputs import WholeInput, handed_over
from freegap.errors import InvalidArgument, printable

Answers = tuple[float, ...]
Parameters = tuple[tuple[str, Any], ...]

_SPECIAL = {"rng", "size", "sensitivity"}
_PRIVACY = re.compile(
    r"(^|_)(eps\d*|epsilon\d*|rho|delta\d*|mu|sigma\d*|lam|lambda|b|scale|std|stddev|variance|budget|privacy|"
    r"multiplier|theta|temperature)(_|$)"
)
"""Names of parameters that decide how private a mechanism is."""

_WITH_A_CENTRE = ("laplace", "normal", "gumbel", "logistic")
"""Methods of NumPy's generators whose first argument is where the noise is centred."""


def freeze(parameters: Mapping[str, Any]) -> Parameters:
    """Parameters as a value that can be a key."""
    return tuple(sorted(parameters.items()))


def answers_text(answers: Answers) -> str:
    """A list of answers, as short as it can be written; another input as it shows itself."""
    if isinstance(answers, WholeInput):
        return repr(answers)
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


def must_be_given(name: str, why: str) -> InvalidArgument:
    """The error for a parameter that is not the audit's to choose."""
    return InvalidArgument(
        "parameters",
        None,
        f"has no value for {name!r}, and {why}, so the audit must not choose it",
        f'Pass parameters={{"{name}": …}}, the value for which the claim is made.',
    )


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
        claimed: Mapping[str, float | None],
        sensitivity: float = 1,
        parameters: Mapping[str, Any] | None = None,
        vectorized: bool | None = None,
    ) -> Mechanism:
        """Read the signature of a callable.

        >>> def noisy(answers, threshold, epsilon, rng): ...
        >>> sorted(Mechanism.of(noisy, claimed={"epsilon": 1.0}).found)
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
        for known, value in {**claimed, "sensitivity": sensitivity, "xp": np}.items():
            if known in by_name and value is not None:
                given.setdefault(known, value)
        found = {
            name: p.annotation
            for name, p in by_name.items()
            if name not in given and name not in _SPECIAL and name != noise and p.default is p.empty
        }
        for name in found:
            if _PRIVACY.search(name.lower()):
                raise must_be_given(name, "its name says that it decides how private the mechanism is")
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

    def tried(self, answers: Answers, parameters: Parameters, run_limit: float | None) -> Mechanism:
        """The same, vectorised if it is a program that can be run many times at once on this input."""
        if self.noise != "noise":
            return self
        keywords, rng = {**self.fixed, **dict(parameters)}, np.random.default_rng(0)
        try:
            with limit_runs(run_limit):
                many = run_batch(self.function, answers, keywords, 100, rng) is not None
        except RunTookTooLong:
            many = False
        return replace(self, vectorized=many)

    def first_draw(self, answers: Answers, parameters: Parameters) -> object:
        """The first draw of noise on a fixed generator, about zero; None where there is none to be seen. What
        changes it changes the scale of the noise."""
        if self.noise is None:
            return None
        rng = np.random.default_rng(0)
        noise: Any = _FirstDraw(rng) if self.noise == "rng" else DrawnNoise(rng, _drawn_first)
        size = {"size": 1} if self.vectorized and self.noise == "rng" else {}
        try:
            self.function(
                handed_over(answers), **{**self.fixed, **dict(parameters), **size, self.noise: noise}
            )
        except _Drawn as drawn:
            return drawn.args[0]
        except Exception:  # then there is nothing to be learned
            return None
        return None

    def call(self, answers: Answers, parameters: Parameters, size: int, rng: np.random.Generator) -> Outputs:
        """Run the mechanism `size` times. The answers are a fresh list every time."""
        keywords: dict[str, Any] = {**self.fixed, **dict(parameters)}
        if self.noise == "noise":
            found = run_batch(self.function, answers, keywords, size, rng) if self.vectorized else None
            return self.call_each(repeat(answers, size), parameters, rng) if found is None else found
        many = getattr(self.function, "run_many", None)
        if many is not None:  # an external program answers many runs in one request
            return from_objects(many(handed_over(answers), size, int(rng.integers(2**63)), keywords))
        if self.vectorized:
            source = {"rng": rng} if self.noise == "rng" else {}
            return from_batch(self.function(handed_over(answers), size=size, **source, **keywords), size)
        return self.call_each(repeat(answers, size), parameters, rng)

    def call_each(
        self, inputs: Iterable[Answers], parameters: Parameters, rng: np.random.Generator
    ) -> Outputs:
        """Run the mechanism once on each of these inputs, in their order."""
        keywords: dict[str, Any] = {**self.fixed, **dict(parameters)}
        if self.noise == "noise":
            return run_singly(self.function, inputs, keywords, rng)
        if self.noise == "rng":
            keywords["rng"] = rng
        function = self.function
        outputs: list[Any] = []
        with running(outputs):
            for answers in inputs:
                outputs.append(function(handed_over(answers), **keywords))
        return from_objects(outputs)

    @property
    def one_by_one(self) -> bool:
        """A call is a run."""
        return not self.vectorized and not hasattr(self.function, "run_many")

    def noiseless(self, answers: Answers, parameters: Parameters) -> Outputs | None:
        """The output with every draw set to its centre (Ding 2020 §4.3.3, case 1), where noise can be
        reached."""
        if self.noise is None:
            return None
        keywords = {**self.fixed, **dict(parameters)}
        try:
            if self.noise == "noise":
                return without_noise(self.function, answers, keywords)
            keywords["rng"] = Noiseless()
            if self.vectorized:
                return from_batch(self.function(handed_over(answers), size=1, **keywords), 1)
            return from_objects([self.function(handed_over(answers), **keywords)])
        except Exception:  # a draw that has no centre: then there is simply no noiseless output
            return None


class _Drawn(Exception):
    """Something was drawn."""


def _drawn_first(sample: Sampler) -> Any:
    raise _Drawn(str(sample(None)))


class _FirstDraw:
    """Stands in for a NumPy generator: the first draw, less its location, ends the run."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def draw(*given: Any, **named: Any) -> Any:
            if name in _WITH_A_CENTRE:
                given, named = (0.0, *given[1:]), {key: value for key, value in named.items() if key != "loc"}
            raise _Drawn(str(getattr(self._rng, name)(*given, **named)))

        return draw


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
