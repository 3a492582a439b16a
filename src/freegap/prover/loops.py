"""Ordinary programs that go through the answers once, read as a `Stream`: for proofs for every n.

The text of such a program is

    PREFIX                                          assignments, without the answers
    for i, answer in enumerate(answers): BODY       or `in answers`, or `in range(len(answers))`
    return …

or `return [… for answer in answers]` in the place of the loop. PREFIX becomes the start of a stream, BODY its
step, and what follows its end. Why the output of the program is then a function of the stream's, for all n:

    state    all names that PREFIX assigns. Other names of BODY belong to one step: one that is read before
             it is assigned has no value in a step, which is then refused. States hold no lists (the search
             for shifts checks it), so that no two names can be one object.
    entry    what BODY appends to lists that PREFIX made empty and that nothing else uses, how the step ends,
             and what it returns. The place `i` may stand alone in what is appended or returned, and there it
             is left out: it is the number of entries so far. So may these lists, in what is returned.
    labels   `i` may occur in labels of draws, which name them, and have no other meaning.
    the end  a function of these lists alone is post-processing; else it is the end of the stream, and may
             not use the lists.

Whatever has another shape is no loop in this sense, and nothing is said of it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

from freegap.prover.loop_labels import (
    OWN_LABELS,
    UNLABELLED,
    LoopDraws,
    Shape,
    WithOwnLabels,
    labels_of,
    own_labels,
)
from freegap.prover.loop_text import (
    FUNCTIONS_OF_LISTS,
    STRANGE,
    NoLoop,
    bound_name,
    empty_list,
    is_plain_end,
    is_plain_label,
    is_rounded,
    names_in,
    plain_names,
    plain_targets,
    split,
    stored_in,
)
from freegap.symbolic import NotDecided
from freegap.symbolic.subset import remember_source
from freegap.symbolic.subset.frames import bound_names
from freegap.symbolic.subset.source import definition_of, signature_of

_STATE = "freegap_state"
_RESERVED = "freegap_"
_PARTS = ("start", "step", "finish", "end")


@dataclass(frozen=True)
class Loop:
    """The parts of a stream, as functions of their own text.

    outs: the names of the lists whose items are in the entries.
    end: where there is no `finish`, what is put out after the last step, of these lists.
    """

    start: Callable[..., Any]
    step: Callable[..., Any]
    finish: Callable[..., Any] | None
    outs: tuple[str, ...]
    end: Callable[..., Any]


def loop_of(function: Any, given: Mapping[str, Any]) -> Loop | None:
    """The program as a loop over its answers, with these parameters; None if it is none."""
    if type(function) is not FunctionType:
        return None
    try:
        node = definition_of(function).node
        return _LoopReading(function, node, given).loop()
    except (NoLoop, NotDecided, RecursionError):  # a text that is nested too deeply to be read
        return None


def names_of(node: ast.FunctionDef) -> tuple[str, str, list[str]]:
    """What a program calls its answers, its noise and its parameters."""
    arguments = node.args
    placed = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    if arguments.vararg or arguments.kwarg or len(placed) < 2:
        raise NoLoop
    if any(a.arg.startswith(_RESERVED) for a in ast.walk(arguments) if isinstance(a, ast.arg)):
        raise NoLoop
    return placed[0], placed[1], [*placed[2:], *(a.arg for a in arguments.kwonlyargs)]


class _LoopReading:
    """The parts of one program."""

    def __init__(self, function: FunctionType, node: ast.AST, given: Mapping[str, Any]) -> None:
        if not isinstance(node, ast.FunctionDef):
            raise NoLoop
        self.function, self.given = function, given_to(function, given)
        self.answers, self.noise, self.parameters = names_of(node)
        prefix, loop, self.suffix = split(node.body)
        self.answer, self.place = self._targets(loop)
        self.body, self.local = loop.body, bound_names(node)
        self.outs, self.kept = self._assigned(prefix)
        self.prefix = [line for line in prefix if empty_list(line) not in self.outs]
        self._require_plain()

    # What it is ------------------------------------------------------------------------------------------

    def _targets(self, loop: ast.For) -> tuple[str, str | None]:
        """The names of an answer and of its place."""
        source, target = loop.iter, loop.target
        if isinstance(source, ast.Name) and source.id == self.answers and isinstance(target, ast.Name):
            return target.id, None
        if not isinstance(source, ast.Call) or source.keywords or not isinstance(source.func, ast.Name):
            raise NoLoop
        if source.func.id == "enumerate" and self._is_answers(source.args):
            names = [item.id for item in getattr(target, "elts", []) if isinstance(item, ast.Name)]
            if isinstance(target, ast.Tuple) and len(set(names)) == len(target.elts) == 2:
                return names[1], names[0]
        elif source.func.id == "range" and isinstance(target, ast.Name) and len(source.args) == 1:
            (length,) = source.args
            counted = isinstance(length, ast.Call) and ast.unparse(length) == f"len({self.answers})"
            if counted:
                return f"{_RESERVED}answer", target.id
        raise NoLoop

    def _is_answers(self, arguments: list[ast.expr]) -> bool:
        return len(arguments) == 1 and isinstance(arguments[0], ast.Name) and arguments[0].id == self.answers

    def _assigned(self, prefix: list[ast.stmt]) -> tuple[list[str], list[str]]:
        """The lists that are only appended to, and all other names that PREFIX assigns."""
        names: dict[str, None] = {}
        for line in prefix:
            for target in plain_targets(line):
                names[target] = None
        empty = {name for line in prefix if (name := empty_list(line)) is not None}
        used = [n for line in prefix for n in ast.walk(line) if isinstance(n, ast.Name)]
        outs = [name for name in names if name in empty and sum(n.id == name for n in used) == 1]
        return outs, [name for name in names if name not in outs]

    def _require_plain(self) -> None:
        """Nothing that the reading does not see: other scopes that assign, and names of ours."""
        rebuilt = {self.answers, self.noise, *self.outs, *([self.place] if self.place else [])}
        builtin = {"enumerate", "range", *FUNCTIONS_OF_LISTS}
        for part in ast.walk(ast.Module([*self.prefix, *self.body, *self.suffix], [])):
            if isinstance(part, STRANGE):
                raise NoLoop
            if isinstance(part, ast.Constant) and type(part.value) is float and is_rounded(part.value):
                raise NoLoop
            bound = bound_name(part)
            if bound is not None and (bound in rebuilt | builtin or bound in self.parameters):
                raise NoLoop
            if isinstance(part, ast.Name) and part.id.startswith(_RESERVED):
                raise NoLoop
        known = {*self.function.__globals__, *self.function.__code__.co_freevars, *self.parameters}
        if builtin & known or self.answer in {*self.kept, *rebuilt, *self.parameters}:
            raise NoLoop
        if self.place in {*self.kept, *self.parameters, *self.outs, self.noise, self.answers}:
            raise NoLoop
        if names_in(self.prefix) & {self.answers}:
            raise NoLoop

    # What it becomes -------------------------------------------------------------------------------------

    def loop(self) -> Loop:
        values = {name: self.given[name] for name in plain_names(self.given)}
        draws = LoopDraws(self.noise, self.place, values)
        steps = _StepText(self, draws)
        body = [steps.visit(line) for line in self.body]
        around = _OnceText(draws)
        self.prefix = [around.visit(line) for line in self.prefix]
        self.suffix = [around.visit(line) for line in self.suffix]
        left = {self.answers, *self.outs} | ({self.place} if self.place else set())
        if names_in(body) & left:
            raise NoLoop
        unpack = self._state(ast.Store())
        collected: list[ast.stmt] = [
            ast.Assign([ast.Name(steps.list_of(name), ast.Store())], ast.List([], ast.Load()))
            for name in self.outs
        ]
        step = [unpack, *collected, *body, steps.ends("go", ast.Constant(None), stop=False)]
        finish = self._end(steps.returns)
        start = [*self.prefix, ast.Return(self._tuple(ast.Load()))]
        functions = [
            self._function(f"{_RESERVED}start", [self.noise], start),
            self._function(f"{_RESERVED}step", [_STATE, self.answer, self.noise], step),
        ]
        if finish is not None:
            functions.append(self._function(f"{_RESERVED}finish", [_STATE, self.noise], [unpack, *finish]))
        end: list[ast.stmt] = self.suffix if finish is None else []
        functions.append(self._function(f"{_RESERVED}end", [*self.outs], [*end, ast.Return()]))
        space = self._compiled(ast.unparse(ast.fix_missing_locations(ast.Module(functions, []))))
        made = {
            name: partial(space[_RESERVED + name], **self.given)
            for name in _PARTS
            if _RESERVED + name in space
        }
        return Loop(made["start"], made["step"], made.get("finish"), tuple(self.outs), made["end"])

    def _end(self, returns: bool) -> list[ast.stmt] | None:
        """What follows the loop, as the end of a stream; None if it is a function of the entries."""
        inside = {name for line in self.body for name in stored_in(line)} | {self.answer, self.place}
        used = names_in(self.suffix)
        if not used & {self.answers, self.noise, *self.kept, *inside}:
            told = [line.value for line in self.suffix if isinstance(line, ast.Return)]
            if len(told) == len(self.suffix) < 2 and all(is_plain_end(one, {*self.outs}) for one in told):
                return None
            raise NoLoop
        if returns or used & ({self.answers, *self.outs} | (inside - {*self.kept})):
            raise NoLoop
        *lines, last = self.suffix
        if not isinstance(last, ast.Return) or not all(plain_targets(line) for line in lines):
            raise NoLoop
        return self.suffix

    def _state(self, context: ast.Store) -> ast.stmt:
        return ast.Assign([self._tuple(context)], ast.Name(_STATE, ast.Load()))

    def _tuple(self, context: ast.Load | ast.Store) -> ast.expr:
        # A last item, so that it is a tuple that can be assigned to, also where nothing is kept.
        names = [*self.kept, f"{_RESERVED}last"] if isinstance(context, ast.Store) else self.kept
        items: list[ast.expr] = [ast.Name(name, context) for name in names]
        return ast.Tuple(items if isinstance(context, ast.Store) else [*items, ast.Constant(None)], context)

    def _function(self, name: str, arguments: list[str], body: list[ast.stmt]) -> ast.stmt:
        arguments += ["*", *self.parameters] if self.parameters else []
        (made,) = ast.parse(f"def {name}({', '.join(arguments)}): pass").body
        if not isinstance(made, ast.FunctionDef):
            raise NoLoop
        made.body = body
        if names_in(body) & self.local - bound_names(made):
            raise NoLoop  # one that another part assigns: an error here, and not a name from outside
        return made

    def _compiled(self, text: str) -> dict[str, Any]:
        file = f"<loop {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
        space = outside_of(self.function)
        if space is None:
            raise NoLoop
        space[OWN_LABELS] = own_labels
        remember_source(file, text)
        exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - text of the program itself
        names = [_RESERVED + name for name in _PARTS]
        return {name: space[name] for name in names if _made(space.get(name), file)}


class _OnceText(WithOwnLabels):
    """PREFIX and what follows the loop: each draw has a label of its own."""

    def __init__(self, draws: LoopDraws) -> None:
        super().__init__(draws, each_time=False)
        self.known: list[Shape] = []

    def noted(self, node: ast.Call, shape: Shape) -> None:
        if shape in self.known and shape != UNLABELLED:
            raise NoLoop
        self.known.append(shape)


class _StepText(WithOwnLabels, ast.NodeTransformer):
    """BODY as the body of a step."""

    def __init__(self, reading: _LoopReading, draws: LoopDraws) -> None:
        super().__init__(draws, each_time=True)
        self.reading = reading
        self.inner = 0
        self.labels: list[Shape | None] = []
        self.returns = False
        """Whether a step can end the program."""

    def list_of(self, name: str) -> str:
        return f"{_RESERVED}list_{name}"  # no other name of ours

    def ends(self, how: str, value: ast.expr, *, stop: bool) -> ast.stmt:
        """Return the state, the entry, and whether to stop."""
        lists: list[ast.expr] = [ast.Name(self.list_of(name), ast.Load()) for name in self.reading.outs]
        entry = ast.Tuple([*lists, ast.Constant(how), value], ast.Load())
        state = self.reading._tuple(ast.Load())
        return ast.Return(ast.Tuple([state, entry, ast.Constant(stop)], ast.Load()))

    def visit_Return(self, node: ast.Return) -> Any:
        self.returns = True
        value = self._told(node.value or ast.Constant(None), {*self.reading.outs})
        return self.ends("return", value, stop=True)

    def visit_Break(self, node: ast.Break) -> Any:
        return node if self.inner else self.ends("break", ast.Constant(None), stop=True)

    def visit_Continue(self, node: ast.Continue) -> Any:
        return node if self.inner else self.ends("go", ast.Constant(None), stop=False)

    def visit_For(self, node: ast.For) -> Any:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        return self._inner(node)

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.visit(node.test)
        return self._inner(node)

    def _inner(self, node: ast.For | ast.While) -> Any:
        self.inner += 1
        node.body = [self.visit(line) for line in node.body]
        self.inner -= 1  # `else` belongs to the loop outside
        node.orelse = [self.visit(line) for line in node.orelse]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in self.reading.outs
            and call.func.attr == "append"
            and len(call.args) == 1
            and not call.keywords
        ):
            target = ast.Name(self.list_of(call.func.value.id), ast.Load())
            call.func.value, call.args = target, [self._told(call.args[0], set())]
            return node
        return self.generic_visit(node)

    def _told(self, value: ast.expr, lists: set[str]) -> ast.expr:
        """What is put out, without what the entries so far tell: the place, and the lists. Each part says
        what it is, so that no value of the program's looks like a place or a list."""
        if isinstance(value, ast.Name) and value.id == self.reading.place:
            return _marked("place")
        if isinstance(value, ast.Name) and value.id in lists:
            return _marked("list", ast.Constant(value.id))
        if isinstance(value, ast.Tuple | ast.List):
            value.elts = [self._told(item, lists) for item in value.elts]
            return value
        return _marked("value", self.visit(value))

    def noted(self, node: ast.Call, shape: Shape) -> None:
        """A draw gets a label that says which it is; draws of other steps have other labels. Two with one
        label have one here as well, and may not be made in the same step."""
        known = plain_names(self.reading.given) | ({self.reading.place} if self.reading.place else set())
        if not all(is_plain_label(one, known) for one in labels_of(node)):
            raise NoLoop
        labelled = shape != UNLABELLED
        if not labelled or shape not in self.labels:
            self.labels.append(shape if labelled else None)
        number = self.labels.index(shape) if labelled else len(self.labels) - 1
        node.args = node.args[:1]
        node.keywords = [word for word in node.keywords if word.arg != "label"]
        node.keywords.append(ast.keyword("label", ast.Constant(f"draw {number}")))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """answers[i] is the answer."""
        if (
            isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.reading.answers
            and isinstance(node.slice, ast.Name)
            and node.slice.id == self.reading.place
            and self.reading.answer.startswith(_RESERVED)
        ):
            return ast.Name(self.reading.answer, ast.Load())
        return self.generic_visit(node)


def _marked(kind: str, *parts: ast.expr) -> ast.expr:
    return ast.Tuple([ast.Constant(kind), *parts], ast.Load())


def outside_of(function: FunctionType) -> dict[str, Any] | None:
    """All names from outside of a function; None if one of them has no value yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    except ValueError:
        return None


def given_to(function: FunctionType, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with defaults."""
    parameters = list(signature_of(function).parameters.values())[2:]
    usual = {p.name: p.default for p in parameters if p.default is not p.empty}
    return usual | dict(given)


def _made(function: Any, file: str) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename == file
