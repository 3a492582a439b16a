"""The result of a proof attempt: what was established and how, or what refutes it, or why neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from freegap.prover.events import ExactViolation
from freegap.prover.replay import Replay

CONDITIONS = {
    "termination": "the mechanism terminates with probability 1",
    "draws": "the number of draws can be determined from the output",
    "noise": "each noise has the bound ln f(x)/f(y) ≤ |x−y|/scale",
    "support": "the aligned noise is possible: not negative, on the lattice",
    "output": "the alignment gives the same output on the neighbour",
    "cost": "the alignment costs at most the charge",
    "injective": "the alignment is one-to-one and keeps volume",
    "countable": "there are countably many alignments",
}
"""The conditions of lemma 5.1 (Ding 2020), with "there is a local alignment" in its parts."""

_WITHOUT_ALIGNMENT = {
    "probabilities": "the probabilities of each output differ by at most e^ε",
    "rounds": "rounds until one ends it cost no more than a few of them",
    "concentrated": "the Rényi divergence of each order α is at most ρ·α",
}


@dataclass(frozen=True)
class Established:
    """A condition and its standing: True, False, or None where it was not decided."""

    name: str
    holds: bool | None
    how: str

    @property
    def statement(self) -> str:
        """The condition in words."""
        return (CONDITIONS | _WITHOUT_ALIGNMENT)[self.name]


@dataclass(frozen=True)
class Refutation:
    """A concrete point that breaks a condition, as the real mechanism shows when it is run there; or, with a
    counterexample, what breaks privacy itself (the condition is then "privacy" if no alignment was given)."""

    condition: str
    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    noise: Mapping[Any, Fraction]
    output: Any
    aligned: Mapping[Any, Fraction] | None = None
    output_of_neighbour: Any = None
    cost: Fraction | None = None
    charge: Fraction | None = None
    off_support: tuple[Any, ...] = ()
    other_noise: Mapping[Any, Fraction] | None = None
    determinant: Fraction | None = None
    divergence: Fraction | None = None
    """The Rényi divergence of each order α between these neighbours is so much times α, exactly."""
    counterexample: ExactViolation | None = None
    """Two neighbours and an event that show that the mechanism is not private, whatever the alignment."""

    @staticmethod
    def of(condition: str, run: Replay) -> Refutation:
        """From the two runs."""
        return Refutation(
            condition,
            run.answers,
            run.neighbour,
            dict(run.noise),
            run.output,
            dict(run.aligned),
            run.output_of_neighbour,
            run.cost,
            run.charge,
            run.off_support,
        )

    def __str__(self) -> str:
        lines = [
            f"answers    {_row(self.answers)}",
            f"neighbour  {_row(self.neighbour)}",
            f"noise      {_table(self.noise)}",
            f"output     {_shown(self.output)}",
        ]
        if self.other_noise is not None:
            lines.append(f"noise too  {_table(self.other_noise)}")
        if self.aligned is not None:
            lines.append(f"aligned    {_table(self.aligned)}")
        if self.condition == "output":
            lines.append(f"then       {_shown(self.output_of_neighbour)}")
        if self.condition == "cost":
            lines.append(f"cost       {self.cost}, charged {self.charge}")
        if self.off_support:
            lines.append(f"impossible {', '.join(map(str, self.off_support))}")
        if self.determinant is not None:
            lines.append(f"volume     shrinks by the factor {self.determinant}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        inside = ", ".join(map(_shown, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    return str(value) if isinstance(value, Fraction) else repr(value)


def _row(values: tuple[Fraction, ...]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def _table(values: Mapping[Any, Fraction]) -> str:
    return ", ".join(f"{label}: {value}" for label, value in values.items())


@dataclass(frozen=True)
class Tightness:
    """The smallest ε that the alignment proves, and the outputs that are charged more than they cost."""

    epsilon: Fraction
    charged: Fraction
    """The largest charge of any output."""
    overcharged: Mapping[str, tuple[Fraction, Fraction]]
    """Output → (smallest possible charge, charge made), where they differ."""

    @property
    def exact(self) -> bool:
        """Whether every output is charged exactly its largest cost."""
        return not self.overcharged and self.epsilon == self.charged


@dataclass(frozen=True)
class Proof:
    """What `prove` found out.

    holds: True if every condition was established; False with a `refutation`; None with a `reason`.
    conditions: each condition of lemma 5.1, with how it was established.
    """

    holds: bool | None
    claim: str
    conditions: tuple[Established, ...]
    refutation: Refutation | None = None
    reason: str | None = None
    tightness: Tightness | None = None
    paths: int = 0
    outputs: int = 0
    pieces: int = 0
    alignment_source: str | None = None
    """The alignment as Python text, where it was found by synthesis."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    queries: int | None = None
    """The number of answers that it is proved for, and no other; None for all."""
    growth: str | None = None
    """What one answer more makes of it."""
    rho: Fraction | None = None
    """The smallest ρ that was shown, of a claim in ρ."""
    searched: str | None = None
    """What a search for a violation of privacy came to, where there was one and it found none."""

    @property
    def counterexample(self) -> ExactViolation | None:
        """The violation of privacy that was found, if there is one."""
        return None if self.refutation is None else self.refutation.counterexample

    @property
    def violated(self) -> bool:
        """Whether the mechanism itself is refuted, and not only an alignment."""
        exact = self.refutation is not None and self.refutation.divergence is not None
        return exact or self.counterexample is not None

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        size = "" if self.queries is None else f" for n = {self.queries} only"
        verdict = {
            True: f"proved{size}",
            False: "not true" if self.violated else "this alignment does not prove it",
            None: "not decided",
        }[self.holds]
        lines = [f"{verdict}: {self.claim}"]
        if self.growth is not None:
            lines.append(f"  {self.growth}")
        if self.reason is not None and self.holds is None:
            lines.append(f"  {self.reason.removeprefix('not decided: ')}")
        for condition in self.conditions:
            if condition.holds is None and self.counterexample is not None:
                continue
            mark = {True: "✓", False: "✗", None: "?"}[condition.holds]
            how = "not decided" if condition.how == self.reason else condition.how
            lines.append(f"  {mark} {condition.statement}: {how}")
        if self.tightness is not None:
            lines.append(f"  smallest ε for this alignment: {self.tightness.epsilon}")
        if self.reason is not None and self.holds is not None:
            lines.append(f"  {self.reason}")
        if self.searched is not None:
            lines.append(f"  {self.searched}")
        if self.refutation is not None and self.refutation.condition != "privacy":
            lines += ["  refuted by:", *("    " + line for line in str(self.refutation).splitlines())]
        if self.refutation is not None and self.refutation.divergence is not None:
            sides = (self.refutation.answers, self.refutation.neighbour)
            lines.append(f"  not private: {' and '.join(map(_row, sides))}")
        if self.counterexample is not None:
            lines += ["  not private:", *("    " + line for line in str(self.counterexample).splitlines())]
        if self.alignment_source is not None:
            lines += ["  alignment:", *("    " + line for line in self.alignment_source.splitlines())]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: rationals as text, everything else as plain values."""
        plain: dict[str, Any] = _plain(asdict(self))
        if self.counterexample is not None:
            plain["refutation"]["counterexample"]["event"] = str(self.counterexample.event)
        plain["verdict"] = {True: "proved", False: "refuted", None: "not decided"}[self.holds]
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
