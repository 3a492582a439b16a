from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.mechanisms.population import members_of
from freegap.values.counts import _STRIDE, _numbers_up_to, _positions_in_range


def named(group: int, member: int) -> str:
    return f"item {group} {member}"


def test_a_domain_of_a_million_million() -> None:
    counts = fg.Counts.over(range(10**12), {17: 10**6, 99: 5 * 10**5})
    assert counts.items == 10**12
    release = fg.noisy_top_k(counts, 2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    assert release.labels == (17, 99)
    # Of 10^12 zeros the largest noise is about scale·ln(10^12) = 55, so the gap falls short by that.
    assert 499_000 < release.gaps[1] < 500_000


def test_items_that_do_not_occur_take_part() -> None:
    counts = fg.Counts.over(range(1000), {5: 1})
    winners = {fg.noisy_max(counts, epsilon="0.1", bits=fg.SeededBits(seed)).labels[0] for seed in range(200)}
    assert len(winners) > 150


def test_every_absent_item_can_be_named_and_no_present_one_is_named_twice() -> None:
    counts = fg.Counts.over("abcdefgh", {"b": 3, "a": 1, "h": 2})
    names = [counts.label(group, member) for group in range(4) for member in range(counts.sizes[group])]
    assert sorted(names) == list("abcdefgh")
    assert [counts.label(3, member) for member in range(5)] == list("cdefg")


def test_members_of_a_group_are_chosen_uniformly_without_replacement() -> None:
    counts = fg.Counts([0], [4], name=lambda group, member: member)
    seen: Counter[Any] = Counter()
    for seed in range(6_000):
        labels = fg.noisy_top_k(counts, 2, epsilon=1, bits=fg.SeededBits(seed)).labels
        assert len(set(labels)) == 2
        seen[labels] += 1
    assert len(seen) == 12
    assert all(abs(count - 500) < 6.5 * 21.4 for count in seen.values())


def test_a_whole_domain_that_occurs() -> None:
    counts = fg.Counts.over(["x", "y", "z"], {"y": 900, "x": 1, "z": 2})
    assert fg.noisy_max(counts, epsilon=1, bits=fg.SeededBits(1)).labels == ("y",)


def test_parallel_arrays_in_any_order() -> None:
    items = np.array([999, 3, 500])
    counts = fg.Counts.over(range(1000), items=items, values=np.array([1, 10**6, 2]))
    release = fg.noisy_max(counts, epsilon=1, bits=fg.SeededBits(1))
    assert release.labels == (3,)
    assert [counts.label(3, m) for m in (0, 3, 498, 996)] == [0, 4, 499, 998]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fg.Counts([1, 2], [1], name=named),
            "sizes: must be as many as the values",
        ),
        (lambda: fg.Counts([1], [0], name=named), "sizes: must each be between 1 and 2^62"),
        (lambda: fg.Counts([1], np.array([1.5]), name=named), "sizes: must be a sequence of whole numbers"),
        (lambda: fg.Counts([1, 2], [2**62, 2**62], name=named), "sizes: must add up to at most 2^62 items"),
        (lambda: fg.Counts.over(range(5), {7: 1}), "items: must all be in the domain"),
        (lambda: fg.Counts.over(["a"], {"b": 1}), "items: must all be in the domain"),
        (lambda: fg.Counts.over(["a", "a"], {"a": 1}), "must not name an item twice"),
        (
            lambda: fg.Counts.over(range(9), items=np.array([1, 1]), values=[1, 2]),
            "items: must not name an item twice",
        ),
        (
            lambda: fg.Counts.over(range(9), items=np.array([-1]), values=[1]),
            "items: must all be in the domain",
        ),
        (
            lambda: fg.Counts.over(range(2, 9), items=np.array([9]), values=[1]),
            "items: must all be in the domain",
        ),
        (
            lambda: fg.Counts.over(range(2, 9), items=np.array([1]), values=[1]),
            "items: must all be in the domain",
        ),
        (
            lambda: fg.Counts.over(range(9), items=np.array([0.5]), values=[1]),
            "items: must all be in the domain",
        ),
        (lambda: fg.Counts.over(range(9)), "counts = None: is missing"),
        (lambda: fg.noisy_max(fg.Counts([], [], name=named), epsilon=1), "must not be empty"),
        (
            lambda: fg.noisy_max(fg.Counts([4], [1], name=named), epsilon=1),
            "k = 1: must be smaller than the number",
        ),
    ],
)
def test_bad_counts(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert message in str(caught.value)


def test_no_release_tells_the_group_of_an_item() -> None:
    """A group's number goes with its answer: it is in no index, in no default label, in no JSON."""
    counts = fg.Counts.over(range(10**6), {17: 900, 99: 500})
    options: Any = {"epsilon": 1, "monotonic": True, "bits": fg.SeededBits(2)}
    releases: list[Any] = [
        fg.noisy_top_k(counts, 5, **options),
        fg.hybrid_top_k(counts, 100, k=5, **options),
        fg.hybrid_sparse_vector(counts, 100, k=5, **options),
        fg.select_and_measure(counts, 5, **options),
    ]
    for release in releases:
        assert release.indices == ()
        assert release.labels[:2] == (17, 99)
        assert '"indices": []' in release.to_json()
        assert str(release)
    with pytest.raises(TypeError, match="name"):
        fg.Counts([5, 900], [3, 1])  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="name: must be a function"):
        fg.Counts([5, 900], [3, 1], name=3)  # type: ignore[arg-type]
    assert repr(fg.Counts([5, 900], [3, 1], name=named)) == "<Counts: 4 items>"


@pytest.mark.parametrize("start", [2**63 - 2, 2**63])
def test_domains_beyond_int64(start: int) -> None:
    items = np.array([start + 1, start + 8], dtype=np.uint64)
    counts = fg.Counts.over(range(start, start + 9), items=items, values=[9, 5])
    alone = {counts.label(group, 0) for group, size in enumerate(counts.sizes) if size == 1}
    assert alone == {start + 1, start + 8}


@pytest.mark.parametrize("start", [-(2**63) - 5, -(2**63), 1 - 2**63, 0, 7, 2**63 - 10, 2**63 - 9, 2**63 - 4])
@pytest.mark.parametrize("step", [1, 3])
def test_items_of_a_range_are_named_together_as_one_by_one(start: int, step: int) -> None:
    """On both sides of what 64 bits hold, as Python's own numbers."""
    domain = range(start, start + 9 * step, step)
    counts = fg.Counts.over(domain, {domain[1]: 9, domain[8]: 5})
    groups, members = np.array([2] * 7 + [0, 1]), np.array([*range(7), 0, 0])
    names = counts.labels(groups, members)
    assert names == tuple(map(counts.label, groups.tolist(), members.tolist()))
    assert sorted(names) == list(domain)
    assert {type(name) for name in names} == {int}


@pytest.mark.parametrize(
    "values",
    [
        [3, 900, 5],
        [3.5, 900.25, 5.0],
        [3, 900.5, 5],
        [True, False, True],
        [2**70, 3, 5],
        [2**63 + 5, 3, 5],
        [-(2**62), 2**62, 0],
        [np.int64(3), np.int64(900), np.int64(5)],
        [Fraction(1, 3), Fraction(900), Fraction(5)],
        [Decimal("0.1"), Decimal(9), Decimal(3)],
    ],
    ids=str,
)
def test_a_mapping_is_read_as_its_items_and_values_are(values: list[Any]) -> None:
    """Also where no array of numbers holds them."""
    counts = dict(zip((17, 99, 5), values, strict=True))
    both = (
        fg.Counts.over(range(10**6), counts),
        fg.Counts.over(range(10**6), items=list(counts), values=list(counts.values())),
    )
    one, two = (fg.noisy_top_k(c, 2, epsilon=1, bits=fg.SeededBits(3)) for c in both)
    assert one == two


@pytest.mark.parametrize("number", [256**2 - 1, 256**2, 256**2 + 1, 70_000])
def test_how_many_numbers_are_up_to_a_member_is_what_searchsorted_says(number: int) -> None:
    rng = np.random.default_rng(number)
    for among in (np.arange(number) * 3, np.sort(rng.integers(0, 1000, number)), np.full(number, 7)):
        near = among[rng.integers(0, number, 300)]
        members = np.concatenate([near - 1, near, near + 1, among[:1] - 5, among[-1:] + 5, among[-300:]])
        found = _numbers_up_to(members, among, among[::_STRIDE].copy())
        assert np.array_equal(found, among.searchsorted(members, side="right"))


def test_many_items_of_a_domain_are_named_as_one_by_one() -> None:
    """As many as are searched for together; items that occur are among them."""
    places = np.random.default_rng(1).choice(10**6, 2**16 + 9, replace=False)
    counts = fg.Counts.over(range(5, 10**6 + 5), items=places + 5, values=np.ones(len(places), np.int64))
    absent = 10**6 - len(places)
    groups = np.array([len(places)] * 400 + [3, 0, len(places) - 1])
    members = np.array([0, absent - 1, *np.random.default_rng(2).choice(absent, 398), 0, 0, 0])
    names = counts.labels(groups, members)
    assert names == tuple(map(counts.label, groups.tolist(), members.tolist()))
    assert not set(names[:400]) & set((places + 5).tolist())


def test_counts_over_a_domain_are_read_once_for_each_grid() -> None:
    values = np.array([2.5, 7.75])
    counts = fg.Counts.over(range(100), items=[3, 4], values=values)
    halves = counts.read(Fraction(1, 2))
    assert counts.read(Fraction(1, 2)) is halves
    assert isinstance(halves.values, np.ndarray)
    assert not halves.values.flags.writeable
    values[:] = 90  # of the caller, who may do with it what he likes
    assert list(counts.read(Fraction(1, 2)).values) == [5, 15, 0]
    assert list(counts.read(Fraction(1, 4)).values) == [10, 31, 0]
    assert list(counts.read(Fraction(1, 2)).values) == [5, 15, 0]


def test_values_that_somebody_else_holds_are_read_each_time() -> None:
    values = np.array([2, 7])
    counts = fg.Counts(values, [1, 5], name=named)
    assert list(counts.read(Fraction(1)).values) == [2, 7]
    values[0] = 2**62
    assert counts.read(Fraction(1)).values == [2**62, 7]


@pytest.mark.parametrize("sizes", [[5, 1, 9], [5, 1, 1], [1, 1, 1]])
def test_members_are_distinct_within_their_group_and_below_its_size(sizes: list[int]) -> None:
    places = np.array([0, 2, 0, 1, 0] if sizes[2] > 1 else [0, 2, 1] if sizes[0] == 1 else [0, 2, 0, 1, 0])
    for seed in range(20):
        members = members_of(places, np.array(sizes)[places], fg.SeededBits(seed))
        pairs = list(zip(places.tolist(), members.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert all(0 <= member < sizes[place] for place, member in pairs)
    assert members_of(places[:0], np.array(sizes)[places[:0]], fg.SeededBits(1)).tolist() == []


def test_a_range_that_begins_below_int64() -> None:
    """Its items are int64, its start is none: the difference is taken in whole numbers of Python."""
    items = np.array([-(2**63), -(2**63) + 3])
    found = _positions_in_range(range(-(2**63) - 5, 0), items)
    assert found.tolist() == [5, 8]
    assert _positions_in_range(range(-(2**63), 0), items).tolist() == [0, 3]


def test_values_that_are_kept_are_kept_in_single_precision_too_where_that_is_exact() -> None:
    """The same numbers, of which nobody can change one; not beyond 2^23, nor of what somebody else holds."""
    for values in ([5, -(2**23), 2**23], [2.5, 7.75, 0.0]):
        answers = fg.Counts.over(range(10**9), items=[3, 4, 5], values=np.array(values)).read(Fraction(1, 4))
        assert answers.singles is not None
        assert answers.singles.tolist() == list(answers.values)
        assert not answers.singles.flags.writeable
    for far in (2**23 + 1, -(2**23) - 1, 2**62):
        counts = fg.Counts.over(range(10**9), items=[3, 4], values=[1, far])
        assert counts.read(Fraction(1)).singles is None
    assert fg.Counts([1, 2], [1, 5], name=named).read(Fraction(1)).singles is None


@pytest.mark.parametrize("far", [0, 2**23, 2**23 + 1, -(2**23), -(2**23) - 1])
@pytest.mark.parametrize("mechanism", [fg.noisy_top_k, fg.hybrid_top_k])
def test_a_release_is_the_same_whether_single_precision_is_kept_or_not(far: int, mechanism: Any) -> None:
    """More items than are looked at one by one; with a threshold, which is one answer more, as well."""
    values = np.append(np.random.default_rng(5).integers(0, 900, 3000), far)
    over = fg.Counts.over(range(10**9), items=np.arange(3001), values=values)
    sizes = np.append(np.ones(3001, np.int64), 10**9 - 3001)
    apart = fg.Counts(np.append(values, 0), sizes, name=lambda group, member: group + member)
    arguments = (30,) if mechanism is fg.noisy_top_k else ("700.5",)
    further: dict[str, Any] = {"epsilon": 1, "monotonic": True}
    if mechanism is fg.hybrid_top_k:
        further["k"] = 30
    for seed in range(4):
        one, two = (mechanism(c, *arguments, **further, bits=fg.SeededBits(seed)) for c in (over, apart))
        assert one == two


@pytest.mark.parametrize(
    "item",
    ["a", 0.5, None, float("nan"), float("inf"), Decimal("NaN"), 1 + 2j, np.timedelta64(3, "s"), b"x", (1,)],
)
def test_what_is_no_whole_number_is_not_looked_for_all_through_a_huge_range(item: Any) -> None:
    """Of a range of 10^15 that would take years, and whether it is begun would depend on the data."""
    with pytest.raises(InvalidArgument, match="items: must all be in the domain") as caught:
        fg.Counts.over(range(10**15), {item: 1})
    assert caught.value.__context__ is None


@pytest.mark.parametrize("item", [3, 3.0, Fraction(3), Decimal(3), np.int8(3), np.float64(3), np.uint64(3)])
def test_a_whole_number_of_any_kind_is_found_in_a_huge_range(item: Any) -> None:
    counts = fg.Counts.over(range(-5, 10**15, 4), {item: 10**6})
    assert counts.items == 250_000_000_000_002
    assert fg.noisy_max(counts, epsilon=9, bits=fg.SeededBits(1)).labels == (item,)
