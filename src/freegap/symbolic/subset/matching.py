"""`match`: constants, None, True and False, sequences, mappings, names, `_` and `|`."""

from __future__ import annotations

import ast
from typing import Any

from freegap.symbolic.subset import order
from freegap.symbolic.subset.expressions import evaluate
from freegap.symbolic.subset.frames import Frame
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.values import Record, shown


def matches(machine: Machine, frame: Frame, pattern: ast.pattern, subject: Any) -> bool:
    """Whether the pattern fits; if all of it does, and only then, the names in it are bound, as in Python."""
    names: dict[str, Any] = {}
    if not _fits(machine, frame, pattern, subject, names):
        return False
    for name, value in names.items():
        frame.bind(name, value)
    return True


def _fits(machine: Machine, frame: Frame, pattern: ast.pattern, subject: Any, names: dict[str, Any]) -> bool:
    match pattern:
        case ast.MatchValue():
            return order.equal(machine, subject, evaluate(machine, frame, pattern.value))
        case ast.MatchSingleton():
            return order.same(machine, subject, pattern.value)
        case ast.MatchAs():
            if pattern.pattern is not None and not _fits(machine, frame, pattern.pattern, subject, names):
                return False
            if pattern.name is not None:
                names[pattern.name] = subject
            return True
        case ast.MatchOr():
            return any(_fits(machine, frame, part, subject, names) for part in pattern.patterns)
        case ast.MatchSequence():
            return _sequence(machine, frame, pattern.patterns, subject, names)
        case ast.MatchMapping(rest=None):
            if type(subject) is not dict:
                return False
            for key, part in zip(pattern.keys, pattern.patterns, strict=True):
                name = machine.key(evaluate(machine, frame, key))
                if name not in subject or not _fits(machine, frame, part, subject[name], names):
                    return False
            return True
    raise machine.refusal(f"the pattern {type(pattern).__name__} is outside the subset")


def _sequence(
    machine: Machine, frame: Frame, patterns: list[ast.pattern], subject: Any, names: dict[str, Any]
) -> bool:
    if any(isinstance(part, ast.MatchStar) for part in patterns):
        raise machine.refusal("a starred pattern is outside the subset")
    if type(subject) in (range, Record):
        raise machine.refusal(f"a pattern for {shown(subject)} is outside the subset")
    if type(subject) not in (list, tuple) or len(subject) != len(patterns):
        return False
    pairs = zip(patterns, subject, strict=True)
    return all(_fits(machine, frame, part, item, names) for part, item in pairs)
