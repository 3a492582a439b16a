"""`plan`: which budget makes a release good enough, and what a budget buys. Nothing private is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from freegap.errors import InvalidArgument
from freegap.laws import RankingNoiseName
from freegap.mechanisms.arguments import flag_argument
from freegap.mechanisms.unknown_domain import delta_argument
from freegap.planner.assumed import DECLARE, Assumed, PowerLaw, declared_public, listed_counts
from freegap.planner.budget_plan import BudgetPlan
from freegap.planner.old_releases import is_release, release_in_file, released_counts
from freegap.planner.questions import GOALS, Goal, PlannedQuestion
from freegap.values.measures import Measure, Pure, ZeroConcentrated, measure_argument
from freegap.values.rationals import Rational, count_argument, positive_rational, proper_fraction, rational
from freegap.values.remarks import remarks_on
from freegap.values.results import Release

GoalName = Literal["exact", "share", "first", "recall", "precision", "width"]

_MOST_K = 10_000
_MOST_PEOPLE = 10**18
_DELTA = Fraction(1, 10**6)
_SERIES = tuple(Fraction(step) for step in ("1", "1.5", "2", "3", "5", "7"))
_SPREAD = 12  # the curve goes from a twelfth of the budget to twelve times as much
# Of the search: from very little to what protects nobody. A ρ of ε²/2 is as much as ε at most.
_RANGES = {
    Pure: (Fraction(1, 1000), Fraction(100)),
    ZeroConcentrated: (Fraction(1, 10**6), Fraction(1000)),
}


def plan(
    counts: Any,
    *,
    k: int,
    threshold: Rational | None = None,
    measure: bool = False,
    goal: GoalName | None = None,
    target: Rational | None = None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    delta: Rational | None = None,
    budget: Literal["epsilon", "rho"] = "epsilon",
    domain: Literal["unknown"] | None = None,
    noise: RankingNoiseName | None = None,
    items: int | None = None,
    public: bool = False,
    item: str | None = None,
    person: str | None = None,
    count: str | None = None,
) -> BudgetPlan:
    """Which budget a release needs, and what a budget buys, if the counts are as assumed.

    It is free, and nothing is charged: it is computed from what the caller says and from public parameters,
    and from no private data. It is no release, and draws nothing.

    counts: what is assumed. A `PowerLaw`; a list of assumed counts; an old release, or the path of its JSON
        (what is computed from a release costs nothing more); or with public=True a table, a file, a dict, a
        Series or an array of counts that anybody may know. Without it those are refused: a plan tells of the
        counts that it is made from. Never pass private counts.
    k: how many items come out at most.
    threshold: plan for `above` this number of people instead of for `top_k`.
    measure: plan for `top_k(…, measure=True)`, which estimates how many people each item has.
    goal: what is to be reached. Of the top k "exact" (exactly the right items come out; the one that is meant
        if nothing is said), "share" (the expected share of right items) or "first" (the first item is
        right); of `above` "recall" (the expected share of the items above the threshold that come out),
        "precision" (the share of what comes out that is above) or "exact"; "width" for how wide a 95 %
        interval for the people of an item is.
    target: how good that is to be: a chance or a share, 0.95 if nothing is said, or a number of people.
    epsilon, rho: a budget, to see what it buys. Without one, the least that reaches the goal is looked for,
        in ε, or in ρ with budget="rho".
    delta: a δ that could be accepted as well: by it the other measure is compared; 10⁻⁶ if nothing is said.
    domain: "unknown" for the top k where nobody has a list of the items, under ε and delta.
    noise: as for the release itself; the best known one if left out.
    items: how many items the public domain has. Those that are not assumed have nobody; after an old release
        they go on by a power law.
    item, person: the columns of a public table, as for `top_k`. count: a column of counts instead.

    >>> import freegap as fg
    >>> found = fg.plan(fg.PowerLaw(items=1000, largest=5000), k=10)
    >>> found.answer
    'ε = 0.54 is enough: exactly the right items come out with a chance of 95 %.'
    >>> found = fg.plan(fg.PowerLaw(items=1000, largest=5000), k=10, epsilon="0.1")
    >>> round(found.at.exact, 2), round(found.at.share, 2), round(found.at.first, 2)
    (0.02, 0.81, 1.0)
    """
    assumed = _read_assumed(counts, items, public=public, item=item, person=person, count=count)
    question = _question(assumed, k, threshold, measure, noise, domain, delta)
    aim = _goal(question, goal)
    asked: Pure | ZeroConcentrated | None = None
    if epsilon is not None or rho is not None:
        asked = measure_argument(epsilon=epsilon, rho=rho)
    kind = _kind(budget) if asked is None else type(asked)
    if question.delta is not None and kind is not Pure:
        raise InvalidArgument("rho", rho, "has no theorem for an unknown domain", "Pass epsilon and delta.")
    wanted = _target(aim, target, needed=asked is None)
    suggested, reason = (None, None) if wanted is None else _search(question, aim, wanted, kind)
    centre = asked or suggested
    at = None if centre is None else question.release(question.design(centre))
    other = _DELTA if delta is None else proper_fraction("delta", delta, 'Pass for example delta="1e-6".')
    designs = [] if centre is None else question.alternatives(centre, other)
    ways = sorted((question.release(design) for design in designs), key=_by(aim))
    curve = tuple(question.release(question.design(amount)) for amount in _curve(kind, centre))
    return BudgetPlan(
        title=_title(question),
        assumed=assumed.what,
        goal=aim.name,
        target=wanted,
        suggested=None if suggested is None else question.design(suggested).asked,
        reason=reason,
        at=at,
        curve=curve,
        alternatives=tuple(ways),
        delta=other,
        remarks=(*([] if at is None else remarks_on(at.asked)), *assumed.remarks),
    )


def _read_assumed(
    source: Any, items: Any, *, public: Any, item: str | None, person: str | None, count: str | None
) -> Assumed:
    """The counts that a caller assumes; what could be private is refused unless it is declared public."""
    declared = flag_argument("public", public)
    if isinstance(source, PowerLaw):
        if items is not None:
            raise InvalidArgument("items", items, "is said by the power law", "Leave it out.")
        return source.assumed()
    if isinstance(source, Release):
        source = source.to_dict()
    elif isinstance(source, str | Path) and Path(source).suffix.lower() == ".json":
        source = release_in_file(Path(source))
    if is_release(source):
        return released_counts(source, items, public=declared)
    if isinstance(source, list | tuple | range):
        return listed_counts(source, items, "a list of assumed counts")
    if not declared:
        what = "a file" if isinstance(source, str | Path) else f"what is a {type(source).__name__}"
        raise InvalidArgument("public", public, f"must be said of {what}, which may be private", DECLARE)
    return declared_public(source, items, item=item, person=person, count=count)


def _question(
    assumed: Assumed, k: Any, threshold: Any, measure: Any, noise: Any, domain: Any, delta: Any
) -> PlannedQuestion:
    number = count_argument("k", k)
    if number > _MOST_K:
        raise InvalidArgument("k", k, f"must be at most {_MOST_K:,} in a plan", "Plan for a smaller k.")
    measured = flag_argument("measure", measure)
    if domain is not None and not (isinstance(domain, str) and domain == "unknown"):
        raise InvalidArgument("domain", domain, 'must be "unknown", or left out', "Pass items for its size.")
    for argument, value in (("measure", measured or None), ("domain", domain)):
        if threshold is not None and value is not None:
            raise InvalidArgument(argument, value, "has no meaning with a threshold", "Leave it out.")
    if domain is not None and measured:
        raise InvalidArgument("measure", measure, "has no plan for an unknown domain", "Leave it out.")
    line = None if threshold is None else rational("threshold", threshold)
    if line is not None and abs(line) > _MOST_PEOPLE:
        raise InvalidArgument("threshold", threshold, "must be a number of people", "Pass for example 500.")
    return PlannedQuestion(
        assumed=assumed,
        k=number,
        threshold=line,
        measured=measured,
        noise=noise,
        delta=None if domain is None else delta_argument(delta, None),
    )


def _goal(question: PlannedQuestion, goal: Any) -> Goal:
    name = question.goals[0] if goal is None else goal
    if not isinstance(name, str) or name not in question.goals:
        known = ", ".join(map(repr, question.goals))
        more = "" if question.measured or question.threshold is not None else ', or measure=True for "width"'
        raise InvalidArgument("goal", goal, "is not a goal of this question", f"Pass one of {known}{more}.")
    return GOALS[name]


def _kind(budget: Any) -> type[Pure | ZeroConcentrated]:
    kinds: dict[str, type[Pure | ZeroConcentrated]] = {"epsilon": Pure, "rho": ZeroConcentrated}
    if not isinstance(budget, str) or budget not in kinds:
        known = " or ".join(map(repr, kinds))
        raise InvalidArgument("budget", budget, "is not a measure to plan in", f"Pass {known}.")
    return kinds[budget]


def _target(goal: Goal, target: Any, *, needed: bool) -> Fraction | None:
    """How good it is to be; None where nothing is looked for."""
    if target is None:
        if not goal.rising and needed:
            raise InvalidArgument(
                "target", None, "is missing: how many people?", "Pass for example target=20."
            )
        return Fraction(19, 20) if needed else None
    if not goal.rising:
        return positive_rational("target", target)
    return proper_fraction("target", target, "Pass for example target=0.95.")


def _search(
    question: PlannedQuestion, goal: Goal, target: Fraction, kind: type[Pure | ZeroConcentrated]
) -> tuple[Pure | ZeroConcentrated | None, str | None]:
    """The least amount of two digits that reaches the goal: every figure gets better with the budget."""
    low, high = _RANGES[kind]
    wanted = float(target)
    words = goal.wanted(target)
    tie = question.limit(goal.name)
    if tie is not None and tie[0] < wanted:
        return None, f"No {kind.symbol} makes it so that {words}: {tie[1]}."
    amounts = _short_decimals(low, high)

    def reached(place: int) -> bool:
        return goal.reached(question.figure(goal, question.design(kind.of(amounts[place]))), wanted)

    if not reached(len(amounts) - 1):
        most = question.figure(goal, question.design(kind.of(amounts[-1])))
        so_far = "nothing is above the threshold" if most is None else f"{goal.text(most)} at the most"
        return None, (
            f"No {kind.symbol} from {float(low):g} to {float(high):g} makes it so that {words}: {so_far}."
        )
    first, last = -1, len(amounts) - 1
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (first, middle) if reached(middle) else (middle, last)
    return kind.of(amounts[last]), None


def _short_decimals(low: Fraction, high: Fraction) -> list[Fraction]:
    """All decimals of two digits from low to high."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    found = {Fraction(digits) * Fraction(10) ** power for power in powers for digits in range(10, 100)}
    return sorted(amount for amount in found if low <= amount <= high)


def _curve(kind: type[Pure | ZeroConcentrated], centre: Measure | None) -> Sequence[Pure | ZeroConcentrated]:
    """Round amounts around the budget, and the budget itself."""
    low, high = _RANGES[kind]
    middle = Fraction(1) if centre is None else min(max(centre.spent, low), high)
    found = {middle} if centre is None else {centre.spent}
    for power in range(-7, 4):
        found |= {step * Fraction(10) ** power for step in _SERIES}
    near = [a for a in found if max(low, middle / _SPREAD) <= a <= min(high, middle * _SPREAD)]
    own = [] if centre is None or centre.spent in near else [centre.spent]
    return [kind.of(amount) for amount in sorted(near + own)]


def _by(goal: Goal) -> Any:
    def key(release: Any) -> float:
        value = getattr(release, goal.name)
        return math.inf if value is None else -value if goal.rising else value

    return key


def _title(question: PlannedQuestion) -> str:
    if question.threshold is not None:
        return f"At most {question.k} items with more than {float(question.threshold):,.10g} people"
    suffix = ", of an unknown domain" if question.delta is not None else ""
    return f"The top {question.k}{', measured' if question.measured else ''}{suffix}"
