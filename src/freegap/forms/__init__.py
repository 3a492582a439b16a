"""What a mechanism is: a program on labelled noise, its charge, and the alignment that proves it private.

One text is released, proved, audited and replayed: a form. Every form has

    program(answers, noise) -> output                                on any kind of number
    alignment(answers, neighbour, output, noise) -> aligned noise    by label
    charge(output) -> number                                         or None: every output is charged ε

`Aligned`    any program, with its alignment and charge. It is proved at a bounded number of answers.

For every n, the prover must know how answers enter. Some forms say it, and make program and alignment out of
their parts:

`Selection`  noises all answers alike, ranks them, and releases the k best, and something about the noisy
             value of each and the next. The rest enters only through its maximum.
`Ranking`    the same, but releases distances to a noisy threshold, or nothing but the order; also discrete.
`Stream`     draws at the start, then takes the answers one by one in a step that sees only its state.
`Composition`  one of these, then another on what it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freegap.forms.composition import Composition
from freegap.forms.interfaces import Known, Labelled
from freegap.forms.ranking import Ranking
from freegap.forms.selection import Change, Selection
from freegap.forms.stream import Stream
from freegap.laws.labelled import LabelledNoise

__all__ = ["Aligned", "Change", "Composition", "Form", "Known", "Labelled", "Ranking", "Selection", "Stream"]


@dataclass(frozen=True)
class Aligned:
    """A program with its alignment, and with its charge where that depends on the output."""

    program: Callable[[Sequence[Any], LabelledNoise[Any]], Any]
    alignment: Callable[[Sequence[Any], Sequence[Any], Any, Mapping[Any, Any]], dict[Any, Any]]
    charge: Callable[[Any], Any] | None = None


Form = Aligned | Composition | Selection | Ranking | Stream
