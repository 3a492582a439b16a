"""Cases of the base-2 sparse vectors: the table of words against the program of Ilvento 2020, on the same
words."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

from freegap import base2
from freegap.base2.batch import FastRun
from freegap.base2.draws import BitDraws
from freegap.base2.plan import Base2Plan
from freegap.base2.questions import Run
from freegap.bits import BitSource, ReplayedBits
from freegap_evidence.assurance.regimes.case import Matrix, RegimeCase, asked, entries_of
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.numbers import INPUTS, LABELLED, VALUES, given_at, unholdable

GRIDS = {"1": Fraction(1), "1/2": Fraction(1, 2), "3": Fraction(3), "1/10": Fraction(1, 10)}
EPSILONS = {"1/10": Fraction(1, 10), "1": Fraction(1), "20": Fraction(20)}
WIDTHS = {"narrow": 3, "wide": 150}
WORDS = ("64", "16", "8")
_RANGE = 60  # steps of the grid on either side


def sparse_vector(*, with_gap: bool, online: bool) -> Matrix:
    """Against Ilvento 2020, algorithms 2 and 5, one question at a time."""
    dimensions = {
        "questions": ("few", "hundreds"),
        "values": VALUES,
        "input": INPUTS,
        "grid": tuple(GRIDS),
        "epsilon": tuple(EPSILONS),
        "k": ("1", "2", "many"),
        "width": tuple(WIDTHS),
        "words": WORDS,
    }
    impossible = unholdable() | apart("questions", ["hundreds"], "input", LABELLED[1:])
    return Matrix(Cells(dimensions, frozenset(impossible)), partial(_case, with_gap=with_gap, online=online))


def _case(levels: Levels, seed: str, *, with_gap: bool, online: bool) -> RegimeCase:
    choices = Choices(f"{seed} {sorted(levels.items())}")
    grid = GRIDS[levels["grid"]]
    n = choices.between(1, 9) if levels["questions"] == "few" else 300
    k = {"1": 1, "2": 2, "many": min(n, 40)}[levels["k"]]
    scale = grid * choices.between(1, 20)
    given = given_at(levels, [0.0] * n, scale=scale, grid=grid, choices=choices)
    epsilon = EPSILONS[levels["epsilon"]]
    arguments: dict[str, Any] = {
        "k": k,
        "eta": base2.share_epsilon(epsilon, k=k, sensitivity=grid, resolution=grid),
        "low": -_RANGE * grid,
        "high": _RANGE * grid,
        "width": WIDTHS[levels["width"]] * grid,
        "sensitivity": grid,
        "resolution": grid,
    }
    if with_gap:
        arguments["gaps"] = [step * grid for step in (1, 2, 5, 20)]
    threshold = choices.between(-9, 9) * grid
    digits = int(levels["words"])

    def released(bits: BitSource) -> Hashable:
        with patch.dict(FastRun.__init__.__kwdefaults__, {"digits": digits}):
            if online:
                return _asked(given.elements, threshold, arguments, bits)
            function: Any = base2.sparse_vector_with_gap if with_gap else base2.sparse_vector
            found = function(given.answers, threshold, **arguments, bits=bits)
        places = {given.label(i): i for i in range(n)}
        return entries_of(found, places.__getitem__, lambda gap, branch: gap), found.spent

    def expected(record: str, twin: bool) -> Hashable:
        """The twin takes every answer with the other sign."""
        plan = Base2Plan.read(threshold, **arguments)
        run = Run(plan, BitDraws(ReplayedBits(record), digits))
        ladder = (0, *plan.gaps)
        entries: list[int | None] = []
        for answer in given.exact:
            if run.exhausted:
                break
            steps = math.floor((-answer if twin else answer) / grid)
            reached = run.ask(max(plan.low, min(plan.high, steps)) - plan.threshold)
            entries.append(None if reached is None else ladder[reached])
        return tuple(entries), plan.charge(len(entries), run.found)

    told = f"threshold={threshold}, {arguments}, exactly={[*map(str, given.exact)][:9]}"
    return RegimeCase(released, expected, told)


def _asked(answers: list[Any], threshold: Fraction, arguments: dict[str, Any], bits: BitSource) -> Hashable:
    kind: Any = base2.DiscreteSparseVectorWithGap if "gaps" in arguments else base2.DiscreteSparseVector
    asking = kind(threshold, **arguments, bits=bits)

    def entry(reply: Any) -> int | None:
        """A reply without gaps is True or False."""
        if reply is None or reply is False:
            return None
        return 0 if reply is True else int(reply / arguments["resolution"])

    return asked(asking, zip(answers, strict=True), entry)
