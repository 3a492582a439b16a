"""Labels of draws that are made again and again: no two draws of any number of steps or rounds may share one.

Who provides noise may go by the labels, and two draws of one label are one and the same to them; a draw
without a label is labelled by its place in the order, a whole number. In the text of a step or a round, the
label of each draw has a *shape*: constants, and where the place of the step stands in it. Two texts are told
apart for all places by their shapes alone. A draw that is made elsewhere, in a function that the noise is
handed to, knows no place, and so may have no label (`own_labels`, checked where the draw is interpreted).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from freegap.forms import Labelled
from freegap.prover.loop_text import NoLoop
from freegap.prover.models import labelled
from freegap.symbolic import NotDecided
from freegap.symbolic.subset import MODELS, KnownNoise, NoiseInterface, Trusted
from freegap.symbolic.subset.machine import Machine

OWN_LABELS = "freegap_own_labels"
"""The name of `own_labels` in texts of ours."""

Shape = tuple[Any, ...]
_PLACE: Shape = ("place",)
UNLABELLED: Shape = ("order",)
_ANY: Shape = ("any",)


def own_labels(noise: Any) -> Any:
    """The noise, for functions that are called in each step or round: a label there is refused."""
    return Labelled(noise, _on_numbers)


def _on_numbers(label: Any) -> Any:
    if label is not None:
        raise NotDecided(_shared(label))
    return label


def _shared(label: Any) -> str:
    return f"two draws have the label {label!r}: it is the same in every step or round, or may be"


def _own_labels(machine: Machine, noise: Any) -> NoiseInterface | KnownNoise:
    def unlabelled(machine: Machine, label: Any) -> Any:
        if label is not None:
            raise machine.refusal(_shared(label))
        return label

    return labelled(machine, noise, Trusted(unlabelled, _on_numbers))


MODELS[own_labels] = _own_labels


def labels_of(call: ast.Call) -> list[ast.expr]:
    """The label of a draw, if it has one."""
    return [*call.args[1:], *(word.value for word in call.keywords if word.arg == "label")]


class LoopDraws:
    """The draws in a text, by the shapes of their labels.

    noise, place: what the text calls the noise, and the place of the step or round.
    known: parameters that are part of labels.
    """

    def __init__(self, noise: str, place: str | None, known: Mapping[str, Any]) -> None:
        self.noise, self.place, self.known = noise, place, known
        self._shapes: list[Shape] = []

    def is_draw(self, call: ast.AST) -> bool:
        """Whether it is `noise.laplace(…)` or `getattr(noise, …)(…)`, with a label that can be read."""
        if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
            return False
        function = call.func
        if any(word.arg is None for word in call.keywords):
            return False
        if isinstance(function, ast.Attribute):
            function = function.value
        elif isinstance(function, ast.Call) and isinstance(function.func, ast.Name):
            if function.func.id != "getattr" or not function.args:
                return False
            function = function.args[0]
        return isinstance(function, ast.Name) and function.id == self.noise

    def note(self, call: ast.Call, *, each_time: bool) -> Shape:
        """The shape of a draw's label; `NoLoop` if another draw may have the same label at another place, or
        this one itself where it is made each time."""
        given = labels_of(call)
        shape = self._shape(given[0]) if given else ("is", None)
        if self._law(call.func) == "exponential_choice":
            shape = ("tuple", shape, _ANY)  # one for each place to choose from
        if shape == ("is", None):
            shape = UNLABELLED
        elif each_time and not _changes(shape):
            raise NoLoop
        self._add(shape)
        return shape

    def is_another_each_time(self, label: ast.expr) -> bool:
        """Whether it is none, or another label at another place."""
        shape = self._shape(label)
        return shape == ("is", None) or _changes(shape)

    def note_others(self) -> None:
        """The noise is handed to functions, which may draw without a label."""
        self._add(UNLABELLED)

    def _law(self, function: ast.expr) -> Any:
        if isinstance(function, ast.Attribute):
            return function.attr
        law = function.args[1] if isinstance(function, ast.Call) and len(function.args) == 2 else None
        shape = _ANY if law is None else self._shape(law)
        if shape[0] != "is":
            raise NoLoop
        return shape[1]

    def _add(self, shape: Shape) -> None:
        if shape in self._shapes:
            return
        if any(_may_be_one(shape, other) for other in self._shapes):
            raise NoLoop
        self._shapes.append(shape)

    def _shape(self, label: ast.expr) -> Shape:
        if isinstance(label, ast.Constant):
            return ("is", label.value)
        if isinstance(label, ast.Name) and label.id == self.place:
            return _PLACE
        if isinstance(label, ast.Name) and label.id in self.known:
            return ("is", self.known[label.id])
        if isinstance(label, ast.Tuple):
            return ("tuple", *map(self._shape, label.elts))
        if isinstance(label, ast.JoinedStr):
            return self._text(label)
        return _ANY

    def _text(self, label: ast.JoinedStr) -> Shape:
        """f"…{place}…": what is before it and after it."""
        places = [i for i, part in enumerate(label.values) if isinstance(part, ast.FormattedValue)]
        texts = [str(part.value) for part in label.values if isinstance(part, ast.Constant)]
        part = label.values[places[0]] if len(places) == 1 else None
        if not isinstance(part, ast.FormattedValue) or part.format_spec or part.conversion != -1:
            return _ANY
        if self._shape(part.value) != _PLACE:
            return _ANY
        return ("text", "".join(texts[: places[0]]), "".join(texts[places[0] :]))


class WithOwnLabels(ast.NodeTransformer):
    """The noise, wherever it is not drawn from at once, as noise that refuses labels."""

    def __init__(self, draws: LoopDraws, *, each_time: bool) -> None:
        self.draws, self.each_time = draws, each_time

    def visit_Call(self, node: ast.Call) -> Any:
        """A draw stays one."""
        if not self.draws.is_draw(node):
            return self.generic_visit(node)
        self.noted(node, self.draws.note(node, each_time=self.each_time))
        if isinstance(node.func, ast.Call):
            node.func.args = [node.func.args[0], *map(self.visit, node.func.args[1:])]
        node.args = [self.visit(argument) for argument in node.args]
        for word in node.keywords:
            word.value = self.visit(word.value)
        return node

    def noted(self, node: ast.Call, shape: Shape) -> None:
        """What becomes of a draw whose label has this shape."""

    def visit_Name(self, node: ast.Name) -> Any:
        """The noise by itself, which may be handed to anybody."""
        if node.id != self.draws.noise:
            return node
        self.draws.note_others()
        return ast.Call(ast.Name(OWN_LABELS, ast.Load()), [node], [])


def _changes(shape: Shape) -> bool:
    """Whether it is another label at another place."""
    return shape[0] in ("place", "text") or (shape[0] == "tuple" and any(map(_changes, shape[1:])))


def _may_be_one(one: Shape, other: Shape) -> bool:
    """Whether labels of these two shapes may be equal, at any two places."""
    if _ANY in (one, other):
        return True
    if "tuple" in (one[0], other[0]):
        same = one[0] == other[0] and len(one) == len(other)
        return same and all(map(_may_be_one, one[1:], other[1:]))
    if one[0] == other[0] == "is":
        return bool(one[1] == other[1])
    if one[0] == other[0] == "text":
        begin = one[1].startswith(other[1]) or other[1].startswith(one[1])
        return bool(begin and (one[2].endswith(other[2]) or other[2].endswith(one[2])))
    if "text" in (one[0], other[0]):
        text, value = (one, other) if one[0] == "text" else (other, one)
        fits = value[0] == "is" and type(value[1]) is str
        return fits and bool(value[1].startswith(text[1]) and value[1].endswith(text[2]))
    numbers = [shape[1] for shape in (one, other) if shape[0] == "is"]
    return all(isinstance(number, int | Fraction | float) for number in numbers)
