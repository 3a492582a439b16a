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
    """Whether the pattern fits; names in it are bound as it is gone through, as in Python."""
    match pattern:
        case ast.MatchValue():
            return order.equal(machine, subject, evaluate(machine, frame, pattern.value))
        case ast.MatchSingleton():
            return order.same(machine, subject, pattern.value)
        case ast.MatchAs():
            if pattern.pattern is not None and not matches(machine, frame, pattern.pattern, subject):
                return False
            if pattern.name is not None:
                frame.bind(pattern.name, subject)
            return True
        case ast.MatchOr():
            return any(matches(machine, frame, part, subject) for part in pattern.patterns)
        case ast.MatchSequence():
            return _sequence(machine, frame, pattern.patterns, subject)
        case ast.MatchMapping(rest=None):
            if type(subject) is not dict:
                return False
            for key, part in zip(pattern.keys, pattern.patterns, strict=True):
                name = machine.key(evaluate(machine, frame, key))
                if name not in subject or not matches(machine, frame, part, subject[name]):
                    return False
            return True
    raise machine.refusal(f"the pattern {type(pattern).__name__} is outside the subset")


def _sequence(machine: Machine, frame: Frame, patterns: list[ast.pattern], subject: Any) -> bool:
    if any(isinstance(part, ast.MatchStar) for part in patterns):
        raise machine.refusal("a starred pattern is outside the subset")
    if type(subject) in (range, Record):
        raise machine.refusal(f"a pattern for {shown(subject)} is outside the subset")
    if type(subject) not in (list, tuple) or len(subject) != len(patterns):
        return False
    return all(matches(machine, frame, part, item) for part, item in zip(patterns, subject, strict=True))
