"""What an engine cannot do is found out before anything is drawn: each thing that will be needed is tried."""

from __future__ import annotations

from typing import Any

import ibis
import narwhals.stable.v2 as nw
import pyarrow as pa
import pytest

from freegap.tables import in_engine


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
