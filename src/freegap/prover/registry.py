"""How a library of mechanisms says what is to be proved of it. Nothing here needs z3.

An entry names a program and its alignment, and lists the claims: one proof for each. The entries of this
library are put together in freegap-evidence, so that the prover imports no mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["LibraryEntry", "PrivacyClaim"]


@dataclass(frozen=True)
class PrivacyClaim:
    """One statement: with these parameters, on so many answers, the mechanism is private at ε.

    queries: None for every number of answers, by the entry's form.
    parameters: of the program; with the noise law among them.
    tight: the smallest ε that the alignment is expected to prove; None for "whatever it is".
    """

    epsilon: Fraction
    queries: int | None
    neighbours: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: Fraction = Fraction(1)
    resolution: Fraction | None = None
    tight: Fraction | None = None
    label: str = ""
    """What to call the parameters; they are shown themselves if this is empty."""


@dataclass(frozen=True)
class LibraryEntry:
    """A mechanism of a library: program, alignment, charge, and the claims to be proved.

    program: `program(answers, noise, **parameters)`, the one that is released.
    alignment: `alignment(answers, neighbour, output, noise, **parameters)`.
    charge: `charge(output, **parameters)`, if the charge depends on the output; None for ε.
    form: `form(**parameters)` makes the `Selection` or `Stream` that is proved for all n. It is also shown to
        be the same function as the program, at the sizes `form_sizes`.
    """

    name: str
    program: Callable[..., Any]
    alignment: Callable[..., Mapping[Any, Any]]
    claims: tuple[PrivacyClaim, ...]
    charge: Callable[..., Any] | None = None
    form: Callable[..., Any] | None = None
    form_sizes: tuple[int, ...] = (4,)

    def title(self, claim: PrivacyClaim) -> str:
        """The claim in one line."""
        size = "all n" if claim.queries is None else f"n = {claim.queries}"
        shown = claim.label or ", ".join(f"{key} {value}" for key, value in claim.parameters.items())
        return f"{self.name} · {size} · {claim.neighbours}" + (f" · {shown}" if shown else "")
