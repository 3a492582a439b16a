"""How a picture of a release looks: where things stand, in which colour, and that data is no formula."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import freegap as fg
from freegap.report.pictures import BLUE, ORANGE
from freegap.values.chart import _bars, _labels, _short, draw, drawable, drawn_column
from freegap.values.columns import Column

COUNTS = {"tea": 812, "milk": 790, "$rice$": 31, "salt": 2}


def ranked() -> Any:
    return fg.noisy_top_k(COUNTS, 3, epsilon=9, bits=fg.SeededBits(5))


def estimated() -> Any:
    return fg.select_and_measure(COUNTS, 2, epsilon=9, bits=fg.SeededBits(5))


def above() -> Any:
    return fg.sparse_vector([9, 700, 3, 900], 500, k=2, epsilon=9, bits=fg.SeededBits(5))


def colour(thing: Any) -> str:
    return to_hex(thing).upper()


def test_bars_are_blue_and_each_stands_in_the_middle_of_its_row() -> None:
    figure = draw(ranked())
    (axes,) = figure.axes
    assert [colour(bar.get_facecolor()) for bar in axes.patches] == [BLUE] * 3
    assert [bar.get_y() + bar.get_height() / 2 for bar in axes.patches] == pytest.approx([0, 1, 2])
    assert {round(bar.get_height(), 9) for bar in axes.patches} == {0.6}
    assert [bar.get_width() for bar in axes.patches] == [float(gap) for gap in ranked().gaps]
    assert axes.get_ylim() == (2.6, -0.6)  # the first above, and room for half a row at both ends
    assert figure.get_size_inches().tolist() == pytest.approx([8, 1.6 + 0.36 * 3])


@pytest.mark.parametrize(("rows", "height"), [(1, 2.32), (2, 2.32), (3, 2.68)])
def test_the_picture_of_a_row_or_two_is_as_high(rows: int, height: float) -> None:
    release = fg.noisy_top_k(COUNTS, rows, epsilon=9, bits=fg.SeededBits(5))
    assert draw(release).get_size_inches()[1] == pytest.approx(height)


def test_texts_are_data_and_no_formulas() -> None:
    release = fg.noisy_top_k({"$a$": 900, "$b$": 800, "$c$": 2}, 2, epsilon=9, bits=fg.SeededBits(5))
    (axes,) = draw(release).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$a$", "$b$"]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    titles = [axes.title, axes._left_title, axes._right_title]
    assert [bool(title.get_text()) for title in titles] == [False, True, False]
    assert not axes._left_title.get_parse_math()


def test_estimates_are_points_with_bars_to_both_sides() -> None:
    release = estimated()
    (axes,) = draw(release).axes
    points = axes.lines[0]
    assert points.get_xdata().tolist() == [float(estimate) for estimate in release.estimates]
    assert (points.get_marker(), points.get_markersize()) == ("o", 3)
    assert colour(points.get_color()) == BLUE
    assert [line.get_markersize() for line in axes.lines[1:]] == [8, 8]  # caps
    (bars,) = axes.collections
    assert colour(bars.get_color()[0]) == BLUE
    for segment, (low, high), estimate in zip(
        bars.get_segments(), release.intervals(), release.estimates, strict=True
    ):
        assert segment[:, 0].tolist() == pytest.approx(
            [min(low, float(estimate)), max(high, float(estimate))]
        )
    assert not axes.texts


def test_an_interval_without_an_end_has_an_arrow_to_the_edge() -> None:
    axes: Any = Figure().subplots()
    _bars(axes, np.arange(3), np.array([5.0, 6.0, 7.0]), [(None, 9), (1, None), (2, 8)])
    arrows = axes.texts
    assert [(arrow.get_text(), arrow.xy, arrow.xyann) for arrow in arrows] == [
        ("", (0, 0), (5.0, 0)),
        ("", (1, 1), (6.0, 1)),
    ]
    for arrow in arrows:
        assert arrow.xycoords == ("axes fraction", "data")
        assert arrow.anncoords == "data"
        assert arrow.arrowprops == {"arrowstyle": "->", "color": BLUE, "linestyle": ":"}
    segments = axes.collections[0].get_segments()
    assert segments[2].tolist() == [[2, 2], [8, 2]]
    ends = [
        [end if math.isfinite(end) else None for end in segment[:, 0].tolist()] for segment in segments[:2]
    ]
    assert ends in ([[5, 9], [1, 6]], [[None, 9], [1, None]])


def test_bars_of_nothing_are_no_bars() -> None:
    axes: Any = Figure().subplots()
    _bars(axes, np.arange(0), np.empty(0), [])
    assert not axes.lines
    assert not axes.collections


def test_the_threshold_is_a_dashed_orange_line_with_its_number() -> None:
    release = fg.hybrid_top_k(COUNTS, 500, k=3, epsilon=9, bits=fg.SeededBits(5))
    assert release.reached
    (axes,) = draw(release).axes
    line = axes.lines[-1]
    assert set(line.get_xdata()) == {500}
    assert (colour(line.get_color()), line.get_linestyle(), line.get_linewidth()) == (ORANGE, "--", 1.2)
    (note,) = axes.texts
    assert (note.get_text(), note.xy, note.xyann) == ("threshold 500", (500, 1), (4, -4))
    assert (note.xycoords, note.anncoords) == (("data", "axes fraction"), "offset points")
    assert (colour(note.get_color()), note.get_va(), note.get_fontsize()) == (ORANGE, "top", 9)
    (plain,) = draw(ranked()).axes
    assert not plain.lines  # gaps to the next have no threshold
    assert not plain.texts


def test_numbers_on_the_axis_are_written_in_full() -> None:
    (axes,) = draw(ranked()).axes
    form = axes.xaxis.get_major_formatter()
    assert [form(x) for x in (0, 1234.5, 12345678, 0.125)] == ["0", "1,234.5", "12,345,678", "0.125"]


@pytest.mark.parametrize(("length", "shown"), [(39, 39), (40, 40), (41, 40), (90, 40)])
def test_a_long_label_is_cut(length: int, shown: int) -> None:
    text = _short("x" * length)
    assert len(text) == shown
    assert text.endswith("…") is (length > 40)


def test_labels_that_would_be_equal_are_not_cut() -> None:
    alike = ["x" * 50 + "1", "x" * 50 + "2", "y" * 50]
    assert _labels(alike) == [*alike[:2], "y" * 39 + "…"]


@pytest.mark.parametrize(("rows", "more"), [(499, ""), (500, ""), (501, "\nThe first 500 of 501 rows")])
def test_more_rows_than_anybody_reads_are_not_drawn(rows: int, more: str) -> None:
    release = fg.measure([7] * rows, epsilon=9, bits=fg.SeededBits(5))
    (axes,) = draw(release).axes
    assert len(axes.patches) == min(rows, 500)
    assert len(axes.get_yticklabels()) == min(rows, 500)
    assert axes.get_title(loc="left").partition("\nNOT PRIVATE")[0] == release.title + more
    assert "\nNOT PRIVATE" in axes.get_title(loc="left")


def test_what_is_drawn_of_some_columns() -> None:
    """Estimates before all else; then numbers that are no places; an interval alone is no number."""
    names = Column("item", ("a",))
    rank, question = Column("rank", (1,), int), Column("question", (1,), int)
    gap, estimate = Column("gap to next", (1.0,), float, "gap"), Column("estimate", (2.0,), float)
    interval = Column("interval", ((1, 2),), tuple)
    assert drawn_column([names, rank, question]) is None
    assert drawn_column([rank, gap, names]) is gap
    assert drawn_column([rank, gap, estimate, names]) is estimate
    assert drawn_column([interval, names]) is None
    assert drawn_column([interval, gap]) is gap
    by_name = Column("how many people", (3.0,), float, "estimate")
    assert drawn_column([gap, by_name]) is by_name  # whatever it is called for people
    assert drawn_column([Column("place", (1,), int, "rank"), gap]) is gap
    assert drawable(ranked())
    assert not drawable(fg.noisy_top_k(COUNTS, 2, epsilon=9, gap=False, bits=fg.SeededBits(5)))


def test_a_release_without_names_or_without_columns() -> None:
    class Odd(fg.Release):
        def columns(self) -> list[Column]:
            return self.given

        given: list[Column]

    odd = object.__new__(Odd)
    vars(odd).update(given=[Column("gap", (1.0,), float)])
    assert not drawable(odd)
    assert len(odd) == 1
    vars(odd).update(given=[])
    assert not drawable(odd)
    assert len(odd) == 0


WORDS = {
    "top k": (
        ranked,
        [("rank", "", int, "d"), ("item", "", str, ",.3f"), ("gap to next", "gap", float, ",.3f")],
    ),
    "sparse vector": (
        above,
        [
            ("question", "", int, "d"),
            ("item", "", str, ",.3f"),
            ("gap to threshold", "gap", float, ",.3f"),
            ("estimate", "", float, ",.3f"),
        ],
    ),
    "estimates": (
        estimated,
        [
            ("rank", "", int, "d"),
            ("item", "", str, ",.3f"),
            ("estimate", "", float, ",.3f"),
            ("standard error", "", float, ",.3f"),
            ("95 % interval", "", tuple, ",.1f"),
        ],
    ),
    "a choice": (
        lambda: fg.exponential_mechanism(COUNTS, epsilon=2, bits=fg.SeededBits(5)),
        [
            ("item", "", str, ",.3f"),
            ("gap", "", float, ",.3f"),
            ("p-value that it is not the best", "p_value", float, ".3g"),
        ],
    ),
    "a candidate": (
        lambda: fg.select_private_candidate(
            [lambda bits: 3], Fraction, threshold=1, epsilon=1, stop="1/9", bits=fg.SeededBits(5)
        ),
        [("candidate", "", str, ",.3f"), ("score", "", float, ",.3f")],
    ),
    "no candidate": (
        lambda: fg.select_private_candidate(
            [lambda bits: 3], Fraction, threshold=5, epsilon=1, stop="8/9", bits=fg.SeededBits(5)
        ),
        [("candidate", "", str, ",.3f"), ("score", "", float, "")],
    ),
    "a candidate without a number": (
        lambda: fg.select_private_candidate(
            [lambda bits: 3], lambda _: math.inf, threshold=1, epsilon=1, stop="1/9", bits=fg.SeededBits(5)
        ),
        [("candidate", "", str, ",.3f"), ("score", "", float, "")],
    ),
    "counts of what is not known": (
        lambda: fg.unknown_counts(COUNTS, epsilon=2, delta="1e-7", items_per_person=1, bits=fg.SeededBits(5)),
        [("item", "", str, ",.3f"), ("people", "", int, ",d")],
    ),
    "a batch": (
        lambda: fg.noisy_top_k(COUNTS, 2, epsilon=2, size=3, bits=fg.SeededBits(5)),
        [
            ("release", "", int, "d"),
            ("rank", "", int, "d"),
            ("item", "", str, ",.3f"),
            ("gap to next", "gap", float, ",.3f"),
        ],
    ),
    "runs with branches": (
        lambda: fg.adaptive_sparse_vector([9, 700, 900], 500, k=2, epsilon=9, size=2, bits=fg.SeededBits(5)),
        [
            ("release", "", int, "d"),
            ("item", "", str, ",.3f"),
            ("gap to threshold", "gap", float, ",.3f"),
            ("estimate", "", float, ",.3f"),
            ("branch", "", int, "d"),
        ],
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_columns_of_a_release_word_for_word(name: str) -> None:
    """As people see them, and as its record keeps them."""
    make, words = WORDS[name]
    release: fg.Release = make()
    assert [(c.title, c.name, c.kind, c.form) for c in release.columns()] == words
    kinds = {str: "name", int: "whole", float: "number", tuple: "interval"}
    kept = release.to_dict()["table"]["columns"]
    assert [(c["title"], c["name"], c["kind"], c["form"]) for c in kept] == [
        (title, other, kinds[kind], form) for title, other, kind, form in words
    ]
