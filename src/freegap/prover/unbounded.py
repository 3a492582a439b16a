"""Ordinary programs for every number of answers: a loop over them, as a stream whose shifts are searched for.

The text of the program becomes a `Stream` (`freegap.prover.loops`). Its shifts are chosen among a few: for a
draw of the start 0 and ±Δ, for a draw of a step 0, ±Δ, q − q' and ±Δ + q − q', for one at the end what the
state differs by; for each kind of state and entry the cheapest that work. What was found is written as Python
text and proved like a form that a person wrote (`freegap.prover.stream`): nothing rests on the search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import z3

from freegap.forms import Stream
from freegap.laws import ShiftPrice
from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass
from freegap.prover.loop_ties import is_tied
from freegap.prover.loops import Loop, loop_of
from freegap.prover.outputs import Hole, Leaf, Node, count_holes, pattern
from freegap.prover.pieces import pieces_of
from freegap.prover.prices import scale_of
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import Proof
from freegap.prover.steps import offset_formulas, proved, step_alignment, with_offsets
from freegap.prover.stream import Edge, Induction, Move, Situation, parts_of, prove_stream
from freegap.prover.tightness import Suprema
from freegap.symbolic import Draw, NotDecided, OutOfTime, SymbolicNoise
from freegap.symbolic.subset import follow, remember_source
from freegap.values.neighbours import directions_of

_MOST_STARTS = 27
_MOST_CHOICES = 216
_MOST_STATES = 40
_MOST_RETRIES = 40


def prove_loop(problem: Problem) -> Proof | None:
    """A proof for every number of answers, or None: the program is no loop over them, or none was found."""
    if problem.charge is not None:
        return None
    given = problem.keywords(problem.mechanism, all_given=True)
    loop = loop_of(problem.mechanism, given)
    if loop is None:
        return None
    quiet = replace(problem, limits=replace(problem.limits, certificate=None))  # a search proves nothing
    try:
        found = _text(quiet, loop)
        if found is None:
            return None
        proof = prove_stream(problem, _form(loop, found))
    except NotDecided:
        return None
    if not proof.holds or not is_tied(loop, problem.mechanism, given, problem.resolution):
        return None
    return replace(proof, claim=claim_of(problem, for_all=True), alignment_source=found)


def _form(loop: Loop, text: str) -> Stream:
    made = _compiled(text)
    ends = {} if loop.finish is None else {"finish": loop.finish, "finish_shifts": made["finish_shifts"]}
    return Stream(loop.start, loop.step, made["start_shifts"], made["step_shifts"], **ends)


def _text(problem: Problem, loop: Loop) -> str | None:
    """The shifts as Python text: the cheapest that were found, for each direction of the neighbours."""
    chosen = {}
    for direction in directions_of(problem.neighbours):
        best: tuple[Fraction, _LoopShifts] | None = None
        for start in _starts(problem, loop):
            found = _searched(problem, loop, direction, start)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        if best is None or best[0] > problem.epsilon:
            return None
        chosen["each" if direction == "one" else direction] = best[1]
    return _written(chosen)


@dataclass
class _LoopShifts:
    """Shifts, as text: of the start, and of each kind of state and entry; of the end, by the state."""

    start: Mapping[Any, str]
    steps: dict[tuple[Any, Any], dict[Any, str]] = field(default_factory=dict)
    ends: dict[tuple[Any, Any], dict[Any, str]] = field(default_factory=dict)


def _starts(problem: Problem, loop: Loop) -> Iterator[dict[Any, str]]:
    """Shifts of the draws of the start, the cheapest first."""
    paths = follow(loop.start, [SymbolicNoise(prefix="start")], limits=problem.limits)
    draws = paths[0].draws
    if len(paths) != 1 or 3 ** len(draws) > _MOST_STARTS:
        return
    for shifts in sorted(product((0, 1, -1), repeat=len(draws)), key=lambda s: sum(map(abs, s))):
        by_label = zip(draws, shifts, strict=True)
        yield {draw.label: _number(shift * problem.sensitivity) for draw, shift in by_label if shift}


def _searched(
    problem: Problem, loop: Loop, direction: str, start: dict[Any, str]
) -> tuple[Fraction, _LoopShifts] | None:
    """The largest cost of any run, and the shifts; None if none work with this start."""
    chosen = _LoopShifts(start)
    for _ in range(_MOST_RETRIES):
        try:
            return _LoopSearch(problem, loop, direction, chosen).run(), chosen
        except _Restart:
            continue
        except OutOfTime:
            raise
        except NotDecided:
            return None
    return None


class _Restart(Exception):
    """A choice that was made for a kind of state has been changed: all of it is proved again."""


class _LoopSearch(Induction):
    """The induction of a stream, with shifts that are looked for where none are chosen yet."""

    def __init__(self, problem: Problem, loop: Loop, direction: str, chosen: _LoopShifts) -> None:
        text = _written({"each" if direction == "one" else direction: replace(chosen, steps={}, ends={})})
        super().__init__(problem, _form(loop, text), direction)
        self.shifts = chosen

    def _steps(self, here: Situation) -> Iterator[Edge]:
        if not _plain(here.skeleton):
            raise NotDecided("a state holds a list or another container")
        if len(self.edges) >= _MOST_STATES:
            raise NotDecided(f"more than {_MOST_STATES} kinds of state")
        return super()._steps(here)

    def _edges(self, here: Situation, move: Move, *, ending: bool) -> Iterator[Edge]:
        for output in self._outputs(here.skeleton, ending=ending):
            entry, skeleton, stops = parts_of(output)
            table = self.shifts.ends if ending else self.shifts.steps
            known = table.get((here.skeleton, entry))
            for shifts in _choices(self.problem, here, output, ending=ending):
                if known is not None and shifts != known:
                    continue
                found = self._tried(here, move, output, shifts, ending=ending)
                if found is not None:
                    break
            else:
                if known is not None:
                    self._reconsider(here, move, output, known, ending=ending)
                raise NotDecided(f"no shifts were found for the entry {output.name}")
            table[here.skeleton, entry] = shifts
            cost, offsets = found
            last = ending or (stops and self.form.finish is None)
            target = None if last else Situation(skeleton, offsets, move.seen, ended=stops)
            yield Edge(target, cost, Fraction(0), chosen=False)

    def _reconsider(
        self, here: Situation, move: Move, output: OutputClass, known: Mapping[Any, str], *, ending: bool
    ) -> None:
        """What works for another move of the answer must work for this one as well: try what is dearer."""
        entry, _, _ = parts_of(output)
        table = self.shifts.ends if ending else self.shifts.steps
        ahead = iter(_choices(self.problem, here, output, ending=ending))
        for shifts in ahead:
            if shifts == known:
                break
        for shifts in ahead:
            if self._tried(here, move, output, shifts, ending=ending) is not None:
                table[here.skeleton, entry] = shifts
                raise _Restart

    def _tried(
        self, here: Situation, move: Move, output: OutputClass, shifts: Mapping[Any, str], *, ending: bool
    ) -> tuple[Fraction, tuple[Any, ...]] | None:
        """The cost with these shifts and the offsets after it, if they work here."""
        made = _compiled(_step_text(shifts, ending=ending))
        form = replace(self.form, **made)
        alignment = step_alignment(form, self.direction, here.skeleton, ending=ending)
        case = NeighbourCase(move.name, z3.And(move.formula, *offset_formulas(output.problem, here.offsets)))
        try:
            pieces = pieces_of(output, case, alignment)
            offsets = self._offsets(here, move, output, pieces)
            return proved(with_offsets(output, offsets), case, pieces, Suprema()), offsets
        except OutOfTime:
            raise
        except NotDecided:
            return None


def _plain(skeleton: Any, *, top: bool = True) -> bool:
    """Numbers, texts, truth values, None, and tuples of them: nothing that two names could share."""
    if isinstance(skeleton, Node):
        return skeleton.kind is tuple and all(_plain(child, top=False) for child in skeleton.children)
    return not top and isinstance(skeleton, Hole | Leaf)


def _choices(problem: Problem, here: Situation, output: OutputClass, *, ending: bool) -> list[dict[Any, str]]:
    """Shifts of the draws of a step or of the end, the cheapest first."""
    delta = problem.sensitivity
    change, margin = "answer - neighbour", _number(delta)
    texts = [("0", 0), (change, 1), (margin, 1), (f"-{margin}", 1)]
    texts += [(f"{margin} + {change}", 2), (f"{change} - {margin}", 2)]
    if ending:
        places = _places(here.skeleton)
        texts = [("0", 0), *((f"state[{i}] - other[{i}]", 1) for i in places)]
    options = [[(t, Fraction(c)) for t, c in texts[: 1 if _fixed(draw) else None]] for draw in output.draws]
    count = 1
    for option in options:
        count *= len(option)
    if count > _MOST_CHOICES:
        raise NotDecided("a step has too many draws")
    rates = [1 / scale_of(draw) for draw in output.draws]
    ordered = sorted(
        product(*options),
        key=lambda chosen: sum((c * rate for (_, c), rate in zip(chosen, rates, strict=True)), Fraction(0)),
    )
    labels = [draw.label for draw in output.draws]
    return [
        {label: text for label, (text, _) in zip(labels, chosen, strict=True) if text != "0"}
        for chosen in ordered
    ]


def _fixed(draw: Draw) -> bool:
    return draw.law.price is ShiftPrice.UNBOUNDED


def _places(skeleton: Any) -> list[int]:
    """The places of a state that hold numbers which vary."""
    return [i for i, child in enumerate(skeleton.children) if isinstance(child, Hole) and count_holes(child)]


# Python text ---------------------------------------------------------------------------------------------


def _number(value: Fraction) -> str:
    return (
        str(value.numerator)
        if value.denominator == 1
        else f"Fraction({value.numerator}, {value.denominator})"
    )


def _dict(shifts: Mapping[Any, str]) -> str:
    return "{" + ", ".join(f"{label!r}: {text}" for label, text in shifts.items()) + "}"


_HEADS = {
    "start_shifts": "def start_shifts(direction):",
    "step_shifts": "def step_shifts(direction, state, entry, answer, neighbour):",
    "finish_shifts": "def finish_shifts(direction, state, entry, other):",
}


def _step_text(shifts: Mapping[Any, str], *, ending: bool) -> str:
    name = "finish_shifts" if ending else "step_shifts"
    return f"from fractions import Fraction\n\n\n{_HEADS[name]}\n    return {_dict(shifts)}\n"


def _written(chosen: Mapping[str, _LoopShifts]) -> str:
    """All shifts: for each direction of the neighbours, a case for each kind of state and entry."""
    starts, steps, ends = ([_HEADS[name]] for name in ("start_shifts", "step_shifts", "finish_shifts"))
    for direction, found in chosen.items():
        test = f"    if direction == {direction!r}:"
        starts += [test, f"        return {_dict(found.start)}"]
        for lines, table in ((steps, found.steps), (ends, found.ends)):
            moved = {kind: shifts for kind, shifts in table.items() if shifts}
            if not moved:
                continue
            lines += [test, "        match (state, entry):"]
            for (state, entry), shifts in moved.items():
                (left, guard), (right, other) = pattern(state), pattern(entry)
                both = guard + (other.replace(" if ", " and ") if guard else other)
                if guard and other:
                    raise NotDecided("a state and an entry hold numbers that are constants")
                lines += [
                    f"            case ({left}, {right}){both}:",
                    f"                return {_dict(shifts)}",
                ]
    for lines in (starts, steps, ends):
        lines.append("    return {}")
    head = "from fractions import Fraction"
    return "\n\n\n".join([head, *("\n".join(lines) for lines in (starts, steps, ends))]) + "\n"


def _compiled(text: str) -> dict[str, Any]:
    file = f"<shifts {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    space: dict[str, Any] = {}
    remember_source(file, text)
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    return {name: space[name] for name in _HEADS if name in space}
