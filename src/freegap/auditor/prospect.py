"""What an audit with few runs can show, said before it starts."""

from __future__ import annotations

import math

from scipy import special

from freegap.auditor.plan import BoundForecast

FEW = 20_000
NINE_IN_TEN = 1.3  # standard deviations by which both counts may come out less favourably
_LARGEST = 30.0


def smallest_loss(epsilon: float, *, rate: float, runs: int, z: float) -> float | None:
    """The smallest loss beyond ε that so many runs on each input confirm, nine times in ten, in an event of
    this rate on the likelier one; None where they confirm none. z: deviations of the level.

    >>> few, many = (smallest_loss(1.0, rate=0.5, runs=n, z=4.9) for n in (1000, 100_000))
    >>> 1.3 < few < 2 and 1 < many < 1.1
    True
    >>> smallest_loss(1.0, rate=0.001, runs=100, z=4.9) is None
    True
    """
    forecast = BoundForecast(grow=1.0, caution=NINE_IN_TEN, z=z)

    def confirmed(loss: float) -> bool:
        return bool(forecast.bound(rate * runs, rate * runs * math.exp(-loss)) > epsilon)

    low, high = epsilon, epsilon + _LARGEST
    if not confirmed(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if confirmed(middle) else (middle, high)
    return high


def prospect(epsilon: float, *, runs: int, level: float, pace: float, seconds: float | None) -> list[str]:
    """In words, where there are few runs; nothing where there are enough. pace: seconds that a run takes."""
    if runs >= FEW:
        return []
    z = float(-special.ndtri(level))
    shown = [
        f"a loss of {loss:.2g} in what happens in {share} of the runs"
        for rate, share in ((0.5, "half"), (0.1, "a tenth"))
        if (loss := smallest_loss(epsilon, rate=rate, runs=runs, z=z)) is not None
    ]
    alone = min(1.0, math.log(level) / math.log(special.expit(epsilon)) / runs)
    shown.append(f"on one input alone, what happens in {alone:.2g} of the runs or more")
    time = "" if seconds is None else f"In {seconds:g} s at {1000 * pace:.3g} ms a run: "
    return [
        f"{time}{runs:,} samples on each input confirm a finding. Such samples can show {'; '.join(shown)}."
    ]
