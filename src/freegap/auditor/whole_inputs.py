"""Inputs that are no lists of answers: tables, texts, sets, dicts, whatever a mechanism takes.

The audit looks at the outputs alone, so it need not know what an input is: it hands a fresh copy to every
run, tells inputs apart by what they consist of, and shows them. Which pairs are neighbours is a relation of
the user's.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from freegap.errors import InvalidArgument
from freegap.values.written import jsonable

Relation = Callable[[Any, Any], bool]

MOST_SHOWN = 2000


class WholeInput(tuple[float, ...]):
    """One input as it is. As a tuple of answers it is empty: there are no numbers in it to try.

    >>> one, two = WholeInput.of({"a": 1}), WholeInput.of({"a": 1})
    >>> one == two, one == WholeInput.of({"a": 2}), one
    (True, False, {'a': 1})
    """

    value: Any
    written: bytes

    @staticmethod
    def of(value: Any) -> WholeInput:
        """This object; an error where worker processes could not be told of it."""
        try:
            written = pickle.dumps(value)
        except Exception as error:
            raise InvalidArgument(
                "inputs",
                type(value).__qualname__,
                "cannot be copied for a run, or sent to a worker process",
                "Pass objects that can be pickled.",
            ) from error
        made = WholeInput()
        made.value, made.written = value, written
        return made

    def handed_over(self) -> Any:
        """A copy that the mechanism may change."""
        return copy.deepcopy(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WholeInput) and self.written == other.written

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.written)

    def __reduce__(self) -> tuple[object, ...]:
        return WholeInput.of, (self.value,)

    def __repr__(self) -> str:
        text = str(self.value) if hasattr(self.value, "columns") else repr(self.value)
        return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def handed_over(answers: Any) -> Any:
    """What a run gets: a fresh list of the answers, or a copy of an input that is something else."""
    return answers.handed_over() if isinstance(answers, WholeInput) else list(answers)


def shown(answers: Any) -> Any:
    """An input in an error or a record: the list, or the text of what it is."""
    return repr(answers) if isinstance(answers, WholeInput) else list(answers)


def plain_input(answers: Any) -> Any:
    """An input for JSON: its answers, or the text of what it is."""
    return repr(answers) if isinstance(answers, WholeInput) else [jsonable(answer) for answer in answers]


def related(pair: Any, relation: Relation) -> tuple[WholeInput, WholeInput]:
    """A pair of the user's, if they are neighbours by the user's relation."""
    try:
        first, second = pair
    except (TypeError, ValueError):
        raise InvalidArgument(
            "inputs", pair, "is not a pair of inputs", "Pass pairs such as (one, other)."
        ) from None
    if not relation(first, second):
        raise InvalidArgument(
            "inputs",
            pair,
            "are no neighbours by the relation that was given",
            "Pass pairs for which neighbours(one, other) is true.",
        )
    return WholeInput.of(first), WholeInput.of(second)
