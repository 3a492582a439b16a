"""Before anything is spent: the dry run of a question, and what it would get right if counts are as assumed.

No table is looked at, and nothing is drawn or charged. Everything that a plan is computed from is public: the
question, the owner's settings, a release that was paid for, and what whoever asks assumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freegap.errors import InvalidArgument
from freegap.planner.assumed import PowerLaw
from freegap.planner.plan import plan
from freegap.serve.questions import FIELDS, AllowedQuestion, read_question
from freegap.serve.sources import Source
from freegap.serve.work import arguments_of
from freegap.tables.domains import UNKNOWN
from freegap.tables.forecast import Forecast, forecast_above, forecast_top_k
from freegap.values.rationals import count_argument

OWN_FIELDS = ("assume", "goal", "target")
_ASSUMPTIONS = ("largest", "exponent", "counts", "items", "line")
_MOST_COUNTS = 2000
_MOST_ITEMS = 10**12


@dataclass(frozen=True)
class PlanFields:
    """What is to be planned.

    amount: whether the question has one; else the least that is enough is looked for.
    assume: what of the counts is assumed, or of which earlier release they are; None for a dry run alone.
    """

    question: AllowedQuestion
    source: Source
    amount: bool
    assume: Mapping[str, Any] | None
    goal: Any
    target: Any

    @property
    def line(self) -> int | None:
        """Of the release that the counts are taken from."""
        return None if self.assume is None or "line" not in self.assume else int(self.assume["line"])


def read_plan(asked: Any, sources: Mapping[str, Source]) -> PlanFields:
    """What is to be planned, from what was sent."""
    own = {name: asked[name] for name in OWN_FIELDS if isinstance(asked, dict) and name in asked}
    given = {name: value for name, value in asked.items() if name not in own} if own else asked
    amount = not isinstance(given, dict) or any(given.get(name) is not None for name in ("epsilon", "rho"))
    if not amount and own.get("assume") is None:
        raise InvalidArgument(
            "assume", None, "is needed to look for an amount", "Send epsilon, or what you assume."
        )
    known = sources.get(given["source"]) if not amount and isinstance(given.get("source"), str) else None
    if known is not None:
        measure, (_, most) = next(iter(known.bounds.items()))
        given = {**given, measure: most}
    question = read_question(given, sources)
    source = sources[question.source]
    return PlanFields(
        question=question,
        source=source,
        amount=amount,
        assume=_assumed(own.get("assume"), question),
        goal=own.get("goal"),
        target=own.get("target"),
    )


def _assumed(assume: Any, question: AllowedQuestion) -> Mapping[str, Any] | None:
    if assume is None:
        return None
    if not isinstance(assume, dict) or not assume.keys() <= set(_ASSUMPTIONS):
        known = ", ".join(_ASSUMPTIONS)
        raise InvalidArgument("assume", f"<{type(assume).__name__}>", f"has fields {known}", "Send one.")
    given = {name: value for name, value in assume.items() if value is not None}
    if sum(name in given for name in ("largest", "counts", "line")) != 1:
        raise InvalidArgument("assume", sorted(given), "must be largest, counts or line", "Send one of them.")
    if "group" in question.arguments:
        raise InvalidArgument("assume", sorted(given), "cannot go with groups", "Plan for one group.")
    if "line" in given:
        count_argument("line", given["line"])
    if "counts" in given and (not isinstance(given["counts"], list) or len(given["counts"]) > _MOST_COUNTS):
        raise InvalidArgument("assume", "counts", f"must be a list of at most {_MOST_COUNTS}", "Send fewer.")
    if "items" in given and count_argument("items", given["items"]) > _MOST_ITEMS:
        raise InvalidArgument("items", given["items"], f"must be at most {_MOST_ITEMS:,}", "Send fewer.")
    return given


@dataclass(frozen=True)
class Planning:
    """Everything that a process needs to make a plan.

    earlier: a release that whoever asks may see, whose counts are assumed.
    """

    fields: PlanFields
    earlier: Mapping[str, Any] | None
    memory_mb: int
    pad_to: float = 0

    def outcome(self, *, told: Callable[[int], None] = lambda line: None) -> dict[str, Any]:
        """The plan, or why there is none: both depend on public things only. Nothing is reserved for it."""
        try:
            return {"status": "planned", **self._made()}
        except InvalidArgument as error:
            return {"status": "refused", "error": str(error)}

    def _made(self) -> dict[str, Any]:
        made = None if self.fields.assume is None else self._plan(self.fields.assume)
        question, source = self.fields.question, self.fields.source
        forecast = None
        if self.fields.amount:
            forecast = _forecast(question, source)
        return {
            "dry_run": None if forecast is None else {**forecast.to_dict(), "lines": forecast.lines()},
            "plan": None if made is None else made.to_dict(),
            "answer": None if made is None else made.answer,
        }

    def _plan(self, assume: Mapping[str, Any]) -> Any:
        asked = self.fields.question.arguments
        of_item = self.fields.source.items[asked["item"]]
        given = {name: asked[name] for name in ("k", "noise", "threshold", "measure") if name in asked}
        size = assume.get("items", of_item.size)
        counts: Any = assume.get("counts", self.earlier)
        if "largest" in assume:
            if size is None:
                raise InvalidArgument("assume", "largest", "needs items: how many there are", "Send it.")
            counts, size = PowerLaw(size, assume["largest"], assume.get("exponent", 1)), None
        elif "line" in assume and not counts.get("estimates"):
            size = assume.get("items")  # gaps alone do not tell how counts go on
        if of_item.delta is not None:
            given |= {"domain": UNKNOWN, "delta": of_item.delta}
        measure = "rho" if "rho" in asked else "epsilon"
        given |= {measure: asked[measure]} if self.fields.amount else {"budget": measure}
        return plan(counts, **given, items=size, goal=self.fields.goal, target=self.fields.target)


def _forecast(question: AllowedQuestion, source: Source) -> Forecast:
    arguments = arguments_of(question, source)
    for not_needed in ("item", "person", *(("threshold",) if question.mechanism == "top_k" else ())):
        arguments.pop(not_needed, None)
    forecast: Any = forecast_top_k if question.mechanism == "top_k" else forecast_above
    made: Forecast = forecast(**arguments)
    return made


ALL_FIELDS = (*FIELDS, *OWN_FIELDS, "line", "items", "counts", "largest", "exponent", "public")
"""Arguments of which an error speaks to whoever asked."""
