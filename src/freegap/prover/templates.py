"""The alignments that synthesis can propose, and how one is written down as Python.

For each kind of output, each draw's shift is one of

    0    ±Δ    qᵢ − q'ᵢ    ±Δ + qᵢ − q'ᵢ    rise    qᵢ − q'ᵢ + rise

where i is the answer that the draw is added to, and rise is the change of the largest unselected noisy
answer, for outputs that name answers by their place; or the change of a weighted sum of answers that a number
is put out of with this draw added, and with others that numbers which are put out share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.laws import ShiftPrice
from freegap.prover.classes import OutputClass, generic
from freegap.prover.elimination import reduced
from freegap.prover.outputs import Hole, pattern, whole_numbers
from freegap.prover.pieces import Piece
from freegap.prover.problem import Alignment
from freegap.symbolic import Condition, NotDecided, Symbol, both
from freegap.symbolic.subset import remember_source

_MOST_SUMS = 4

Owners = Mapping[Any, tuple[int, ...]]
"""For each draw, the answers that it is added to wherever it occurs."""


@dataclass(frozen=True)
class Shift:
    """One shift, as Python text."""

    text: str

    @property
    def uses_rise(self) -> bool:
        """Whether the change of the maximum occurs."""
        return "rise" in self.text


@dataclass(frozen=True)
class Template:
    """What can be chosen for each draw of one kind of output."""

    output: OutputClass
    choices: Mapping[Any, tuple[Shift, ...]]
    rest: tuple[int, ...]
    labels: Mapping[int, Any]
    """The draw that is added to each unselected answer."""

    def alignment(self, chosen: Mapping[Any, Shift]) -> Alignment:
        """The alignment with these choices, for this kind of output only."""
        body = "\n".join(_body(self, chosen))
        return compiled(f"{_HEAD}\n{_indented(body, 1)}\n")

    def pieces(self, chosen: Mapping[Any, Shift], charge: Symbol) -> list[Piece]:
        """The alignment with these choices in pieces, without going through its text: by which of the rest is
        the largest, before and after. For a search; what is found is proved by its text."""
        problem = self.output.problem
        context: dict[str, Any] = {
            "answers": problem.answers,
            "neighbour": problem.neighbour,
            "sensitivity": problem.sensitivity,
        }
        if not any(choice.uses_rise for choice in chosen.values()):
            return [Piece(True, _shifted(chosen, context), charge)]
        before, after = (
            {i: side[i] + self.output.noise[self.labels[i]] for i in self.rest}
            for side in (problem.answers, problem.neighbour)
        )
        return [
            Piece(
                both([*self._largest(before, one), *self._largest(after, other)]),
                _shifted(chosen, {**context, "rise": after[other] - before[one]}),
                charge,
            )
            for one, other in product(self.rest, repeat=2)
        ]

    def _largest(self, values: Mapping[int, Symbol], place: int) -> list[Condition | bool]:
        """That this one is the largest, up to a null set."""
        others = [value - values[place] for i, value in values.items() if i != place]
        return [generic(Condition.compare(one, "<="), self.output.continuous) for one in others]

    def values(
        self, answers: Sequence[Fraction], neighbour: Sequence[Fraction], noise: Mapping[Any, Fraction]
    ) -> dict[Any, list[Fraction]]:
        """What each choice would add at a point."""
        context = {
            "answers": answers,
            "neighbour": neighbour,
            "sensitivity": self.output.problem.sensitivity,
            "rise": 0,
        }
        if self.rest:
            before, after = (
                max(side[i] + noise[self.labels[i]] for i in self.rest) for side in (answers, neighbour)
            )
            context["rise"] = after - before
        return {
            label: [Fraction(eval(choice.text, {}, context)) for choice in choices]  # noqa: S307 - our own text
            for label, choices in self.choices.items()
        }


def _shifted(chosen: Mapping[Any, Shift], context: dict[str, Any]) -> dict[Any, Symbol]:
    return {
        label: Symbol.of(eval(choice.text, {}, context))  # noqa: S307 - our own text
        for label, choice in chosen.items()
    }


_HEAD = "def alignment(answers, neighbour, output, noise, *, sensitivity):"


def templates_of(classes: list[OutputClass]) -> list[Template]:
    """A template for each kind of output."""
    for label in {label for output in classes for label in output.noise}:
        if not _writable(label):
            raise NotDecided(f"the label {label!r} cannot be written as Python text")
    owners, sums = _owners(classes), _sums(classes)
    return [_template(output, owners, sums) for output in classes]


def _writable(label: Any) -> bool:
    return isinstance(label, int | str) or (isinstance(label, tuple) and all(map(_writable, label)))


def _template(output: OutputClass, owners: Owners, sums: Mapping[Any, Sequence[str]]) -> Template:
    n = output.problem.queries
    named = {number for number in whole_numbers(output.skeleton) if 0 <= number < n}
    labels = {i: label for label in output.noise for i in owners[label]}
    rest = tuple(i for i in range(n) if i not in named)
    if not named or not rest or any(i not in labels for i in rest):
        rest = ()
    choices: dict[Any, tuple[Shift, ...]] = {}
    fixed = {draw.label: draw.law.price is ShiftPrice.UNBOUNDED for draw in output.draws}
    for label in output.noise:
        if fixed[label]:
            choices[label] = (Shift("0"),)
            continue
        found = ["0", "sensitivity", "-sensitivity"]
        for i in owners[label]:
            change = f"answers[{i}] - neighbour[{i}]"
            found += [change, f"sensitivity + {change}", f"{change} - sensitivity"]
            found += [f"{change} + rise"] if rest else []
        found += ["rise"] if rest else []
        found += [text for text in sums.get(label, ()) if text not in found]
        choices[label] = tuple(map(Shift, found))
    return Template(output, choices, rest, {i: labels[i] for i in rest})


def _sums(classes: list[OutputClass]) -> dict[Any, tuple[str, ...]]:
    """For each draw, what makes up for the change of the sums of answers that it is put out with.

    Numbers that are put out stay as they are if Σ c·shift = Σ l·(q − q') for each, where c are the weights of
    its draws, and l those of its answers: draws may be shared among them. Where that leaves a choice, some
    draws stay, the last ones or the first ones. Few are tried.
    """
    found: dict[Any, dict[str, None]] = {}
    for output in classes:
        answers = [next(iter(q.variables)) for q in output.problem.answers]
        drawn = {label: next(iter(value.variables)) for label, value in output.noise.items()}
        for numbers in output.numbers:
            linear = [number for number in numbers if all(len(m) < 2 for m in number.terms)]
            for labels in (list(drawn), list(drawn)[::-1]):
                columns = [*(drawn[label] for label in labels), *answers]
                rows = [[number.terms.get((v,), Fraction(0)) for v in columns] for number in linear]
                for row in reduced(rows, len(labels))[0]:
                    place = next(i for i, value in enumerate(row) if value)
                    text = _change(dict(enumerate(row[len(labels) :])))
                    found.setdefault(labels[place], {})[text] = None
    return {label: tuple(texts)[:_MOST_SUMS] for label, texts in found.items()}


def _change(parts: Mapping[int, Fraction]) -> str:
    texts = []
    for i, c in sorted((i, c) for i, c in parts.items() if c):
        change = f"answers[{i}] - neighbour[{i}]"
        weight = f" * {c.numerator}" * (c.numerator != 1) + f" / {c.denominator}" * (c.denominator != 1)
        texts.append(f"({change}){weight}" if weight else change)
    return " + ".join(texts) or "0"


def _owners(classes: list[OutputClass]) -> Owners:
    """A draw belongs to an answer if they have the same coefficient wherever the draw occurs."""
    if not classes:
        return {}
    answers = [next(iter(q.variables)) for q in classes[0].problem.answers]
    found: dict[Any, set[int]] = {}
    for output in classes:
        polynomials: list[Symbol] = [n for numbers in output.numbers for n in numbers]
        for path in output.paths:
            polynomials += [c.symbol for c in path.conditions if c.symbol is not None]
        for label, drawn in output.noise.items():
            (noise,) = drawn.variables
            owners = found.setdefault(label, set(range(len(answers))))
            for polynomial in polynomials:
                weight = polynomial.terms.get((noise,))
                if weight is not None:
                    owners &= {i for i, q in enumerate(answers) if polynomial.terms.get((q,)) == weight}
    return {label: tuple(sorted(owners)) for label, owners in found.items()}


# Python text ------------------------------------------------------------


def source_of(
    directions: Sequence[str], chosen: Sequence[Sequence[tuple[Template, Mapping[Any, Shift]]]]
) -> str:
    """The alignment as a Python function: for each direction of the neighbour, a case for each output."""
    lines = [_HEAD]
    for place, (direction, entries) in enumerate(zip(directions, chosen, strict=True)):
        deep = 1
        if len(directions) > 1 and place == 0:
            sign = "<=" if direction == "increasing" else ">="
            lines.append(f"    if all(a {sign} b for a, b in zip(answers, neighbour)):")
            deep = 2
        lines.append("    " * deep + "match output:")
        cases: dict[str, str] = {}
        for template, choices in _special_first(entries):
            text, guard = _case(template, [other for other, _ in entries])
            body = _indented("\n".join(_body(template, choices)), deep + 2)
            if cases.setdefault(f"case {text}{guard}:", body) != body:
                raise NotDecided("one kind of output comes with draws that only their scales tell apart")
        for case, body in cases.items():
            lines += ["    " * (deep + 1) + case, body]
    text = "\n".join(lines)
    return ("from fractions import Fraction\n\n\n" if "Fraction(" in text else "") + text + "\n"


def _case(template: Template, others: Sequence[Template]) -> tuple[str, str]:
    """The pattern of a kind of output and its guard; by its draws, where others have the same pattern."""
    text, guard = pattern(template.output.skeleton)
    labels = [tuple(t.output.noise) for t in others if pattern(t.output.skeleton) == (text, guard)]
    if len(set(labels)) > 1:
        guard += f"{' and' if guard else ' if'} tuple(noise) == {tuple(template.output.noise)!r}"
    return text, guard


def _special_first(
    entries: Sequence[tuple[Template, Mapping[Any, Shift]]],
) -> list[tuple[Template, Mapping[Any, Shift]]]:
    """The fewer numbers vary, the more special the pattern; a number alone fits everything, and is last."""
    return sorted(entries, key=lambda e: (isinstance(e[0].output.skeleton, Hole), len(e[0].output.released)))


def _body(template: Template, chosen: Mapping[Any, Shift]) -> list[str]:
    lines = []
    if any(choice.uses_rise for choice in chosen.values()):
        before, after = (
            "max(" + ", ".join(f"{side}[{i}] + noise[{template.labels[i]!r}]" for i in template.rest) + ")"
            for side in ("answers", "neighbour")
        )
        if len(template.rest) == 1:
            before, after = (text[4:-1] for text in (before, after))
        lines.append(
            f"rise = {after} - ({before})" if len(template.rest) == 1 else f"rise = {after} - {before}"
        )
    moved = [
        f"{label!r}: noise[{label!r}] + {c.text}".replace("+ -", "- ")
        for label, c in chosen.items()
        if c.text != "0"
    ]
    return [*lines, "return {" + ", ".join(moved) + "}"]


def _indented(text: str, deep: int) -> str:
    return "\n".join("    " * deep + line for line in text.splitlines())


def compiled(source: str) -> Alignment:
    """The alignment that a text defines."""
    file = f"<synthesised alignment {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    space: dict[str, Any] = {}
    remember_source(file, source)
    exec(compile(source, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    alignment: Alignment = space["alignment"]
    return alignment
