"""All paths of a real Python function on symbols, by running it again for each: for searches, not for proofs.

The audit asks here which parameters make two runs part. Python itself runs the function, so a construct that
hides a symbol from the executor (its text, its identity, a caught exception) can hide a path: what is
proved goes through `freegap.symbolic.subset`, which runs no program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from freegap.symbolic.conditions import running
from freegap.symbolic.limits import Limits
from freegap.symbolic.paths import Exploration, Path
from freegap.symbolic.undecided import NotDecided, SourceLine, is_internal, raising_line


def explore(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    assuming: Iterable[Any] = (),
    limits: Limits | None = None,
    progress: Callable[[Path], None] | None = None,
) -> list[Path]:
    """All paths of `function(*inputs, **keywords)` under the assumptions.

    inputs: symbols, numbers, lists and dicts of them (each run gets a fresh copy), and sources of draws
        (`SymbolicNoise`, `SymbolicGenerator`: anything with `begin()` and `draws`), which start afresh.
    assuming: conditions or z3 formulas that hold of the inputs.
    progress: called with each path when it is finished.

    >>> from freegap.symbolic import SymbolicNoise, explore, real
    >>> def above(answer, noise):
    ...     return answer + noise.laplace(2) >= 0
    >>> def program(answer, noise):
    ...     return "above" if above(answer, noise) else "below"
    >>> [path.result for path in explore(program, [real("q"), SymbolicNoise()])]
    ['above', 'below']
    """
    limits = limits or Limits()
    exploration = Exploration(assuming, limits)
    recorders = [value for value in inputs if hasattr(value, "begin") and hasattr(value, "draws")]
    paths: list[Path] = []
    while True:
        exploration.restart()
        for recorder in recorders:
            recorder.begin()
        result = _run(function, [_fresh(v) for v in inputs], keywords or {}, exploration)
        path = Path(
            tuple(exploration.conditions),
            tuple(exploration.branches),
            result,
            tuple(draw for recorder in recorders for draw in recorder.draws),
        )
        paths.append(path)
        if progress is not None:
            progress(path)
        if len(paths) > limits.paths:
            raise NotDecided(f"more than {limits.paths} paths")
        if not exploration.backtrack():
            return paths


def _run(
    function: Callable[..., Any], inputs: list[Any], keywords: Mapping[str, Any], exploration: Exploration
) -> Any:
    token = running.set(exploration)
    tracer = sys.gettrace()
    sys.settrace(_line_counter(exploration.limits.lines))
    try:
        result = function(*inputs, **keywords)
        if exploration.fault is not None:  # the program caught it and went on
            raise exploration.fault
        return result
    except NotDecided:
        raise
    except RecursionError as error:
        raise NotDecided("a recursion without a bound", raising_line(error.__traceback__)) from error
    except Exception as error:
        reason = f"the program raised {type(error).__name__}: {error}"
        raise NotDecided(reason, raising_line(error.__traceback__)) from error
    finally:
        sys.settrace(tracer)
        running.reset(token)


def _line_counter(most: int) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that stops the program after this many lines; the executor's own do not count."""
    count = 0

    def each_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                where = SourceLine(frame.f_code.co_filename, frame.f_lineno)
                raise NotDecided(f"more than {most} lines on one path: a loop without end?", where)
        return each_line

    def each_call(frame: FrameType, event: str, argument: Any) -> Any:
        return None if is_internal(frame.f_code.co_filename) else each_line(frame, event, argument)

    return each_call


def _fresh(value: Any) -> Any:
    """A copy of the containers, so that a program that changes its arguments changes only its own."""
    if type(value) is list:
        return [_fresh(item) for item in value]
    if type(value) is dict:
        return {key: _fresh(item) for key, item in value.items()}
    return value
