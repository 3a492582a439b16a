"""How a library of mechanisms says what is to be proved of it. Nothing here needs z3.

An entry names a form, and lists the claims: one proof for each. The entries of this library are put together
in freegap-evidence, so that the prover imports no mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap.forms import Form


@dataclass(frozen=True)
class PrivacyClaim:
    """One statement: with these parameters, on so many answers, the mechanism is private at ε.

    queries: None for every number of answers.
    parameters: of the entry's form.
    every_parameter: the proof is for all k, ε and sensitivities; those of the parameters are an instance.
    tight: the smallest ε that the alignment is expected to prove; None for "whatever it is".
    """

    epsilon: Fraction
    queries: int | None
    neighbours: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: Fraction = Fraction(1)
    resolution: Fraction | None = None
    tight: Fraction | None = None
    every_parameter: bool = False
    label: str = ""
    """What to call the parameters; they are shown themselves if this is empty."""


@dataclass(frozen=True)
class LibraryEntry:
    """A mechanism of a library, and the claims to be proved of it.

    form: `form(**parameters)` makes the form of a claim, the one text that is released and proved. For all n,
        it must not be an `Aligned`.
    schema: `schema(**parameters)` makes the `freegap.prover.schema.Schema` of it, for all parameters.
    """

    name: str
    form: Callable[..., Form]
    claims: tuple[PrivacyClaim, ...]
    schema: Callable[..., Any] | None = None

    def title(self, claim: PrivacyClaim) -> str:
        """The claim in one line."""
        size = "all n" if claim.queries is None else f"n = {claim.queries}"
        size += ", k, ε, Δ" if claim.every_parameter else ""
        shown = claim.label or ", ".join(f"{key} {value}" for key, value in claim.parameters.items())
        return f"{self.name} · {size} · {claim.neighbours}" + (f" · {shown}" if shown else "")
