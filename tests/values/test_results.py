from __future__ import annotations

import dataclasses
import io
import json
from fractions import Fraction
from typing import Any

import pytest
from rich.console import Console

import freegap as fg
from freegap.values.results import NOT_PRIVATE

COUNTS = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}


def seeded(answers: Any = COUNTS, k: int = 2, **options: Any) -> fg.TopK:
    release: fg.TopK = fg.noisy_top_k(answers, k, epsilon=1, monotonic=True, bits=fg.SeededBits(7), **options)
    return release


def as_terminal(release: fg.TopK, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(release)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_release_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        seeded().spent = Fraction(0)  # type: ignore[misc]


def test_gaps_are_exact_multiples_of_the_resolution() -> None:
    for resolution in ("1/1024", "1/10", 1):
        release = seeded(resolution=resolution)
        assert all(isinstance(gap, Fraction) for gap in release.gaps)
        assert all((gap / release.resolution).denominator == 1 for gap in release.gaps)
        assert len(release.gaps) == 2


def test_the_example_of_the_readme() -> None:
    release = fg.noisy_top_k(COUNTS, k=2, epsilon=1, monotonic=True)
    assert set(release.labels) == {"flu", "cold"}
    assert release.spent == Fraction(1)
    assert release.private
    assert NOT_PRIVATE not in str(release) + as_terminal(release) + release._repr_html_()


@pytest.mark.parametrize("render", [str, as_terminal, lambda r: r._repr_html_()])
def test_every_rendering_shows_the_release_and_that_it_was_seeded(render: Any) -> None:
    text = render(seeded())
    for part in ("flu", "cold", "gap to next", "ε asked 1, spent 1", "NOT PRIVATE"):
        assert part in text


def test_json() -> None:
    release = seeded()
    read = json.loads(release.to_json())
    assert read["labels"] == list(release.labels)
    assert read["gaps"] == [float(gap) for gap in release.gaps]
    assert read["spent"] == "1"
    assert read["private"] is False
    assert read["parameters"] == {
        "k": 2,
        "noise": "exponential",
        "scale": "2",
        "sensitivity": "1",
        "monotonic": True,
    }


def test_labels_of_any_type_have_a_json_form() -> None:
    answers = {("a", 1): 900, None: 800, 2**80: 700, 1.5: 600, b"x": 500, float("nan"): 400, "end": 0}
    read = json.loads(seeded(answers, 6).to_json())
    assert read["labels"] == ["('a', 1)", None, str(2**80), 1.5, "b'x'", "nan"]


def test_a_hostile_label_cannot_steer_terminal_or_page() -> None:
    hostile = {"\x1b[31mred\x07": 900, "<script>alert(1)</script>": 800, "[bold]markup[/bold]": 700, "end": 0}
    release = seeded(hostile, 3)
    for text in (str(release), as_terminal(release)):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "[bold]markup[/bold]" in text
    assert "<script>" not in release._repr_html_()
    assert "&lt;script&gt;" in release._repr_html_()


def test_the_text_lines_up() -> None:
    lines = str(seeded()).splitlines()[1:4]
    assert len({line.index(line.split()[1]) for line in lines}) == 1
    assert len({len(line) for line in lines}) == 1


def test_branches_are_shown_where_any_answer_came_by_another_one() -> None:
    release = fg.adaptive_sparse_vector(
        [900, 130, 900, 0, 120], 100, k=4, epsilon=1, monotonic=True, bits=fg.SeededBits(0)
    )
    assert release.branches == (1, 1, 1, 0)
    assert [column.title for column in release.columns()][-1] == "branch"
