"""Ordinary programs that draw in rounds until one of them ends it, read as one round.

The text of such a program is

    PREFIX                          assignments, without noise
    while True: BODY                or `for turn in itertools.count()`, where labels alone may name `turn`
    SUFFIX                          what follows a `break`

or, for the best of a number of rounds that is drawn by coins,

    PREFIX, with `best = None`
    while True:
        BODY
        if best is None or score > best[0]:      or >=
            best = (score, …)
        if noise.coin(stop): return …            something made of `best` alone

Why all rounds have one law, that of the function that is made of PREFIX and BODY, and are independent:

    names    what BODY assigns is assigned by nothing else. One that is read before it is assigned has no
             value in the round that is followed, which is then refused: nothing is handed on by a name.
    objects  PREFIX makes numbers, truth values, texts and tuples of them (checked on every path); names from
             outside and parameters cannot change; a round that changes the answers is refused.
    noise    each round draws its own. Labels name draws, and have no other meaning.

Whatever has another shape is not read, and nothing is said of it.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType
from typing import Any

from freegap.laws import Law
from freegap.prover.loop_labels import OWN_LABELS, UNLABELLED, LoopDraws, Shape, WithOwnLabels, own_labels
from freegap.prover.loop_text import (
    FUNCTIONS_OF_LISTS,
    STRANGE,
    NoLoop,
    bound_name,
    is_plain_end,
    is_plain_label,
    names_in,
    plain_names,
    plain_targets,
    stored_in,
)
from freegap.prover.loops import given_to, names_of, outside_of
from freegap.prover.problem import Problem
from freegap.symbolic import NotDecided, Symbol
from freegap.symbolic.given import GivenNoise
from freegap.symbolic.subset import NoiseInterface, Trusted, agree, follow, remember_source
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.source import definition_of
from freegap.symbolic.symbols import constant

_RESERVED = "freegap_"


@dataclass(frozen=True)
class Rounds:
    """One round as a program, with all of its parameters.

    program: its output is (whether this round ends it, what is then put out); of a best-of (score, …), the
        best of which is put out.
    stop: for a best-of, the chance of its coin.
    """

    program: Trusted
    given: Mapping[str, Any]
    stop: Fraction | None = None


def rounds_of(problem: Problem) -> Rounds | None:
    """The program as one round of it; None if it is no such program."""
    function = problem.mechanism
    if type(function) is not FunctionType:
        return None
    try:
        node = definition_of(function).node
        return _RoundReading(function, node, problem).rounds()
    except (NoLoop, NotDecided, RecursionError):  # a text that is nested too deeply to be read
        return None


class _RoundReading:
    """The parts of one program."""

    def __init__(self, function: FunctionType, node: ast.AST, problem: Problem) -> None:
        if not isinstance(node, ast.FunctionDef):
            raise NoLoop
        self.function, self.problem = function, problem
        self.given = given_to(function, problem.keywords(function, all_given=True))
        self.answers, self.noise, self.parameters = names_of(node)
        outside = outside_of(function)
        if outside is None:
            raise NoLoop
        self.outside = outside
        self.prefix, loop, self.suffix = _split(node.body)
        self.body = loop.body
        self.turn = self._turn(loop)
        self._require_plain()

    def _turn(self, loop: ast.While | ast.For) -> str | None:
        """The name that counts the rounds, if there is one."""
        if isinstance(loop, ast.While):
            if not (isinstance(loop.test, ast.Constant) and loop.test.value is True):
                raise NoLoop
            return None
        called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        counts = isinstance(loop.iter, ast.Call) and not loop.iter.args and not loop.iter.keywords
        if (
            not counts
            or not isinstance(loop.target, ast.Name)
            or self._outside(called) is not itertools.count
        ):
            raise NoLoop
        return loop.target.id

    def _outside(self, name: ast.expr | None) -> Any:
        """What `count` or `itertools.count` is."""
        local = stored_in(ast.Module([*self.prefix, *self.body, *self.suffix], [])) | {*self.parameters}
        if isinstance(name, ast.Name) and name.id not in local:
            return self.outside.get(name.id)
        if isinstance(name, ast.Attribute) and name.attr == "count":
            owner = self._outside(name.value) if isinstance(name.value, ast.Name) else None
            return itertools.count if owner is itertools else None
        return None

    def _require_plain(self) -> None:
        """Nothing binds names in ways that are not seen, and the names that rounds share stay as they are."""
        before = {name for line in self.prefix for name in plain_targets(line)}
        kept = {self.answers, self.noise, *([self.turn] if self.turn else [])}
        if before & kept or names_in(self.prefix) & {self.noise, *([self.turn] if self.turn else [])}:
            raise NoLoop
        for part in ast.walk(ast.Module([*self.prefix, *self.body, *self.suffix], [])):
            if isinstance(part, STRANGE) or bound_name(part) in kept:
                raise NoLoop
            if isinstance(part, ast.Name) and part.id.startswith(_RESERVED):
                raise NoLoop
        if self.turn is not None:
            self._require_label_only(self.turn)

    def _require_label_only(self, turn: str) -> None:
        """The number of the round is in labels, and nowhere else: else rounds would differ."""
        rounds = ast.Module([*self.body, *self.suffix], [])
        labels = [w.value for w in ast.walk(rounds) if isinstance(w, ast.keyword) and w.arg == "label"]
        named = [one for one in labels if turn in names_in([one])]
        inside = sum(n.id == turn for one in named for n in ast.walk(one) if isinstance(n, ast.Name))
        drawn = [
            call
            for call in ast.walk(rounds)
            if isinstance(call, ast.Call) and any(word.arg == "label" for word in call.keywords)
        ]
        owners = [call.func.value if isinstance(call.func, ast.Attribute) else None for call in drawn]
        if not all(isinstance(owner, ast.Name) and owner.id == self.noise for owner in owners):
            raise NoLoop
        if not all(_is_part(part) for one in named for part in ast.walk(one)):
            raise NoLoop  # 1 // (3 - turn): an error tells how many rounds there were
        if inside != sum(n.id == turn for n in ast.walk(rounds) if isinstance(n, ast.Name)):
            raise NoLoop

    # What it becomes -------------------------------------------------------------------------------------

    def rounds(self) -> Rounds:
        draws = LoopDraws(self.noise, self.turn, {})
        once = _RoundText(draws, each_time=True)
        self.body = [once.visit(line) for line in self.body]
        self.suffix = [_RoundText(draws, each_time=False).visit(line) for line in self.suffix]
        best = self._best(once.shapes)
        lines, stop = (self._until(), None) if best is None else best
        made = self._function(
            "freegap_round", [self.answers, self.noise], [*self.prefix, *self._first(), *lines]
        )
        return Rounds(self._trusted(made, whole=best is None), self.given, stop)

    def _first(self) -> list[ast.stmt]:
        return [] if self.turn is None else ast.parse(f"{self.turn} = 0").body

    def _until(self) -> list[ast.stmt]:
        """(True, output) from a round that ends it, (False, None) from another."""
        before = {name for line in self.prefix for name in plain_targets(line)}
        self._require_apart(before, [*self.body, *self.suffix])
        marked = _Marked(inside=True)
        body = [marked.visit(line) for line in self.body]
        suffix = [_Marked(inside=False).visit(line) for line in self.suffix]
        (once,) = ast.parse(f"for {_RESERVED}once in (0,): pass").body
        if not isinstance(once, ast.For):
            raise NoLoop
        once.body = [*body, _told(False, ast.Constant(None))]
        return [once, *suffix, _told(True, ast.Constant(None))]

    def _require_apart(self, before: set[str], lines: list[ast.stmt]) -> None:
        """What is there before the first round is not assigned again, and cannot be changed."""
        if stored_in(ast.Module(lines, [])) & (before | {*self.parameters}):
            raise NoLoop
        if not before:
            return
        names = ast.Tuple([ast.Name(name, ast.Load()) for name in sorted(before)], ast.Load())
        made = self._function(f"{_RESERVED}prefix", [self.answers], [*self.prefix, ast.Return(names)])
        for path in follow(made, [self.problem.answers], self.given, limits=self.problem.limits):
            if not all(map(_is_fixed, path.result)):
                raise NoLoop

    def _best(self, shapes: list[Shape]) -> tuple[list[ast.stmt], Fraction] | None:
        """A round of a best-of, and the chance that it is the last; None if the text is another."""
        if len(self.body) < 3 or self.suffix:
            return None
        *rest, chosen, last = self.body
        best, kept = _better(chosen)
        coin, told = self._coin(last)
        if best is None or kept is None or coin is None:
            return None
        if shapes.pop() in {*shapes} - {UNLABELLED}:
            raise NoLoop  # the coin, which comes last, is not in the round that is followed
        starts = [line for line in self.prefix if best in names_in([line])]
        if len(starts) != 1 or ast.unparse(starts[0]) != f"{best} = None":
            return None
        self.prefix = [line for line in self.prefix if line is not starts[0]]
        before = {name for line in self.prefix for name in plain_targets(line)}
        self._require_apart(before, rest)
        inner = [
            p for p in ast.walk(ast.Module(rest, [])) if isinstance(p, ast.Return | ast.Break | ast.Continue)
        ]
        used = names_in(rest) | names_in([coin]) | names_in(self.prefix)
        if inner or best in used or self.noise in names_in([kept]) or best in names_in(kept.elts):
            raise NoLoop
        if FUNCTIONS_OF_LISTS & {*self.outside, *self.parameters, *before, *stored_in(ast.Module(rest, []))}:
            raise NoLoop
        if not is_plain_end(told, {best}):
            raise NoLoop
        return [*rest, ast.Return(kept)], self._chance(coin, stored_in(ast.Module(rest, [])))

    def _coin(self, last: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
        """`if noise.coin(chance): return …`."""
        if not isinstance(last, ast.If) or last.orelse or len(last.body) != 1:
            return None, None
        call, end = last.test, last.body[0]
        if not isinstance(call, ast.Call) or not isinstance(end, ast.Return) or len(call.args) != 1:
            return None, None
        known = plain_names(self.given) | ({self.turn} if self.turn else set())
        labels = [w.arg == "label" and is_plain_label(w.value, known) for w in call.keywords]
        if ast.unparse(call.func) != f"{self.noise}.coin" or not all(labels):
            return None, None
        return call.args[0], end.value or ast.Constant(None)

    def _chance(self, coin: ast.expr, of_a_round: set[str]) -> Fraction:
        """The chance of the coin, a number that does not depend on the answers."""
        if names_in([coin]) & {*of_a_round, self.noise, self.answers}:
            raise NoLoop
        made = self._function(f"{_RESERVED}coin", [self.answers], [*self.prefix, ast.Return(coin)])
        paths = follow(made, [self.problem.answers], self.given, limits=self.problem.limits)
        chances = {constant(path.result) for path in paths}
        chance = chances.pop() if len(chances) == 1 else None
        if chance is None or not 0 < chance <= 1:
            raise NoLoop
        return chance

    def _function(self, name: str, arguments: list[str], body: list[ast.stmt]) -> FunctionType:
        words = ["*", *self.parameters] if self.parameters else []
        (head,) = ast.parse(f"def {name}({', '.join([*arguments, *words])}): pass").body
        if not isinstance(head, ast.FunctionDef):
            raise NoLoop
        head.body = body
        text = ast.unparse(ast.fix_missing_locations(ast.Module([head], [])))
        file = f"<rounds {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
        remember_source(file, text)
        space = {**self.outside, OWN_LABELS: own_labels}
        exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - text of the program itself
        made = space[name]
        if not isinstance(made, FunctionType):
            raise NoLoop
        return made

    def _trusted(self, made: FunctionType, *, whole: bool) -> Trusted:
        """The round, which must leave the answers alone; where it ends the program, the program itself is run
        on the same noise, and must put out the same."""

        def meaning(machine: Machine, answers: list[Any], noise: NoiseInterface, **words: Any) -> Any:
            before = list(answers)
            result = machine.call(made, [answers, noise], words)
            if len(before) != len(answers) or any(a is not b for a, b in zip(before, answers, strict=True)):
                raise machine.refusal("a round changes the answers, and the next begins with what is left")
            return result

        def on_numbers(answers: list[Any], noise: Any, **words: Any) -> Any:
            result = made(list(answers), noise, **words)
            if whole and result[0] and isinstance(noise, GivenNoise):
                again = _NoMore(noise.values)
                if not agree(self.function(list(answers), again, **words), result[1]):
                    raise NotDecided("a round and the program itself put out different things")
                if again.drawn != noise.drawn:
                    raise NotDecided("a round and the program itself draw different noise")
            return result

        return Trusted(meaning, on_numbers)


class _NoMore(GivenNoise):
    """The noise of one round: a program that goes on after it has read another one."""

    def draw(self, law: Law, scale: Any, label: Any = None, **more: Any) -> Fraction:
        if (len(self.drawn) if label is None else label) not in self.values:
            raise NotDecided("a round ends the program, and the program itself goes on")
        return super().draw(law, scale, label, **more)


def _split(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.While | ast.For, list[ast.stmt]]:
    """What comes before the loop, the loop, and what comes after it; copies, which may be changed."""
    body = ast.parse(ast.unparse(ast.Module(body, []))).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # its description
    places = [i for i, line in enumerate(body) if isinstance(line, ast.For | ast.While)]
    if len(places) != 1:
        raise NoLoop
    prefix, loop, suffix = body[: places[0]], body[places[0]], body[places[0] + 1 :]
    if not isinstance(loop, ast.For | ast.While) or loop.orelse or not all(map(plain_targets, prefix)):
        raise NoLoop
    return prefix, loop, suffix


def _better(line: ast.stmt) -> tuple[str | None, ast.Tuple | None]:
    """`if best is None or score > best[0]: best = (score, …)`: the name, and what is kept."""
    if not isinstance(line, ast.If) or line.orelse or len(line.body) != 1:
        return None, None
    (inner,) = line.body
    if not isinstance(inner, ast.Assign) or len(inner.targets) != 1:
        return None, None
    target, kept = inner.targets[0], inner.value
    if not isinstance(target, ast.Name) or not isinstance(kept, ast.Tuple) or len(kept.elts) < 1:
        return None, None
    score = kept.elts[0]
    if not isinstance(score, ast.Name):
        return None, None
    texts = {f"{target.id} is None or {score.id} {sign} {target.id}[0]" for sign in (">", ">=")}
    return (target.id, kept) if ast.unparse(line.test) in texts else (None, None)


def _is_fixed(value: Any) -> bool:
    """Whether nobody can change it."""
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    return value is None or type(value) in (bool, int, Fraction, str, Symbol)


def _is_part(part: ast.AST) -> bool:
    """Whether it is part of a label that has a value in every round, if it has one in the first."""
    if isinstance(part, ast.FormattedValue):
        return part.format_spec is None and part.conversion == -1
    return isinstance(part, ast.Name | ast.Constant | ast.Tuple | ast.JoinedStr | ast.Load)


def _told(ends: bool, value: ast.expr) -> ast.stmt:
    return ast.Return(ast.Tuple([ast.Constant(ends), value], ast.Load()))


class _RoundText(WithOwnLabels):
    """BODY, and what follows it, whose draws keep their labels."""

    def __init__(self, draws: LoopDraws, *, each_time: bool) -> None:
        super().__init__(draws, each_time=each_time)
        self.shapes: list[Shape] = []
        """Of the labels, in the order of the text."""

    def noted(self, node: ast.Call, shape: Shape) -> None:
        self.shapes.append(shape)


class _Marked(ast.NodeTransformer):
    """What is returned, marked as the end; the next round, marked as none."""

    def __init__(self, *, inside: bool) -> None:
        self.loops = 0 if inside else 1

    def visit_Return(self, node: ast.Return) -> Any:
        return _told(True, node.value or ast.Constant(None))

    def visit_Continue(self, node: ast.Continue) -> Any:
        return node if self.loops else _told(False, ast.Constant(None))

    def visit_For(self, node: ast.For) -> Any:
        return self._inner(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._inner(node)

    def _inner(self, node: ast.For | ast.While) -> Any:
        self.loops += 1
        node.body = [self.visit(line) for line in node.body]
        self.loops -= 1  # `else` belongs to the loop outside
        node.orelse = [self.visit(line) for line in node.orelse]
        return node
