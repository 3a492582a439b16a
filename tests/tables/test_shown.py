"""What a release from a table says of itself: as a table, as plain values, as a picture, and beforehand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.report.pictures import BLUE, ORANGE
from freegap.tables.forecast import forecast_above, forecast_top_k
from freegap.tables.results import ItemsAbove, PrivacyUnit, TopItems
from freegap.values.chart import draw
from freegap.values.measures import Pure
from freegap.values.page import page
from freegap.values.plans import PlainPlan
from freegap.values.results import NOT_PRIVATE
from freegap.values.written import readable

PRIVACY = PrivacyUnit("one value of 'c'", "tables that differ by one person", "9 public items")
TOP = TopItems(
    plan=PlainPlan("top_k", Pure(Fraction(1, 2000)), {"k": 2}),
    labels=("tea", "milk"),
    gap_multiples=(5, 3),
    resolution=Fraction(1, 2),
    estimates=(Fraction(1801, 2), Fraction(-3)),
    standard_errors=(1234.25, 9.0),
    intervals=((880.0, 921.0), (-23.0, 18.0)),
    privacy=PRIVACY,
    spent=Fraction(1, 2000),
    private=True,
)
GAPS = replace(TOP, estimates=None, standard_errors=None, intervals=None, private=False)
ABOVE = ItemsAbove(
    **{name: getattr(TOP, name) for name in TOP.__dataclass_fields__ if name != "complete"},
    threshold=Fraction(1, 2),
    complete=True,
)


def test_rationals_for_people() -> None:
    assert readable(Fraction(3)) == "3"
    assert readable(Fraction(1, 999)) == "1/999"
    assert readable(Fraction(1, 1000)) == "about 0.001 (exactly 1/1000)"
    assert readable(Fraction(12345, 1001)) == "about 12.33 (exactly 12345/1001)"


def test_plain_values() -> None:
    top = TOP.to_dict()
    assert {name: top[name] for name in ("release", "labels", "gaps", "estimates", "resolution")} == {
        "release": "top_k",
        "labels": ["tea", "milk"],
        "gaps": [2.5, 1.5],
        "estimates": [900.5, -3.0],
        "resolution": "1/2",
    }
    assert top["standard_errors"] == [1234.25, 9.0]
    assert top["intervals"] == [[880.0, 921.0], [-23.0, 18.0]]
    assert top["privacy"] == {
        "unit": PRIVACY.unit,
        "neighbours": PRIVACY.neighbours,
        "domain": PRIVACY.domain,
        "clipped": "nothing",
    }
    assert (top["epsilon"], top["spent"], top["private"]) == ("1/2000", "1/2000", True)
    gaps = GAPS.to_dict()
    assert (gaps["estimates"], gaps["standard_errors"], gaps["intervals"]) == (None, None, None)
    above = ABOVE.to_dict()
    assert (above["release"], above["threshold"], above["complete"]) == ("above", "1/2", True)


def test_columns() -> None:
    assert [(column.title, column.cells, column.numeric) for column in TOP.columns()] == [
        ("rank", ("1", "2"), True),
        ("item", ("tea", "milk"), False),
        ("gap to next", ("2.500", "1.500"), True),
        ("people", ("900.5", "-3.0"), True),
        ("std. error", ("1,234.2", "9.0"), True),
        ("95 % interval", ("880 to 921", "-23 to 18"), True),
    ]
    assert [column.title for column in GAPS.columns()] == ["rank", "item", "gap to next"]
    assert [column.title for column in ABOVE.columns()][2] == "above by"


def test_words() -> None:
    spent = "ε asked about 0.0005 (exactly 1/2000), spent about 0.0005 (exactly 1/2000)"
    lines = [
        f"One person is {PRIVACY.unit}.",
        f"Neighbours: {PRIVACY.neighbours}.",
        "Domain: 9 public items.",
        "Clipped: nothing.",
    ]
    assert TOP.footnotes() == [spent, *lines]
    assert GAPS.footnotes()[:-1] == [spent, *lines]
    assert "NOT PRIVATE" in GAPS.footnotes()[-1]
    assert TOP.title == "Private top 2, by number of people"
    assert ABOVE.title == "2 items with more than 1/2 people (all), privately"
    assert "(the first)" in replace(ABOVE, complete=False).title


def test_the_table_of_the_page() -> None:
    text = page(TOP, version="1<2", when=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    assert '<tr><th class="number">rank</th><th>item</th><th class="number">gap to next</th>' in text
    assert '<tr><td class="number">1</td><td>tea</td><td class="number">2.500</td>' in text
    assert "<dt>ε asked</dt><dd>about 0.0005 (exactly 1/2000)</dd>" in text
    assert "<dt>Domain</dt><dd>9 public items</dd>" in text
    assert "<dt>k</dt><dd>2</dd>" in text
    assert "freegap 1&lt;2, 2026-01-02 03:04 UTC" in text
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    shown = page(TOP, version="1").rpartition("freegap 1, ")[2].partition(" UTC")[0]
    assert before <= datetime.strptime(f"{shown} +0000", "%Y-%m-%d %H:%M %z") <= datetime.now(UTC)


def _axes(figure: Any) -> Any:
    (axes,) = figure.axes
    return axes


@pytest.mark.parametrize("many", [1, 2, 5])
def test_a_bar_for_each_gap_in_the_order_of_ranks(many: int) -> None:
    release = replace(
        GAPS, labels=tuple(f"i{n}" for n in range(many)), gap_multiples=tuple(range(1, many + 1))
    )
    figure = draw(release)
    axes = _axes(figure)
    bars = axes.patches
    assert [bar.get_width() for bar in bars] == [n / 2 for n in range(1, many + 1)]
    assert [bar.get_y() + bar.get_height() / 2 for bar in bars] == pytest.approx(list(range(many)))
    assert all(0.4 < bar.get_height() < 1 for bar in bars)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(release.labels)
    bottom, top = axes.get_ylim()
    assert many - 0.5 < bottom < many
    assert -1 < top < -0.5
    assert axes.get_xlabel() == "gap to next (people)"
    first, _, second = axes.get_title(loc="left").partition("\n")
    assert first == f"How far each of {many} items is ahead: gap to next, not its size"
    assert second == NOT_PRIVATE


def test_the_picture_grows_with_its_rows() -> None:
    heights = []
    for many in (0, 1, 2, 3, 12):
        figure = draw(replace(GAPS, labels=("x",) * many, gap_multiples=(1,) * many))
        heights.append(figure.get_size_inches()[1])
    assert heights[0] == heights[1] == heights[2]  # two rows at least
    per_row = heights[3] - heights[2]
    assert 0.2 < per_row < 0.6
    assert heights[4] - heights[3] == pytest.approx(9 * per_row)
    assert 1 < heights[2] - 2 * per_row < 2.5  # room for a title and an axis


def test_estimates_with_their_intervals_and_the_threshold() -> None:
    axes = _axes(draw(ABOVE))
    (bars,) = axes.containers
    marks, _, (spread,) = bars.lines
    assert marks.get_xydata().tolist() == [[900.5, 0.0], [-3.0, 1.0]]
    assert [segment[:, 0].tolist() for segment in spread.get_segments()] == [[880.0, 921.0], [-23.0, 18.0]]
    assert marks.get_color() == BLUE
    (line,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert list(line.get_xdata()) == [0.5, 0.5]
    assert line.get_color() == ORANGE
    (note,) = axes.texts
    assert note.get_text() == "threshold 1/2"
    assert note.xy == (0.5, 1)
    assert axes.get_xlabel() == "people, estimated, with 95 % intervals"
    assert axes.get_title(loc="left") == ABOVE.title
    assert not [line for line in _axes(draw(TOP)).lines if line.get_linestyle() == "--"]
    assert not _axes(draw(TOP)).texts
    # An estimate outside of its interval, as a threshold's can be, has no bar on that side.
    outside = _axes(draw(replace(TOP, intervals=((901.0, 921.0), (-23.0, -4.0)))))
    (bars,) = outside.containers
    spread = bars.lines[2][0]
    assert [segment[:, 0].tolist() for segment in spread.get_segments()] == [[900.5, 921.0], [-23.0, -3.0]]


@pytest.mark.parametrize(("length", "short"), [(40, False), (41, True)])
def test_long_labels_are_cut(length: int, short: bool) -> None:
    label = "abcdefghij" * 5
    axes = _axes(draw(replace(TOP, labels=(label[:length], "b"))))
    first = axes.get_yticklabels()[0].get_text()
    assert first == (label[:39] + "…" if short else label[:length])


def test_a_long_title_is_cut() -> None:
    for digits, cut in ((40, False), (60, True)):
        release = replace(ABOVE, threshold=Fraction(10**digits))
        shown = _axes(draw(release)).get_title(loc="left")
        assert shown == (release.title[:89] + "…" if cut else release.title)
        assert (len(release.title) > 90) == cut


def test_forecasts_by_hand() -> None:
    """Gaps are differences of two noises; with a measurement half of the budget is left for them."""
    plain = forecast_top_k(k=2, epsilon="1/2")
    assert (plain.what, plain.least, plain.most, plain.estimate_error) == (
        "top-k",
        Fraction(1, 2),
        Fraction(1, 2),
        None,
    )
    assert plain.gap_error == pytest.approx(math.sqrt(2) * 4)  # exponential of scale 2 / (1/2)
    laplace = forecast_top_k(k=2, epsilon="1/2", noise="laplace")
    assert laplace.gap_error == pytest.approx(math.sqrt(2 * 2) * 4)
    measured = forecast_top_k(k=2, epsilon="1/2", measure=True)
    assert measured.gap_error == pytest.approx(math.sqrt(2) * 8)
    assert (measured.least, measured.most) == (Fraction(1, 2), Fraction(1, 2))
    one = forecast_top_k(k=1, epsilon=1, measure=True)
    assert one.estimate_error == pytest.approx(math.sqrt(2) * 2)  # nothing to fuse with: Laplace of scale 2
    assert one.estimate_error == one.most_error
    assert one.lines()[4] == "95 % interval: 6.0 people to either side of what was measured"  # 2·ln 20
    many = forecast_top_k(k=20, epsilon=1, measure=True)
    assert many.lines()[3] == "standard error of an estimate: 34.5 people where gaps are wide, 56.6 at most"
    assert many.bars is not None
    assert many.to_dict()["interval"] == {
        "below": many.bars.below,
        "above": many.bars.above,
        "from_excess": 0.0,
    }
    above = forecast_above(k=2, epsilon="1/2")
    assert above.gap_error == above.estimate_error
    assert (above.what, above.most) == ("above", Fraction(1, 2))
    assert plain.lines() == [
        "Dry run of top-k: nothing was read, drawn or charged.",
        "ε charged: 1/2",
        "standard error of a gap: 5.7 people",
        "no estimates of the number of people (ask with --measure)",
        "with ρ = 0.00664152 instead, which is ε = 1/2 with δ = 10^-6: standard error of a gap 13.6 people",
    ]
    assert above.lines()[1] == f"ε charged: {readable(above.least)} at least, 1/2 at most"
    assert above.lines()[3] == f"standard error of an estimate: {above.gap_error:,.1f} people"
    assert above.bars is not None
    assert above.lines()[4] == (
        f"95 % interval: {above.bars.below:,.1f} people down and {above.bars.above:,.1f} up, "
        f"for an item that is found by {above.bars.excess:,.1f} or more; further down for others"
    )
    assert plain.instead is not None
    assert plain.to_dict() == {
        "dry_run": "top-k",
        "measure": "epsilon",
        "remarks": [],
        "charged_at_least": "1/2",
        "charged_at_most": "1/2",
        "gap_standard_error": plain.gap_error,
        "estimate_standard_error": None,
        "estimate_standard_error_at_most": None,
        "interval": None,
        "instead": {
            "rho": float(plain.instead.asked.spent),
            "gap_standard_error": plain.instead.gap_error,
            "estimate_standard_error": None,
        },
    }


TINY = Fraction(1, 10**200)


def test_forecasts_refuse_what_releases_refuse() -> None:
    for forecast in (forecast_top_k, forecast_above):
        for wrong in (
            {"k": 0},
            {"epsilon": 0},
            {"epsilon": TINY},
            {"noise": "geometric"},
            {"noise": "gumbel"},
        ):
            arguments: dict[str, Any] = {"k": 1, "epsilon": 1} | wrong
            with pytest.raises(InvalidArgument):
                forecast(**arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"epsilon": 0},
        {"epsilon": TINY},
        {"noise": "geometric"},
        {"resolution": 0},
        {"resolution": Fraction(1, 10**400)},
        {"bits": 7},
        {"ledger": 7},
    ],
    ids=str,
)
def test_what_is_refused_before_the_table_is_looked_at(wrong: dict[str, Any]) -> None:
    """The file is not there, and nobody gets as far as to notice."""
    arguments: dict[str, Any] = {"item": "i", "person": "p", "k": 1, "epsilon": 1, "domain": range(9)} | wrong
    for release in (fg.top_k, lambda table, **more: fg.above(table, threshold=5, **more)):
        with pytest.raises(InvalidArgument) as caught:
            release("nowhere.csv", **arguments)
        assert caught.value.argument == next(iter(wrong))


def test_a_threshold_is_read_before_the_table_is_looked_at() -> None:
    for threshold in ("many", 2**63, float("nan")):
        with pytest.raises(InvalidArgument) as caught:
            fg.above(
                "nowhere.csv", item="i", person="p", k=1, epsilon=1, domain=range(9), threshold=threshold
            )
        assert caught.value.argument == "threshold"


def test_half_of_what_a_release_may_ask_for_is_too_little_to_measure_as_well() -> None:
    """The smallest ε that top_k takes is refused where half of it is for the measurement."""
    table = pd.DataFrame({"item": [1], "person": [1]})
    options: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "domain": range(9)}
    low, high = Fraction(1, 10**200), Fraction(1)
    while high > 2 * low:
        middle = Fraction(1, math.isqrt(int(1 / (low * high))))
        try:
            fg.top_k(table, epsilon=middle, bits=fg.SeededBits(1), **options)
            high = middle
        except InvalidArgument:
            low = middle
    fg.top_k(table, epsilon=high, bits=fg.SeededBits(1), **options)
    with pytest.raises(InvalidArgument, match="epsilon"):
        fg.top_k("nowhere.csv", epsilon=high, measure=True, bits=fg.SeededBits(1), **options)
