"""What seldom happens: labels without a text, records without a form, cells without a value."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap import InvalidArgument
from freegap.values import export, labels
from freegap.values.batches import ReleaseBatch
from freegap.values.export import Plain
from freegap.values.measures import Pure
from freegap.values.plans import PlainPlan

PLAN = PlainPlan("a", Pure(Fraction(1)), {})


class Silent:
    """Has no text, and no order."""

    def __repr__(self) -> str:
        raise RuntimeError("a secret")


def test_a_label_whose_text_fails_is_refused_and_its_error_not_shown() -> None:
    with pytest.raises(InvalidArgument, match="must have labels that can be put in an order") as caught:
        labels.order_of_labels("answers", [Silent(), Silent()])
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_what_a_release_is_its_class_must_say() -> None:
    release = fg.Release(plan=PLAN, spent=Fraction(1), private=True)
    for ask in (lambda: release.title, release.columns, release.to_dict):
        with pytest.raises(NotImplementedError):
            ask()
    batch: Any = object.__new__(ReleaseBatch)
    for ask in (lambda: batch.releases, lambda: batch.first(1)):
        with pytest.raises(NotImplementedError):
            ask()


@pytest.mark.parametrize("name", [["a"], {"a": 1}])
def test_a_kept_release_has_names_and_no_lists_of_them(name: Any) -> None:
    release = fg.noisy_max({"a": 1, "b": 90}, epsilon=9, bits=fg.SeededBits(1))
    told = json.loads(release.to_json())
    told["table"]["columns"][1]["values"] = [name]
    with pytest.raises(InvalidArgument, match="must be a release as to_json writes it"):
        fg.Release.from_json(json.dumps(told))


def test_a_csv_file_by_its_ending_and_cells_without_a_value(tmp_path: Path) -> None:
    import openpyxl

    columns = [
        Plain("item", str, ["é", "b"]),
        Plain("gap", float, [0.5, None]),
        Plain("p", float, [float("nan"), 1.0]),
    ]
    for ending in (".csv", ".CSV", ".xlsx", ".parquet"):
        path = tmp_path / f"a{ending}"
        export.writer_for(path)(columns, path)
    assert (tmp_path / "a.csv").read_bytes() == "item,gap,p\né,0.5,nan\nb,,1.0\n".encode()
    assert (tmp_path / "a.CSV").read_bytes() == (tmp_path / "a.csv").read_bytes()
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["release"]
    cells = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert cells == [["item", "gap", "p"], ["é", 0.5, None], ["b", None, 1]]


def test_a_warning_points_to_where_the_file_is_written() -> None:
    release = fg.noisy_max({"=1+1": 900, "b": 3}, epsilon=9, bits=fg.SeededBits(1))
    with pytest.warns(UserWarning, match="would take for formulas") as caught:
        release.to_csv()
    assert [warning.filename for warning in caught] == [__file__]
