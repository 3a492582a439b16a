"""Does a mechanism carry something from one call to the next?

The verdict of an audit is valid where that does not depend on earlier inputs; whoever reads it should know.
Two looks before the search, on runs of their own: the same random numbers must bring the same outputs again,
after other inputs have been seen; and outputs on one input must not depend on the number of the call, nor on
the output before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from freegap.auditor.inputs import Pair
from freegap.auditor.mechanism import Parameters
from freegap.auditor.outputs import Floats, Label, Outputs, join
from freegap.auditor.sampling import OutputSource
from freegap.errors import MechanismFailed

STATE_KEY = 7
REPLAYED = 20
LEAST, MOST = 50, 400  # calls, in order
SECONDS = 1.0  # that they should take
COLUMNS = 8
DEVIATIONS = 5.5  # of a correlation: once in thirty million by chance

NOT_REPLAYED = (
    "On the same random numbers its outputs were different the second time: it carries something from one "
    "call to the next, or draws from elsewhere than what it is given. This audit cannot be replayed from its "
    "seed, and what it says holds if what is carried does not depend on earlier inputs."
)
BY_NUMBER = (
    "Its outputs depend on the number of the call: it carries something from one call to the next. What this "
    "audit says holds if that does not depend on earlier inputs."
)
BY_LAST = (
    "Its outputs depend on the output before: it carries something from one call to the next. What this "
    "audit says holds if that does not depend on earlier inputs."
)


def carried_notes(source: OutputSource, pair: Pair, parameters: Parameters, pace: float) -> list[str]:
    """What was noticed, for a mechanism of which a call is a run; slow ones are looked at less."""
    calls = int(min(MOST, SECONDS / max(pace, 1e-6)))
    notes = []
    try:
        if source.mechanism.replayable and not _replays(
            source, pair, parameters, min(REPLAYED, 2 + calls // 4)
        ):
            notes.append(NOT_REPLAYED)
        if calls >= LEAST:
            notes += in_order(source.draw(pair.first, parameters, calls, (STATE_KEY, 1)))
    except MechanismFailed:  # the search will say so
        return []
    return notes


def _replays(source: OutputSource, pair: Pair, parameters: Parameters, calls: int) -> bool:
    first = source.draw(pair.first, parameters, calls, (STATE_KEY, 0))
    source.draw(pair.second, parameters, 2, (STATE_KEY, 2))
    both = join([first, source.draw(pair.first, parameters, calls, (STATE_KEY, 0))])
    same = np.array_equal(both.codes[:calls], both.codes[calls:])
    return same and np.array_equal(both.numbers[:calls], both.numbers[calls:])


def in_order(outputs: Outputs) -> list[str]:
    """Whether outputs, in the order of their calls, go with the number of the call or with the last one."""
    length = len(outputs)
    by_number = by_last = False
    places = _places(outputs.labels)
    for place in range(min(COLUMNS, outputs.codes.shape[1])):
        codes = outputs.codes[:, place]
        labels = np.where(codes < 0, codes, places[np.maximum(codes, 0)]) - 1e9
        values = np.where(outputs.is_number[:, place], outputs.numbers[:, place], labels)
        ranks = _ranks(values)
        number = np.arange(length, dtype=np.float64)
        by_number |= max(_far(ranks, number), _far(ranks, number % 2)) > DEVIATIONS
        by_last |= _far(ranks[1:], ranks[:-1]) > DEVIATIONS
    return [BY_NUMBER] if by_number else [BY_LAST] if by_last else []


def _places(labels: Sequence[Label]) -> Floats:
    """Where each label stands among all by its text: their codes go by who came first, and so by the call."""
    order = sorted(range(len(labels)), key=lambda code: (labels[code].kind, labels[code].text))
    found = np.zeros(max(1, len(labels)))
    found[order] = np.arange(len(labels))
    return found


def _ranks(values: Floats) -> Floats:
    """Ranks, the same for values that are the same."""
    found: Floats = np.unique(values, return_inverse=True)[1].astype(np.float64)
    return found


def _far(one: Floats, two: Floats) -> float:
    """A correlation, in the standard deviations that it has where there is none."""
    if one.std() == 0 or two.std() == 0:
        return 0.0
    return abs(float(np.corrcoef(one, two)[0, 1])) * math.sqrt(len(one) - 1)
