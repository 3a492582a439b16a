"""What a release tells, as plain exact values, kind by kind: names of fields may change, this may not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import freegap as fg
from tests.recorded import formerly

__all__ = ["told"]


def told(result: Any) -> Any:
    """The released values of one result, such that equal ones have equal JSON."""
    match result:
        case fg.HybridTopK():
            return [*_top_k(result), _plain(result.threshold), result.reached, _plain(result.estimates)]
        case fg.TopK():
            return _top_k(result)
        case fg.AboveThreshold():
            return [
                *_budget(result),
                _plain(result.questions),
                _plain(result.above),
                _plain(result.indices),
                _plain(result.labels),
                _plain(result.gaps),
                _plain(result.branches),
                _plain(result.thresholds),
                _plain(result.estimates),
            ]
        case fg.Choice():
            return [
                *_budget(result),
                result.index,
                _plain(result.label),
                _plain(result.gap),
                _plain(result.utility_gap),
                _plain(result.p_value),
            ]
        case fg.Measurement():
            return [*_budget(result), _plain(result.labels), _plain(result.values), _plain(result.scale)]
        case fg.Estimates():
            return [
                *_budget(result),
                _plain(result.indices),
                _plain(result.labels),
                *map(_plain, formerly.estimated(result)),
                told(result.selection),
                None if result.measurement is None else told(result.measurement),
            ]
        case fg.Candidate():
            output = None if result.output is None else told(result.output)
            return [*_budget(result), result.index, _plain(result.label), _plain(result.score), output]
        case fg.TopItems():
            return _items(result)
        case fg.ItemsAbove():
            return [*_items(result), _plain(result.threshold), result.complete]
        case fg.Above() | fg.Below():
            return [bool(result), _plain(result.gap), _plain(result.spent), result.branch]
        case _:
            return _plain(result)


def _top_k(result: fg.TopK) -> list[Any]:
    gaps = None if result.gap_multiples is None else _plain(result.gaps)
    return [*_budget(result), _plain(result.indices), _plain(result.labels), gaps]


def _items(result: fg.TopItems | fg.ItemsAbove) -> list[Any]:
    return [
        *_budget(result),
        _plain(result.labels),
        _plain(result.gaps),
        *map(_plain, formerly.estimated_items(result)),
    ]


def _budget(result: Any) -> list[Any]:
    return [_plain(result.epsilon), _plain(result.spent), result.private]


def _plain(value: Any) -> Any:
    """Rationals as text; doubles to nine digits, which no machine's logarithm changes."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    if hasattr(value, "__index__"):
        return int(value)
    raise TypeError(f"how is a {type(value).__name__} told?")
