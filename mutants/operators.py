"""The changes that are tried: those of Cosmic Ray that say something here, and a few of our own.

Cosmic Ray replaces every operator by every other; of those, one or two of each kind are kept (the neighbour
of a comparison and its opposite, the inverse of an operation). It does not drop anything; a stranger's
mistake often does, so the rest of this module drops: a check, a condition, a term of a bound, an argument, a
lock, a cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import parso
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

_BINARY = """
Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Div Mod_FloorDiv Pow_Mul LShift_RShift RShift_LShift BitAnd_BitOr
BitOr_BitAnd BitXor_BitAnd
"""
_COMPARISONS = "Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_GtE LtE_Gt Gt_LtE GtE_Lt"
_UNARY = "Delete_USub Delete_Not Delete_Invert"
_OTHERS = """
ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue
ReplaceContinueWithBreak NumberReplacer RemoveDecorator ZeroIterationForLoop ExceptionReplacer
"""
_COSMIC_RAY = (
    *(f"ReplaceBinaryOperator_{kind}" for kind in _BINARY.split()),
    *(f"ReplaceComparisonOperator_{kind}" for kind in _COMPARISONS.split()),
    *(f"ReplaceUnaryOperator_{kind}" for kind in _UNARY.split()),
    *_OTHERS.split(),
)
_OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
Position = tuple[tuple[int, int], tuple[int, int]]
Node = Any  # parso has no types
parse: Any = parso.parse


class _Dropping(Operator):  # type: ignore[misc]
    """An operator that is a list of places in a node, each with what takes its place."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:
        """Children [first, last) of the node, and the text instead of them."""
        raise NotImplementedError

    def mutation_positions(self, node: Node) -> list[Position]:
        """Where the places are; a list, since a mutation changes the node."""
        children = node.children if self.places(node) else []
        ends = [(first, last - 1) for first, last, _ in self.places(node)]
        return [(children[first].start_pos, children[last].end_pos) for first, last in ends]

    def mutate(self, node: Node, index: int) -> Node:
        """The node with that place changed."""
        first, last, text = self.places(node)[index]
        instead = [parse(node.children[first].get_first_leaf().prefix + text)] if text else []
        prefix = node.children[first].get_first_leaf().prefix
        node.children[first:last] = instead
        if not text and first == 0 and node.children:  # what follows moves to the place of what was dropped
            node.children[0].get_first_leaf().prefix = prefix
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        """None: the classes say what they do."""
        return ()


class DropStatement(_Dropping):
    """`pass` for a raise or for a call whose result nobody takes."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "simple_stmt":
            return []
        first = node.children[0]
        called = first.type == "atom_expr" and first.children[-1].type == "trailer"
        return (
            [(0, 1, "pass")]
            if called or first.type == "raise_stmt" or first.get_code().strip() == "raise"
            else []
        )


class DropCondition(_Dropping):
    """One operand of an `and` or an `or` left out."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type not in ("and_test", "or_test"):
            return []
        return _one_left_out(len(node.children))


class DropTerm(_Dropping):
    """One term of a sum left out, the first one aside."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "arith_expr":
            return []
        return [(i, i + 2, "") for i in range(1, len(node.children), 2)]


class DropFactor(_Dropping):
    """One factor of a product, or a divisor, left out."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "term":
            return []
        signs = [child.value for child in node.children[1::2]]
        first = [(0, 2, "")] if signs[0] == "*" else []
        return first + [(i, i + 2, "") for i in range(1, len(node.children), 2)]


class DropArgument(_Dropping):
    """A keyword argument of a call left out."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "arglist":
            return []
        named = [i for i, child in enumerate(node.children) if child.type == "argument" and _is_named(child)]
        return [(i - 1, i + 1, "") if i else (0, min(2, len(node.children)), "") for i in named]


class DropCause(_Dropping):
    """`raise … from None` without its `from None`, which shows what was being handled."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "raise_stmt":
            return []
        causes = [i for i, child in enumerate(node.children) if child.get_code().strip() == "from"]
        return [(i, i + 2, "") for i in causes]


class DropLock(_Dropping):
    """The body of a `with` without what it is done under."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type != "with_stmt" or any(child.type == "with_item" for child in node.children):
            return []
        colon = next(i for i, child in enumerate(node.children) if child.get_code().strip() == ":")
        return [(0, colon, "if True")]


class Opposite(_Dropping):
    """max for min, all for any, ceil for floor, and the other way round."""

    @staticmethod
    def places(node: Node) -> list[tuple[int, int, str]]:  # noqa: D102 (as the class says)
        if node.type not in ("atom_expr", "power", "trailer"):
            return []
        return [
            (i, i + 1, _OPPOSITES[child.value])
            for i, child in enumerate(node.children)
            if child.type == "name" and child.value in _OPPOSITES
        ]


def _one_left_out(children: int) -> list[tuple[int, int, str]]:
    return [(0, 2, "")] + [(i, i + 2, "") for i in range(1, children, 2)]


def _is_named(argument: Node) -> bool:
    return bool(argument.children[1].get_code().strip() == "=")


_OURS: tuple[type[_Dropping], ...] = (
    DropStatement, DropCondition, DropTerm, DropFactor, DropArgument, DropCause, DropLock, Opposite,
)  # fmt: skip
OPERATORS: dict[str, Callable[[], Operator]] = {
    **{name: get_operator(f"core/{name}") for name in _COSMIC_RAY},
    **{operator.__name__: operator for operator in _OURS},
}
