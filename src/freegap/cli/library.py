"""What is to be proved of this library's own mechanisms: one entry a mechanism, one claim a proof.

To add a mechanism: an `Entry` with its program, its alignment and its charge, and the claims that the
library makes for it. `freegap prove --library` and the tests go through all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from freegap.mechanisms import top_k
from freegap.prove.forms import Selection
from freegap.prove.registry import Claim, Entry

__all__ = ["LIBRARY"]

_ONE = Fraction(1)


def _top_k_claims() -> Iterator[Claim]:
    """Each noise, general and monotonic, k = 1 (noisy max), 2, 3; at 5 answers and at any number."""
    for queries, law, k in product((5, None), ("laplace", "exponential"), (1, 2, 3)):
        for relation, factor in (("each", 2), ("monotonic", 1)):
            parameters = {"k": k, "scale": Fraction(factor * k), "law": law}
            tight = _ONE if queries is not None else None
            yield Claim(_ONE, queries, relation, parameters, tight=tight)
    # At the general scale, monotonic answers cost half of it.
    for law in ("laplace", "exponential"):
        parameters = {"k": 2, "scale": Fraction(4), "law": law}
        yield Claim(Fraction(1, 2), 4, "monotonic", parameters, tight=Fraction(1, 2))


def _gaps(values: Any, runner_up: Any) -> list[Any]:
    return [a - b for a, b in pairwise([*values, runner_up])]


def _top_k_form(*, k: int, scale: Fraction, law: str) -> Selection:
    return Selection(k, law, scale, _gaps, partial(top_k.shifts, law=law))


LIBRARY: tuple[Entry, ...] = (
    Entry(
        "noisy top-k with gap",
        top_k.program,
        top_k.alignment,
        tuple(_top_k_claims()),
        form=_top_k_form,
    ),
)
