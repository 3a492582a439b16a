"""Ball arithmetic: what a ball holds is proved, whatever the precision. flint computes it.

Most releases need no ball, so that flint is loaded by the first that does: it takes as long as half of NumPy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

_MOST_REPETITIONS = 100

_precision_lock = threading.RLock()


def as_ball(number: Fraction) -> Any:
    """A rational in ball arithmetic, at the precision that is set."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def at_precision(bits: int, compute: Callable[[], Any]) -> Any:
    """The result of a computation in ball arithmetic at this precision.

    Balls are rigorous at any precision; what precision decides is their width. flint's is global to the
    process: the lock keeps our own threads apart, and where foreign code changes it meanwhile, the
    computation is repeated, a limited number of times.
    """
    import flint

    with _precision_lock:
        previous = flint.ctx.prec
        try:
            for _ in range(_MOST_REPETITIONS):
                flint.ctx.prec = bits
                result = compute()
                if flint.ctx.prec == bits:
                    break
            return result
        finally:
            flint.ctx.prec = previous
