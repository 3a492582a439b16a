"""What an engine can do and hold: each thing that will be needed is tried before anything is drawn."""

from __future__ import annotations

from typing import Any

import ibis
import narwhals.stable.v2 as nw
import pyarrow as pa
import pytest

from freegap.tables import in_engine
from freegap.tables.domains import HeldDomain, ListedDomain, ObservedDomain
from freegap.tables.groups import _can_occur
from freegap.tables.people import _stays
from freegap.tables.sources import TableSource


def _frame(item: Any) -> nw.LazyFrame[Any]:
    backend = ibis.duckdb.connect()
    backend.con.register("counts", pa.table({"item": pa.array(item), "people": pa.array([3, 1])}))
    frame: nw.LazyFrame[Any] = nw.from_native(backend.table("counts").limit(0))
    return frame


@pytest.mark.parametrize("needed", ["keep", "_present", "_absent_of_range", "_absent_of_table"])
def test_each_thing_that_is_needed_is_tried(needed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_engine.can_keep(_frame([7, 8]))

    def refuse(*_: Any) -> Any:
        raise ArithmeticError("this database cannot")

    monkeypatch.setattr(in_engine, needed, refuse)
    assert not in_engine.can_keep(_frame([7, 8]))
    # Ranges are of whole numbers alone.
    assert in_engine.can_keep(_frame(["a", "b"])) == (needed == "_absent_of_range")


class _Result:
    """What a newer DuckDB returns for a statement, which runs when it is fetched."""

    fetched = 0

    def fetchall(self) -> None:
        self.fetched += 1


def test_a_statement_runs_in_old_engines_and_in_new_ones() -> None:
    for result in (None, _Result()):
        asked: list[tuple[str, str]] = []

        class Relation:
            def query(self, view: str, statement: str, result: Any = result, asked: Any = asked) -> Any:
                asked.append((view, statement))
                return result

        in_engine._execute(Relation(), "view", "DROP TABLE one")
        assert asked == [("view", "DROP TABLE one")]
        assert result is None or result.fetched == 1


def test_groups_that_a_column_can_hold() -> None:
    """Whole numbers of 64 bits, to the last; texts without half of a character, wherever it stands."""
    numbers = [-(2**63) - 1, -(2**63), -(2**62) - 1, 0, 2**62 + 1, 2**63 - 1, 2**63]
    assert [_can_occur(number) for number in numbers] == [False, True, True, True, True, True, False]
    texts = ["", "tea", "\ud7ff", "\ud800", "a\udfff", "\udfffa", "\ue000"]
    assert [_can_occur(text) for text in texts] == [True, True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("kind", "items", "stays"),
    [
        ("integer", range(3), True),
        ("integer", range(0, 9, 2), False),
        ("integer", [0, 1, 2], False),
        ("text", range(3), False),
        ("integer", range(-(2**62), 5), True),
        ("integer", range(-(2**62) - 1, 5), False),
        ("integer", range(5, 2**62), True),
        ("integer", range(5, 2**62 + 1), False),
    ],
)
def test_which_lists_an_engine_matches_by_itself(kind: str, items: Any, stays: bool) -> None:
    source = TableSource(_frame([7, 8]), kind, True, "item", "person", None)
    assert _stays(source, ListedDomain(items, items.index, frozenset({kind}))) == stays
    assert _stays(source, HeldDomain(_frame([7, 8])))
    assert _stays(source, ObservedDomain())
    assert not _stays(TableSource(_frame([7, 8]), "date", True, "item", "person", None), ObservedDomain())


def test_a_source_is_of_persons_unless_it_says_otherwise() -> None:
    source = TableSource(_frame([7, 8]), "integer", True, "item", "person", None)
    assert (source.by_row, source.by_line, source.where, source.by_window) == (False, False, None, None)
    assert (source.group, source.group_kind, source.value, source.parts, source.group_parts) == (
        None,
        "",
        None,
        (),
        (),
    )
    assert source.public() == {"item": "item", "person": "person"}
