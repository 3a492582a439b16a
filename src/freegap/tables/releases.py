"""`top_k` and `above`: private selection from any table.

count(distinct person) group by item has sensitivity Δ = 1 and is monotonic (`freegap.tables.people`),
so the mechanisms' theorems apply with monotonic=True; sums of a value are so within public bounds
(`freegap.tables.values`). They are: noisy top-k with gap (Ding 2020, theorem 5.7; under ρ
docs/mathematics/concentrated.md), select and measure (composition), hybrid sparse vector (Ding 2020, lemma
5.11); and what an unknown domain has (docs/mathematics/unknown.md), which is about such counts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged, ledger_argument, require
from freegap.estimate.bounds import gap_variances
from freegap.estimate.expected import selection_plan
from freegap.estimate.intervals import confidence_intervals
from freegap.estimate.selection import select_and_measure
from freegap.laws import CONTINUOUS_NOISES, ContinuousNoiseName, RankingNoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, flag_argument, noise_argument
from freegap.mechanisms.hybrids import hybrid_sparse_vector
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k import noisy_top_k
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.tables.column_names import ItemColumns
from freegap.tables.described import ProtectName, described, groups_of
from freegap.tables.grouped import above_in_groups, grouped, top_k_in_groups
from freegap.tables.grouping import GroupArguments, whole_of
from freegap.tables.people import Counted, counted
from freegap.tables.results import ItemsAbove, TopItems, of_totals, privacy_of
from freegap.tables.tallies import number_of_people, require_items
from freegap.tables.unknown import is_unknown, refuse_with_known, refuse_with_unknown, top_k_of_unknown
from freegap.tables.unknown_above import above_of_unknown
from freegap.tables.unknown_groups import above_of_unknown_in_groups, top_k_of_unknown_in_groups
from freegap.tables.values import ClippedValue, how_moved, in_values, unit_of, what_is_counted
from freegap.values.above import AboveThreshold
from freegap.values.measures import measure_argument
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational, count_argument, resolution_argument


def top_k(
    table: Any,
    *,
    item: ItemColumns = None,
    person: str | None = None,
    protect: ProtectName | None = None,
    where: Any = None,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    observed_keys_are_public: bool = False,
    normalize: bool = False,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
    domain_group: str | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
    measure: bool = False,
    delta: Rational | None = None,
    people: int | None = None,
    pool: int | None = None,
    items_per_person: int | None = None,
    noise: RankingNoiseName | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> TopItems:
    """The k items with the most distinct people, privately, each with its gap to the next.

    Adding or removing one person, with all rows of that person, changes the chance of any release by at most
    a factor e^ε; under ρ, the Rényi divergences between the two releases are at most ρ times their order. A
    person may have any number of rows and items. Rows without an item or without a person are left out.

    table: a pandas, Polars, PyArrow, DuckDB, Spark or Ibis table, or the path of CSV, JSON lines, Parquet or
        FIMI .dat files. In a .dat file each line is a person, and item and person are left out.
    item, person: the names of two columns. item=["ward", "icd10"] for items of several columns, which are
        tuples: texts, whole numbers, truth values and dates.
    where, protect: which rows are looked at, and that each row is protected by itself; see `source`.
    epsilon, rho: the budget, in one of the two measures.
    domain: the public items to choose among, whether they occur or not: a list, a range, a file, a table, or
        anything sized and indexable. Of items of several columns a list of tuples, a table with these
        columns, or a dict with a list for each of them, which stands for all combinations.
        "observed" takes the items that occur, and then observed_keys_are_public=True must say that their set
        may be known. "unknown" needs no list: the items are private too, under (ε, δ), and those that are too
        rare to be named do not come out.
    delta, people, pool: with domain="unknown" as in `unknown_top_k`; with groups="unknown" the first two. δ
        is the chance with which privacy may fail, at most one in a million, or one over a public number of
        people.
    items_per_person: with domain="unknown": count each person for so many of their items at most, chosen by a
        digest of the person and the item; with groups, in each of them. It lowers the bar a little, and the
        noise of `measure` much.
    normalize: take spellings that differ in case, in blanks or in encoding (NFC) only for one item, named as
        the domain spells it. For texts in files, pandas, Polars and PyArrow.
    domain_column: where the domain is a table or a file with several columns, the one that holds the items.
    value, low, high, unit: instead of the number of people, the total of this column of numbers. What one
        person adds to an item is the sum of their rows there, clipped to between low and high, which are
        public; gaps and estimates are then of totals. Rows are rounded to multiples of the unit, such as
        "0.01"; left out, a power of ten of which the larger bound has 10^8 at most.
    group, groups: release the top k in each of these public groups, which are values of the column `group`: a
        list, a range, a file or a table. Groups that do not occur are released like all others, and rows in
        groups that are not listed are left out. groups="unknown" needs no list: with half of ε and a delta
        the groups are named that enough people are in.
    domain_group: where each group has items of its own and the domain is a table or a file of pairs, its
        column of groups. Or let the domain be a mapping, {"north": ["tea", "milk"], …}. groups may then be
        left out: they are those of the domain.
    groups_per_person: count each person in so many groups at most, m, chosen by a digest of the person and
        the group. Each group then has 1/m of the budget; without it, one part for each group there is.
    one_group_per_person: your declaration that no person is in two groups. Each group then has the whole
        budget, and nothing checks it: groups_per_person=1 makes sure of it.
    measure: spend half of the budget on measuring the selected items, and estimate how many people each has.
        Under ρ the last gap is then not released.
    noise: "exponential" or "laplace" under ε, "gumbel" under ρ; the first of these if left out. With
        domain="unknown" "exponential" or "gumbel", and if left out the one with the lower bar.
    ledger: a ledger and the name of a data set in it; ε or ρ is reserved there before anything is drawn.
    bits: leave out for a private release; a seeded source for tests.

    >>> import freegap as fg
    >>> import pandas as pd
    >>> baskets = pd.DataFrame({"product": ["tea", "tea", "milk"] * 300, "customer": range(900)})
    >>> release = fg.top_k(baskets, item="product", person="customer", k=1, epsilon=1,
    ...                    domain=["milk", "rice", "tea"], bits=fg.SeededBits(1))
    >>> release.labels, release.spent
    (('tea',), Fraction(1, 1))
    >>> release = fg.top_k(baskets, item="product", person="customer", k=9, epsilon=2,
    ...                    domain="unknown", delta="1e-8", bits=fg.SeededBits(1))
    >>> release.labels, release.complete, release.delta
    (('tea', 'milk'), True, Fraction(1, 100000000))
    >>> baskets["shop"] = ["north", "south"] * 450
    >>> release = fg.top_k(baskets, item="product", person="customer", k=1, epsilon=1,
    ...                    domain=["milk", "rice", "tea"], group="shop", groups=["north", "south"],
    ...                    groups_per_person=1, bits=fg.SeededBits(1))
    >>> [(row.group, row.rank, row.item) for row in release]
    [('north', 1, 'tea'), ('south', 1, 'tea')]
    """
    table = described(table, where=where, protect=protect)
    group, groups, alone = groups_of(table, group, groups, one_group_per_person, ledger)
    by_group = GroupArguments.read(group, groups, groups_per_person, alone, domain_group)
    summed = ClippedValue.read(value, low, high, unit)
    if is_unknown(domain):
        refuse_with_unknown(
            domain_column=domain_column,
            domain_group=domain_group,
            observed_keys_are_public=observed_keys_are_public,
            normalize=normalize,
            value=value,
            rho=rho,
        )
        plan = UnknownPlan.read(
            k=k,
            epsilon=epsilon,
            delta=delta,
            people=people,
            pool=pool,
            items_per_person=items_per_person,
            noise=noise,
            resolution=resolution,
            measured=measure,
        )
        asking: dict[str, Any] = {"item": item, "person": person, "account": ledger_argument(ledger)}
        asking |= {"source": source_or_system(bits)}
        if group is not None:
            return top_k_of_unknown_in_groups(plan, noise, table, by_group, people=people, **asking)
        return top_k_of_unknown(plan, table, **asking)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    naming = by_group.naming(asked, delta, people)
    refuse_with_known(pool=pool, items_per_person=items_per_person)
    if naming is None:
        refuse_with_known(delta=delta, people=people)
    k = count_argument("k", k)
    grid = resolution_argument(resolution)
    measured = flag_argument("measure", measure)
    respelt = flag_argument("normalize", normalize)
    # Whatever the mechanisms would refuse is refused here, before anything is reserved.
    moved = how_moved(summed)
    selecting = selection_plan(asked, k, noise, measured=measured, resolution=grid, **moved)
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    require(account, whole_of(asked, naming))
    columns: dict[str, Any] = {
        "item": item,
        "person": person,
        "domain": domain,
        "domain_column": domain_column,
        "observed_keys_are_public": observed_keys_are_public,
        "normalize": respelt,
        "value": summed,
    }
    if group is not None:
        with grouped(table, by_group, asked, naming, **columns) as within:
            return top_k_in_groups(
                within, k=k, measured=measured, noise=noise, resolution=grid, account=account, source=source
            )
    with counted(table, **columns) as tallied:
        reason = "the last gap is to a runner-up" if selecting.last_gap else "k of them are selected"
        require_items(k, tallied.tally.items, selecting.places, reason)
        counts = tallied.tally.counts
        shared: dict[str, Any] = {
            asked.name: asked.spent,
            "noise": noise,
            "resolution": grid,
            "bits": source,
            **moved,
        }

        def release() -> TopItems:
            if not measured:
                selection = noisy_top_k(counts, k, **shared)
                return _top_items(tallied, selection.labels, selection, None)
            fused = select_and_measure(counts, k, **shared)
            return _top_items(tallied, fused.labels, fused.selection, fused)

        parameters = {"k": k, "measure": measured, "noise": selecting.law.name} | tallied.public
        return charged(account, PlainPlan("top_k", asked, parameters), release)


def above(
    table: Any,
    *,
    item: ItemColumns = None,
    person: str | None = None,
    protect: ProtectName | None = None,
    where: Any = None,
    threshold: Rational,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    observed_keys_are_public: bool = False,
    normalize: bool = False,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
    domain_group: str | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
    delta: Rational | None = None,
    people: int | None = None,
    items_per_person: int | None = None,
    noise: ContinuousNoiseName = "exponential",
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> ItemsAbove:
    """The items with more distinct people than a threshold, at most k, each with an estimate.

    What is not found is not charged under ε: with fewer than k items above the threshold, `spent` is less
    than ε. Under ρ noise is that of the ε that ρ allows, √(2ρ), and the charge is the same whatever is found.
    The gaps to the threshold give estimates at no extra charge. For the other arguments see `top_k`.

    domain: with "unknown" the release is (ε, δ)-private and needs items_per_person. Each person counts for so
        many items at most, each count has noise of its own, and a threshold that is too low to hide the item
        of one person alone is raised: `threshold` of the release says to what.

    >>> import freegap as fg
    >>> import pandas as pd
    >>> baskets = pd.DataFrame({"product": ["tea", "tea", "milk"] * 300, "customer": range(900)})
    >>> release = fg.above(baskets, item="product", person="customer", threshold=450, k=3, epsilon=1,
    ...                    domain=["milk", "rice", "tea"], bits=fg.SeededBits(1))
    >>> release.labels, release.complete, release.spent < 1
    (('tea',), True, True)
    >>> release = fg.above(baskets, item="product", person="customer", threshold=1, k=9, epsilon=1,
    ...                    domain="unknown", delta="1e-8", items_per_person=1, bits=fg.SeededBits(1))
    >>> release.labels, release.threshold, release.delta
    (('tea', 'milk'), Fraction(18, 1), Fraction(1, 100000000))
    """
    table = described(table, where=where, protect=protect)
    k = count_argument("k", k)
    group, groups, alone = groups_of(table, group, groups, one_group_per_person, ledger)
    by_group = GroupArguments.read(group, groups, groups_per_person, alone, domain_group)
    summed = ClippedValue.read(value, low, high, unit)
    if is_unknown(domain):
        refuse_with_unknown(
            domain_column=domain_column,
            domain_group=domain_group,
            observed_keys_are_public=observed_keys_are_public,
            normalize=normalize,
            value=value,
            rho=rho,
            noise=noise,
            resolution=resolution,
        )
        judging = UnknownCountsPlan.read(
            epsilon=epsilon, delta=delta, items_per_person=items_per_person, people=people
        )
        asking: dict[str, Any] = {"item": item, "person": person, "account": ledger_argument(ledger)}
        asking |= {"source": source_or_system(bits), "threshold": number_of_people(threshold), "k": k}
        if group is not None:
            return above_of_unknown_in_groups(judging, table, by_group, people=people, **asking)
        return above_of_unknown(judging, table, **asking)
    respelt = flag_argument("normalize", normalize)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    naming = by_group.naming(asked, delta, people)
    refuse_with_known(items_per_person=items_per_person)
    if naming is None:
        refuse_with_known(delta=delta, people=people)
    amounts: dict[str, Any] = asked.arguments()
    grid = resolution_argument(resolution)
    noise_argument(noise, CONTINUOUS_NOISES, asked)
    bar = number_of_people(threshold)
    moved, step = how_moved(summed), unit_of(summed)
    # Whatever the mechanism would refuse is refused here, before anything is reserved.
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=k, noise=noise, resolution=grid, **moved, **amounts)
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    require(account, whole_of(asked, naming))
    columns: dict[str, Any] = {
        "item": item,
        "person": person,
        "domain": domain,
        "domain_column": domain_column,
        "observed_keys_are_public": observed_keys_are_public,
        "normalize": respelt,
        "value": summed,
    }
    if group is not None:
        with grouped(table, by_group, asked, naming, **columns) as within:
            return above_in_groups(
                within, threshold=bar, k=k, noise=noise, resolution=grid, account=account, source=source
            )
    with counted(table, **columns) as tallied:
        require_items(k, tallied.tally.items, k, "k items cannot be above")
        counts = tallied.tally.counts

        def release() -> ItemsAbove:
            found = hybrid_sparse_vector(
                counts, bar / step, k=k, noise=noise, resolution=grid, bits=source, **moved, **amounts
            )
            return _items_above(tallied, plan, found, bar)

        parameters = {"k": k, "threshold": bar, "noise": noise} | tallied.public
        return charged(account, PlainPlan("above", asked, parameters), release)


def _top_items(people: Counted, places: Any, selection: Any, fused: Any | None) -> TopItems:
    whole = selection if fused is None else fused
    summed, unit = people.source.value, unit_of(people.source.value)
    return TopItems(
        plan=in_values(whole.plan, summed),
        labels=people.source.named(people.tally.names(places)),
        gap_multiples=selection.gap_multiples,
        resolution=selection.resolution * unit,
        estimates=None if fused is None else tuple(estimate * unit for estimate in fused.estimates),
        standard_errors=None
        if fused is None
        else tuple(error * float(unit) for error in fused.standard_errors),
        intervals=None if fused is None else of_totals(summed, fused.intervals()),
        counted=what_is_counted(summed, by_row=people.source.by_row),
        privacy=privacy_of(people.source, people.domain),
        spent=whole.spent,
        private=whole.private,
    )


def _items_above(people: Counted, plan: ThresholdPlan, found: AboveThreshold, bar: Fraction) -> ItemsAbove:
    # A gap was rounded down: half a step is missing on average.
    summed, unit = people.source.value, unit_of(people.source.value)
    step = found.resolution
    estimates = tuple((estimate + step / 2) * unit for estimate in found.estimates)
    return ItemsAbove(
        plan=in_values(plan, summed),
        labels=people.source.named(people.tally.names(found.labels)),
        gap_multiples=found.gap_multiples or (),
        resolution=step * unit,
        estimates=estimates,
        standard_errors=tuple(float(unit) * math.sqrt(variance) for variance in gap_variances(found)),
        intervals=of_totals(summed, confidence_intervals(found)),
        counted=what_is_counted(summed, by_row=people.source.by_row),
        privacy=privacy_of(people.source, people.domain),
        spent=found.spent,
        private=found.private,
        threshold=bar,
        complete=len(estimates) < plan.k,
    )
