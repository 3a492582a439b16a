"""Numbers at the limits that the readers state, and releases word for word."""

from __future__ import annotations

import datetime
import io
import json
import math
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

import freegap as fg
from freegap.errors import InvalidArgument, MissingExtra
from freegap.values.above import AboveThreshold
from freegap.values.answers import (
    Answers,
    as_array,
    exact_number,
    read_answers,
    read_numbers,
    require_countable,
)
from freegap.values.columns import Column
from freegap.values.counts import _positions
from freegap.values.export import _excel_cell, writer_for
from freegap.values.measures import Pure
from freegap.values.neighbours import DIRECTIONS, directions_of, neighbours_argument
from freegap.values.plans import PlainPlan
from freegap.values.processes import processes
from freegap.values.ranking import HybridTopK, TopK
from freegap.values.rationals import (
    count_argument,
    double,
    positive_rational,
    private_rational,
    proper_fraction,
    rational,
    require_scale,
    sensitivity_argument,
    whole,
)
from freegap.values.results import NOT_PRIVATE
from freegap.values.thresholds import Offsets, read_own_threshold, read_threshold, subtract_threshold
from freegap.values.written import as_double, json_text, jsonable, text_of

GRID = Fraction(1, 1024)


@pytest.mark.parametrize("sign", [1, -1])
def test_rationals_with_as_many_digits_as_are_allowed(sign: int) -> None:
    most = 10**500  # the first number of 501 digits has as many bits as the limit; 2^1661 has more
    for fits in (sign * most, Fraction(sign, most), sign * (2**1661 - 1)):
        assert rational("epsilon", fits) == fits
    for too_long in (sign * 2**1661, Fraction(sign, 2**1661), sign * 10**501):
        with pytest.raises(InvalidArgument, match="must not have more than 500 digits in its numerator or"):
            rational("epsilon", too_long)
    assert rational("epsilon", Fraction(1, 10**9), digits=9) == Fraction(1, 10**9)
    with pytest.raises(InvalidArgument, match="more than 9 digits"):
        rational("epsilon", Fraction(1, 2 * 10**9), digits=9)


def test_decimals_and_texts_with_as_many_digits_as_are_allowed() -> None:
    assert rational("epsilon", Decimal("1e500")) == 10**500
    assert rational("epsilon", Decimal("1e-500")) == Fraction(1, 10**500)
    assert rational("epsilon", Decimal("0." + "1" * 500)) < 1
    for too_long in (Decimal("1e501"), Decimal("1e-501"), Decimal("1." + "1" * 500), Decimal("Infinity")):
        with pytest.raises(InvalidArgument):
            rational("epsilon", too_long)
    assert rational("epsilon", "0" * 999 + "7") == 7
    for text in ("0" * 1000 + "7", "1e1001", "1e-1001"):
        with pytest.raises(InvalidArgument, match="is not a number"):
            rational("epsilon", text)
    for text in ("1e1000", "1e-1000"):
        with pytest.raises(InvalidArgument, match="more than 500 digits"):
            rational("epsilon", text)
    assert rational("epsilon", "0e1000") == 0
    assert rational("epsilon", "1E2") == 100


def test_what_numpy_counts_among_the_numbers() -> None:
    with pytest.raises(InvalidArgument, match="must be a number, not a truth value"):
        rational("epsilon", np.True_)
    with pytest.raises(InvalidArgument, match=r"epsilon = .*: must be a number"):
        rational("epsilon", np.timedelta64(3, "ns"))
    assert whole(True) == 1
    assert whole(np.timedelta64(3, "ns")) is None
    assert whole(Fraction(3)) is None


def test_private_numbers_are_not_shown() -> None:
    assert private_rational("answer", "1/3") == Fraction(1, 3)
    with pytest.raises(InvalidArgument, match="answer: must be a finite number") as caught:
        private_rational("answer", "12345x")
    assert "12345" not in repr(caught.value.__context__) + str(caught.value) + repr(caught.value.value)


def test_numbers_within_bounds() -> None:
    assert positive_rational("epsilon", "1/1000") == Fraction(1, 1000)
    assert positive_rational("epsilon", Fraction(1, 10**3000), digits=3001).denominator == 10**3000
    for value in (Fraction(1, 10**9), Fraction(10**9 - 1, 10**9)):
        assert proper_fraction("share", value, "Pass 1/2.") == value
    for wrong in (0, 1, 2, -1):
        with pytest.raises(InvalidArgument, match=r"must lie strictly between 0 and 1\. Pass 1/2\."):
            proper_fraction("share", wrong, "Pass 1/2.")
    assert count_argument("k", 2**62) == 2**62
    with pytest.raises(InvalidArgument, match=r"k = .*: must be at most 2\^62\. Pass for example k=1"):
        count_argument("k", 2**62 + 1)
    assert count_argument("jobs", 0, least=0) == 0
    assert count_argument("k", 5, least=5) == 5
    with pytest.raises(InvalidArgument, match=r"must be at least 5\. Pass for example k=5"):
        count_argument("k", 4, least=5)
    for scale in (Fraction(10**100), Fraction(1, 10**100), Fraction(1)):
        require_scale(scale, 1)
    for scale in (Fraction(10**100 + 1), Fraction(1, 10**100 + 1), Fraction(0)):
        with pytest.raises(InvalidArgument, match="epsilon = 1: gives noise whose scale"):
            require_scale(scale, 1)
    assert sensitivity_argument(1, Fraction(1, 3)) == 1
    with pytest.raises(InvalidArgument, match=r'Fraction\("1"\)'):  # rounded up to the grid
        sensitivity_argument("3/4", Fraction(1, 2))
    assert (double(Fraction(10**400)), double(Fraction(-(10**400))), double(Fraction(1, 3))) == (
        math.inf, -math.inf, 1 / 3,
    )  # fmt: skip
    assert processes(1) == 1
    assert processes(0) >= 1
    with pytest.raises(InvalidArgument, match="jobs = -1"):
        processes(-1)


def test_words_for_neighbours() -> None:
    assert directions_of("monotonic") == ("increasing", "decreasing")
    assert directions_of("each") == ("each",)
    assert neighbours_argument("increasing", DIRECTIONS) == "increasing"
    for wrong in (None, 3, "increasing", ["one"]):
        with pytest.raises(InvalidArgument, match="neighbours"):
            neighbours_argument(wrong)


@pytest.mark.parametrize("kind", [Decimal, Fraction, int])
def test_answers_as_large_as_they_may_be(kind: Any) -> None:
    """10^1000, and what has as many bits; beyond they are refused, without being shown."""
    assert exact_number(kind(10**1000), "answers", GRID) == 10**1000
    for large in (kind(2 * 10**1001), kind(-2 * 10**1001)):
        with pytest.raises(
            InvalidArgument, match=r"must lie between 10\^-1000 and 10\^1000 in size"
        ) as caught:
            exact_number(large, "answers", GRID)
        assert "000000" not in str(caught.value)
    if kind is not int:
        assert exact_number(1 / kind(10**1000), "answers", GRID) == Fraction(1, 10**1000)
        with pytest.raises(InvalidArgument, match="in size"):
            exact_number(1 / kind(2 * 10**1001), "answers", GRID)


@pytest.mark.parametrize(
    "missing", [None, pd.NA, pd.NaT, np.timedelta64("NaT"), np.datetime64("NaT"), np.nan]
)
def test_what_stands_for_no_number(missing: Any) -> None:
    with pytest.raises(InvalidArgument, match="must not contain NaN, infinity or missing values"):
        exact_number(missing, "answers", GRID)


@pytest.mark.parametrize("wrong", ["1", b"1", 1j, np.timedelta64(3, "ns"), np.datetime64("2026-01-01"), [1]])
def test_what_is_no_number(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="must all be numbers"):
        exact_number(wrong, "answers", GRID)


def test_arrays_keep_each_number_as_it_is() -> None:
    assert as_array([1, True], "answers").dtype == np.int64
    assert as_array([1.0, 2.0], "answers").dtype == np.float64
    assert as_array([], "answers").dtype == np.int64
    for mixed in ([2**60 + 1, 0.5], [2**70, 1], [Fraction(1, 3)], [np.float32(0.1)], [[1], [2]]):
        found = as_array(mixed, "answers")
        assert (found.dtype, found.ndim, found.tolist()) == (np.dtype(object), 1, mixed)
    for argument in ("answers", "threshold"):
        with pytest.raises(InvalidArgument, match=f"{argument}: must be a sequence of numbers"):
            as_array(7, argument)
    with pytest.raises(InvalidArgument, match=r"answers = .*: must have at most 2\^62 items"):
        as_array(range(2**62 + 1), "answers")
    with pytest.raises(InvalidArgument, match=r"domain = .*: must have at most 2\^62 items"):
        fg.Counts.over(range(2**62 + 1), {1: 1})
    require_countable("domain", range(2**62))
    require_countable("domain", range(0, 2**70, 2**8))
    require_countable("domain", range(0))
    for longer in (range(2**62 + 1), range(2**62, -1, -1), range(0, 2**70 + 1, 2**8)):
        with pytest.raises(InvalidArgument, match=r"domain = .*: must have at most 2\^62 items"):
            require_countable("domain", longer)


def test_integers_of_eight_bytes_are_looked_at_and_smaller_ones_need_not_be() -> None:
    for kind in (np.int8, np.uint32, np.int64, bool):
        values, grain = read_numbers(np.array([1, 0], dtype=kind), GRID)
        assert isinstance(values, np.ndarray)
        assert (values.dtype, values.tolist(), grain) == (np.dtype(np.int64), [1, 0], Fraction(1))
    empty, _ = read_numbers(np.array([], dtype=np.int64), GRID)
    assert len(empty) == 0
    values, grain = read_numbers(np.array([0.5, 2.0]), GRID)
    assert ([int(value) for value in values], grain) == ([512, 2048], GRID)
    values, grain = read_numbers(np.array([0.5, 2.0], dtype=np.longdouble), GRID)
    assert ([int(value) for value in values], grain) == ([512, 2048], GRID)
    values, grain = read_numbers([Fraction(1, 2), 2**61], GRID)
    assert (values, grain) == ([512, 2**71], GRID)
    values, grain = read_numbers([Fraction(2), 3.0], GRID)
    assert grain == 1


def test_columns_with_and_without_labels() -> None:
    arrow = pa.chunked_array([[3, 1], [2]])
    assert read_answers(arrow, GRID).names is None
    assert list(read_answers(arrow, GRID).values) == [3, 1, 2]
    with pytest.raises(InvalidArgument, match="missing values"):
        read_answers(pa.array([3, None]), GRID)
    series = pd.Series([3, 1, 2], index=["c", "a", "b"])
    read = read_answers(series, GRID)
    assert (list(read.values), read.names) == ([1, 2, 3], ["a", "b", "c"])
    assert (read.indices([0, 2]), read.labels([0, 2]), read.questions(2)) == ((), ("a", "c"), ("a", "b"))
    plain = Answers(np.array([1, 2, 3]), Fraction(1), None)
    assert (plain.indices([0, 2]), plain.labels([0, 2]), plain.questions(2)) == ((0, 2), (0, 2), range(2))

    class Stubborn:
        """A column that cannot be converted, and says why."""

        def to_numpy(self) -> None:
            raise ValueError("SECRET")

        to_pylist = to_numpy

    with pytest.raises(InvalidArgument, match="answers: cannot be read as numbers") as caught:
        read_answers(Stubborn(), GRID)
    assert "SECRET" not in repr(caught.value.__context__)


def test_counts_that_are_no_counts() -> None:
    def named(group: int, member: int) -> str:
        return f"{group} {member}"

    assert fg.Counts([5], [2**62], name=named).items == 2**62
    assert fg.Counts([], [], name=named).items == 0
    assert repr(fg.Counts([5, 3], [2, 3], name=named)) == "<Counts: 5 items>"
    odd: Any = [[1], [1, 2]]
    for values, sizes, name, message in (
        ([5], [2**62 + 1], named, "between 1 and 2^62"),
        ([5, 4], [2**62, 1], named, "add up to at most 2^62"),
        ([5], odd, named, "must be a sequence of whole numbers"),
        ([5], [[1]], named, "must be a sequence of whole numbers"),
        ([5], [-1], named, "between 1 and 2^62"),
        ([5], [1], "name", "must be a function of (group, member)"),
        (iter([5]), [1], named, "values = '<list_iterator>': must be a sequence"),
        (5, [1], named, "values = '<int>': must be a sequence"),
    ):
        wrong: Any = (values, sizes)
        with pytest.raises(InvalidArgument) as caught:
            fg.Counts(*wrong, name=name)  # type: ignore[arg-type]
        assert message in str(caught.value)
    for arguments, message in (
        ({"counts": [1, 2]}, "counts: must be a mapping from item to value"),
        ({"items": [1]}, "is missing"),
        ({"values": [1]}, "is missing"),
        ({"items": {1}, "values": [1]}, "items = '<set>': must be a sequence"),
        ({"items": [1], "values": iter([1])}, "values = '<list_iterator>'"),
        ({"counts": {(1, 2): 3}}, "must all be in the domain"),
        ({"counts": {"1": 3}}, "must all be in the domain"),
        ({"items": [[1]], "values": [1]}, "must all be in the domain"),
        ({"items": np.array([[1]]), "values": [1]}, "must all be in the domain"),
        ({"items": [1, 1], "values": [1, 2]}, "must not name an item twice"),
    ):
        given: Any = arguments
        with pytest.raises(InvalidArgument) as caught:
            fg.Counts.over(range(9), **given)
        assert message in str(caught.value)
    with pytest.raises(InvalidArgument, match="must contain hashable items") as caught:
        fg.Counts.over([[1], [2]], {"x": 1})
    assert caught.value.__suppress_context__
    none = fg.Counts.over(range(5), items=np.array([]), values=[])
    assert [none.label(0, member) for member in range(5)] == [0, 1, 2, 3, 4]
    by_numpy = fg.Counts.over(range(0, 10, 2), {np.int64(4): 7})
    assert [by_numpy.label(1, member) for member in range(4)] == [0, 2, 6, 8]
    large = fg.Counts.over(range(3), items=[1], values=np.array([2**64 - 1], dtype=np.uint64))
    assert large.read(GRID).values == [2**64 - 1, 0]


def test_thresholds_at_their_limits() -> None:
    for wrong in (None, True, [1], (1,), {"a": 1}, np.array([1])):
        with pytest.raises(InvalidArgument, match=r"threshold = .*: must be a number\. Pass for example"):
            read_threshold(wrong, discrete=False)
    assert read_threshold("1/3", discrete=False) == Fraction(1, 3)
    assert read_threshold(3.0, discrete=True) == 3
    with pytest.raises(InvalidArgument, match="must be a whole number with geometric noise"):
        read_threshold("1/3", discrete=True)
    tenth = Fraction(1, 10)
    assert read_own_threshold(0.7, tenth, discrete=False) == Fraction(7, 10)
    assert read_own_threshold(Fraction(3, 4), tenth, discrete=False) == Fraction(7, 10)
    assert read_own_threshold(np.float32(0.7), tenth, discrete=False) == Fraction(7, 10)
    assert read_own_threshold(2.0, Fraction(1), discrete=True) == 2
    with pytest.raises(InvalidArgument, match="must be a whole number with geometric noise"):
        read_own_threshold(0.5, tenth, discrete=True)


def test_offsets_as_doubles_are_those_of_the_rationals() -> None:
    values = [0, 5, -7, 2**40]
    for constant in (
        Fraction(0),
        Fraction(1, 3),
        Fraction(-7, 3),
        Fraction(2**62),
        Fraction(-(2**70) - 1, 3),
    ):
        for grain in (Fraction(1), Fraction(1, 3), GRID):
            as_list: Any = list(values)
            for kept in (np.array(values), as_list):
                offsets = Offsets(kept, grain, constant, constant)
                exact = [value * grain - constant for value in values]
                assert [offsets.exact(i) for i in range(4)] == exact
                found = offsets.doubles(1, 4)
                assert len(found) == 3
                for near, number in zip(found.tolist(), exact[1:], strict=True):
                    assert abs(Fraction(near) - number) <= (1 + abs(number)) / 2**50
                assert offsets.threshold(2) == constant
    each = Offsets(np.array([1, 2]), Fraction(1), Fraction(0), (Fraction(3), Fraction(4)))
    assert (each.threshold(0), each.threshold(1)) == (Fraction(3), Fraction(4))


@pytest.mark.parametrize("far", [2**51 - 1, 2**51, 2**61 - 1, 2**61, -(2**61), 2**62])
def test_whole_numbers_and_fractions_meet_on_the_finer_grid(far: int) -> None:
    """Whole answers with thresholds in tenths, and the other way round, however far from zero."""
    tenth = Fraction(1, 10)
    answers = read_answers([far, 0], tenth)
    offsets = subtract_threshold(answers, [Fraction(1, 2), -far], tenth, discrete=False)
    assert [offsets.exact(i) for i in range(2)] == [far - Fraction(1, 2), far]
    assert offsets.grain == tenth
    assert offsets.thresholds == (Fraction(1, 2), -far)
    halves = read_answers([Fraction(1, 2), Fraction(1)], tenth)
    offsets = subtract_threshold(halves, [far, 3], tenth, discrete=False)
    assert [offsets.exact(i) for i in range(2)] == [Fraction(1, 2) - far, -2]
    one = subtract_threshold(halves, "1/3", tenth, discrete=False)
    assert (one.exact(0), one.threshold(1)) == (Fraction(1, 6), Fraction(1, 3))


def test_how_many_thresholds() -> None:
    answers = read_answers([1, 2], GRID)
    with pytest.raises(
        InvalidArgument, match=r"<3 thresholds>.*one for all or one for each of the 2 answers"
    ):
        subtract_threshold(answers, [1, 2, 3], GRID, discrete=False)
    with pytest.raises(InvalidArgument, match=r"<2 thresholds>.*must be a whole number with geometric noise"):
        subtract_threshold(answers, [1, Fraction(1, 2)], GRID, discrete=True)
    with pytest.raises(InvalidArgument, match=r"'<dict>': must be one for all, or have the labels"):
        subtract_threshold(answers, {"a": 1, "b": 2}, GRID, discrete=False)
    series = subtract_threshold(answers, pd.Series([5, 6]), GRID, discrete=True)
    assert [series.exact(i) for i in range(2)] == [-4, -4]


PLAN = PlainPlan("a mechanism", Pure(Fraction(1, 3)), {"k": 2, "scale": Fraction(1, 2)})
TOP = TopK(
    plan=PLAN, spent=Fraction(1, 4), private=True, indices=(4, 0), labels=("tea", 7), gap_multiples=(5, 3),
    resolution=Fraction(1, 2),
)  # fmt: skip
ABOVE = AboveThreshold(
    plan=PLAN, spent=Fraction(1, 4), private=False, questions=("a", "b", "c"), indices=(), labels=("c", "a"),
    gap_multiples=(5, 3), branches=(0, 0), thresholds=(Fraction(10), Fraction(20)), resolution=Fraction(1, 2),
)  # fmt: skip
HYBRID = HybridTopK(
    plan=PLAN, spent=Fraction(1, 4), private=True, indices=(), labels=("x", "y"), gap_multiples=(2, 4, 6),
    resolution=Fraction(1, 2), threshold=Fraction(10), reached=True,
)  # fmt: skip
COMMON = {"measure": "epsilon", "epsilon": "1/3", "spent": "1/4", "parameters": {"k": 2, "scale": "1/2"}}


def cells(release: Any) -> dict[str, tuple[tuple[str, ...], bool]]:
    return {column.title: (column.cells, column.numeric) for column in release.columns()}


def test_a_selection_word_for_word() -> None:
    assert TOP.gaps == (Fraction(5, 2), Fraction(3, 2))
    assert cells(TOP) == {
        "rank": (("1", "2"), True), "item": (("tea", "7"), False), "gap to next": (("2.500", "1.500"), True),
    }  # fmt: skip
    assert str(TOP) == (
        "Private top 2 with gaps\n"
        "rank  item  gap to next\n"
        "   1  tea         2.500\n"
        "   2  7           1.500\n"
        "ε asked 1/3, spent 1/4"
    )
    assert TOP.to_dict() == {
        "mechanism": "noisy_top_k", "indices": [4, 0], "labels": ["tea", 7], "gaps": [2.5, 1.5],
        "resolution": "1/2", "private": True, **COMMON, "table": TOP.to_dict()["table"],
    }  # fmt: skip
    bare = replace(TOP, gap_multiples=None)
    assert (bare.gaps, bare.title, bare.to_dict()["gaps"]) == ((), "Private top 2", None)
    assert list(cells(bare)) == ["rank", "item"]
    page = TOP._repr_html_()
    assert '<td style="text-align:right">1</td><td style="text-align:left">tea</td>' in page
    assert page.startswith(
        "<div><p><strong>Private top 2 with gaps</strong></p><table><thead><tr><th>rank</th>"
    )
    assert json.loads(TOP.to_json()) == TOP.to_dict()


def test_a_selection_in_a_terminal() -> None:
    console = Console(
        file=io.StringIO(), width=60, force_terminal=True, color_system="standard", legacy_windows=False
    )
    console.print(replace(TOP, private=False))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "│    1 │ tea  │       2.500 │" in shown
    assert f"\x1b[1;31m{NOT_PRIVATE[:20]}" in shown  # bold and red
    assert "\x1b[2mε asked 1/3, spent 1/4" in shown  # dim
    assert "Private top 2 with gaps" in shown.splitlines()[0]


def test_answers_above_a_threshold_word_for_word() -> None:
    assert ABOVE.answered == 3
    assert ABOVE.above == (True, False, True)
    assert ABOVE.gaps == (Fraction(3, 2), None, Fraction(5, 2))
    assert ABOVE.selected_gaps == (Fraction(5, 2), Fraction(3, 2))
    assert ABOVE.estimates == (Fraction(25, 2), Fraction(43, 2))
    assert ABOVE.title == "2 above the threshold, of 3 answered"
    assert cells(ABOVE) == {
        "item": (("c", "a"), False), "gap to threshold": (("2.500", "1.500"), True),
        "estimate": (("12.500", "21.500"), True),
    }  # fmt: skip
    assert ABOVE.to_dict() == {
        "mechanism": "a mechanism", "answered": 3, "questions": ["a", "b", "c"], "indices": [],
        "labels": ["c", "a"], "gaps": [2.5, 1.5], "branches": [0, 0], "thresholds": ["10", "20"],
        "resolution": "1/2", "among": None, "private": False, **COMMON, "table": ABOVE.to_dict()["table"],
    }  # fmt: skip
    assert ABOVE.footnotes() == ["ε asked 1/3, spent 1/4", NOT_PRIVATE]
    listed = replace(ABOVE, questions=range(3), indices=(2, 0), labels=(2, 0), branches=(1, 0))
    assert listed.to_dict()["questions"] is None
    assert list(cells(listed)) == ["question", "item", "gap to threshold", "estimate", "branch"]
    assert cells(listed)["question"] == (("2", "0"), True)
    assert cells(listed)["branch"] == (("1", "0"), True)
    bare = replace(ABOVE, gap_multiples=None, questions=())
    assert (bare.gaps, bare.selected_gaps, bare.estimates) == ((), (), ())
    assert (bare.title, bare.to_dict()["gaps"], list(cells(bare))) == (
        "2 above the threshold",
        None,
        ["item"],
    )
    assert replace(ABOVE, gap_multiples=None).gaps == (None, None, None)


def test_a_hybrid_selection_word_for_word() -> None:
    assert HYBRID.estimates == (Fraction(13), Fraction(12))
    assert HYBRID.title == "2 above the threshold 10 (all that are), with gaps"
    assert cells(HYBRID) == {
        "rank": (("1", "2"), True), "item": (("x", "y"), False), "gap to next": (("1.000", "2.000"), True),
        "estimate": (("13.000", "12.000"), True),
    }  # fmt: skip
    found = HYBRID.to_dict()
    assert (found["mechanism"], found["threshold"], found["reached"]) == ("hybrid_top_k", "10", True)
    assert (found["estimates"], found["gaps"]) == ([13.0, 12.0], [1.0, 2.0, 3.0])
    first = replace(HYBRID, reached=False, gap_multiples=(2, 4))
    assert (first.estimates, first.to_dict()["estimates"]) == (None, None)
    assert first.title == "2 above the threshold 10 (the first), with gaps"
    assert "estimate" not in cells(first)


def test_numbers_in_tables_and_in_json() -> None:
    large = (Fraction(10**15) - 1, Fraction(10**15), Fraction(-(10**15)))
    assert Column("gap", large, float).cells == (
        "999,999,999,999,999.000", "1.000000E+15", "-1.000000E+15",
    )  # fmt: skip
    assert (as_double(Fraction(1, 4)), as_double(Fraction(10**400))) == (0.25, str(10**400))
    assert as_double(Fraction(10**5000)) == "1." + "0" * 29 + "E+5000"
    for value in (None, True, "x", 2**53, -(2**53), 0.5):
        assert jsonable(value) == value
    assert (jsonable(Fraction(1, 3)), jsonable(np.int8(3))) == ("1/3", 3)
    assert jsonable(2**53 + 1) == str(2**53 + 1)
    assert (jsonable(math.inf), jsonable(math.nan)) == ("inf", "nan")
    assert jsonable(("a", 1)) == "('a', 1)"

    class Mute:
        def __str__(self) -> str:
            raise ValueError("SECRET")

    assert text_of(Mute()) == jsonable(Mute()) == "<Mute>"


def test_spending_in_a_line() -> None:
    """In full up to 24 characters; then to nine decimals, upwards, since it is what was charged."""

    def said(spent: Fraction) -> str:
        return replace(TOP, spent=spent).footnotes()[0].partition("spent ")[2]

    assert said(Fraction(1, 10**21)) == "1/1" + "0" * 21  # 24 characters
    assert said(Fraction(1, 10**22)) == "0.000000001"
    assert said(Fraction(10**22 + 1, 3 * 10**22)) == "0.333333334"
    assert said(Fraction(10**30, 3)) == "3.333333333E+29"
    assert said(Fraction(10**30 + 1, 10**15)) == "1.000000000E+15"


def test_a_number_of_too_many_digits_is_refused_before_they_are_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A short decimal may be a gigabyte of digits."""
    monkeypatch.setattr("freegap.values.answers.Fraction", lambda *_: pytest.fail("it was written out"))
    for text in ("1e1001", "-1e1001", "1e-1001", "1e999999999999"):
        with pytest.raises(InvalidArgument, match="between 10"):
            exact_number(Decimal(text), "answer", Fraction(1))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**53, 2**53),
        (-(2**53), -(2**53)),
        (2**53 + 1, "9007199254740993"),
        (-(2**53) - 1, "-9007199254740993"),
        (0.5, 0.5),
        (1e300, "1e+300"),
        (True, "True"),
        ("=1+1", "=1+1"),
    ],
)
def test_a_sheet_has_numbers_only_where_it_can_hold_them(value: Any, written: Any) -> None:
    class Sheet:
        def write_number(self, row: int, place: int, number: Any) -> int:
            self.seen: Any = number
            return 0

        write_string = write_number

    sheet = Sheet()
    assert _excel_cell(sheet, 1, 2, value) == 0
    assert sheet.seen == written
    assert isinstance(sheet.seen, str) is isinstance(written, str)
    for nothing in (None, float("nan")):
        assert _excel_cell(None, 1, 2, nothing) == 0


def test_counts_of_a_domain_of_which_nothing_occurs() -> None:
    for domain in (range(5), ["a", "b", "c"]):
        counts = fg.Counts.over(domain, {})
        assert counts.items == len(domain)
        assert counts.sizes.tolist() == [len(domain)]
        assert [counts.label(0, member) for member in range(len(domain))] == list(domain)
        assert _positions(domain, []).dtype == np.int64
        release = fg.noisy_top_k(counts, 2, epsilon=1, bits=fg.SeededBits(1))
        assert set(release.labels) < set(domain)


@pytest.mark.parametrize("item", [np.timedelta64(3, "ns"), np.timedelta64(3), "3", None, 3.5, 3j], ids=repr)
def test_what_is_no_number_is_no_item_of_a_range(item: Any) -> None:
    """A duration is equal to the number of its units, and none of them."""
    with pytest.raises(InvalidArgument, match="must all be in the domain"):
        fg.Counts.over(range(10), items=[item], values=[5])
    for number in (3, 3.0, np.int8(3), Decimal(3), Fraction(3), True):
        assert fg.Counts.over(range(10), items=[number], values=[5]).items == 10


@pytest.mark.parametrize(
    ("ending", "package"), [(".parquet", "pyarrow"), (".xlsx", "xlsxwriter"), (".csv", "nothing")]
)
def test_a_package_that_is_missing_is_missed_before_a_file_is_made(
    ending: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    if ending == ".csv":
        assert writer_for(Path("a.csv")) is writer_for(Path("A.CSV"))
        return
    with pytest.raises(MissingExtra, match=package):
        writer_for(Path(f"a{ending}"))


def test_what_json_has_no_word_for_is_written_as_its_text() -> None:
    value = {"place": PurePosixPath("a/b"), "day": datetime.date(2026, 1, 2), "share": Fraction(1, 3)}
    assert json_text(value) == '{"place": "a/b", "day": "2026-01-02", "share": "1/3"}'
