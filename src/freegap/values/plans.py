"""What a release is going to do, settled from public arguments before an answer is looked at.

A plan is read once, at the boundary. The mechanism draws by it, the ledger journals it, the release carries
it, and estimators ask it what noise there was. It holds nothing private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from freegap.values.measures import Measure


class ReleasePlan(Protocol):
    """What every plan says of itself."""

    @property
    def mechanism(self) -> str:
        """The public name of what was asked."""

    @property
    def asked(self) -> Measure:
        """The most that the release may be charged, in its measure."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The public parameters, for the record."""


def price_of(plan: ReleasePlan) -> Measure:
    """What a ledger is asked for: the plan's own `price`, where it has one in another measure, or `asked`.

    Both are promises of the same release. A budget that is kept in neither converts the price.
    """
    price: Measure = getattr(plan, "price", None) or plan.asked
    return price


@dataclass(frozen=True)
class PlainPlan:
    """A plan of which nobody asks more than its parameters."""

    mechanism: str
    asked: Measure
    parameters: Mapping[str, Any]
    price: Measure | None = None
