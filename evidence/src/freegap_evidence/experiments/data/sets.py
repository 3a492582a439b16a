"""The three data sets of the papers (Ding 2020, table 5-3; Ding et al. 2023, table 3), and whatever a user
brings.

Without a path, T40I10D100K is generated and the other two are histograms of their shape; so it is with three
further ones, T10I4D100K, Retail and film ratings. A path to a folder replaces those whose real file lies in
it (kosarak.dat, bms-pos.dat, T40I10D100K.dat, retail.dat, …, also with .gz, and kosarak_head.csv); a path to
a file replaces all of them by that one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap_evidence.experiments.data.quest import T10I4D100K, T40I10D100K, QuestShape, generate
from freegap_evidence.experiments.data.shapes import (
    BMS_POS,
    KOSARAK,
    RATINGS,
    RETAIL,
    bms_pos,
    kosarak,
    ratings,
    retail,
)

_LEAST_ITEMS = 200
_HEAD = "kosarak_head.csv"
BMS_POS_NAME, KOSARAK_NAME, T40_NAME = PAPERS = ("BMS-POS", "Kosarak", "T40I10D100K")
RETAIL_NAME, T10_NAME, RATINGS_NAME = FURTHER = ("retail", "T10I4D100K", "ratings")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A histogram: in how many records each item occurs.

    name: as figures call it.
    origin: where it comes from, in words.
    counts: largest first.
    records: how many records there are; None where that is not known.
    """

    name: str
    origin: str
    counts: NDArray[np.int64]
    records: int | None

    @property
    def digest(self) -> str:
        """What tells this histogram from others, for the cache."""
        return hashlib.sha256(self.counts.tobytes()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {
            "name": self.name,
            "origin": self.origin,
            "records": self.records,
            "items": len(self.counts),
            "largest": int(self.counts[0]),
            "digest": self.digest,
        }


def data_sets(
    names: tuple[str, ...], path: Path | None = None, *, item: str | None = None, person: str | None = None
) -> tuple[DataSet, ...]:
    """The data sets of these names, or the one that a path names.

    item, person: the columns of a table; not needed for FIMI files and for files of item,count.

    >>> data_sets(("BMS-POS",))[0].describe()["items"]
    1657
    """
    if path is None:
        return tuple(_GENERATED[name]() for name in names)
    if path.is_dir():
        return tuple(_from_folder(name, path) for name in names)
    if not names:
        return ()
    read = read_counts(path, item=item, person=person)
    if len(read.counts) < _LEAST_ITEMS:
        raise InvalidArgument(
            "data",
            str(path),
            f"must have at least {_LEAST_ITEMS} different items: thresholds are drawn from the 192 largest",
            "Pass a larger file.",
        )
    return (read,)


def read_counts(path: Path, *, item: str | None = None, person: str | None = None) -> DataSet:
    """The histogram of a file: FIMI transactions, a table with an item and a person column, or item,count."""
    from freegap.tables.files import FileTable, open_connection
    from freegap.tables.readers import read_columns, read_lines

    files = FileTable(path, "data")
    with open_connection() as connection:
        records: int | None = None
        if files.format == "fimi":
            rows = read_lines(connection, files)
            records = int(rows.aggregate("count(DISTINCT person)").fetchall()[0][0])
        elif item is not None and person is not None:
            rows = read_columns(connection, files, [item, person]).project(
                f"{_quoted(item)} AS item, {_quoted(person)} AS person"
            )
            records = int(rows.aggregate("count(DISTINCT person)").fetchall()[0][0])
        else:
            table = read_columns(connection, files, ["item", "count"])
            numbers = [int(row[0]) for row in table.project('"count"').fetchall()]
            return _data_set(path, numbers, None)
        grouped = rows.aggregate("item, count(DISTINCT person) AS people", "item")
        return _data_set(path, [int(row[0]) for row in grouped.project("people").fetchall()], records)


def _quoted(column: str) -> str:
    """A column's name in a query."""
    doubled = column.replace('"', '""')
    return f'"{doubled}"'


def _data_set(path: Path, counts: list[int], records: int | None) -> DataSet:
    name = path.name.split(".")[0]
    return DataSet(name, f"read from {path.name}", np.sort(np.array(counts, dtype=np.int64))[::-1], records)


def t10i4d100k() -> DataSet:
    """T10I4D100K as generated here, to be checked against the published file."""
    return _quest(T10_NAME, T10I4D100K)


@lru_cache(maxsize=4)
def _quest(name: str, shape: QuestShape) -> DataSet:
    transactions = generate(shape)
    counts = np.bincount(np.concatenate([np.array(t) for t in transactions]), minlength=shape.items)
    ordered = np.sort(counts[counts > 0])[::-1].astype(np.int64)
    return DataSet(name, "generated by the Quest procedure", ordered, len(transactions))


def _kosarak(head: Path | None = None) -> DataSet:
    if head is None:
        return DataSet(KOSARAK_NAME, "a power law with the published sizes", kosarak(), KOSARAK["records"])
    counts = kosarak(read_counts(head).counts)
    return DataSet(
        KOSARAK_NAME,
        "the published head, then a power law with the published sizes",
        counts,
        KOSARAK["records"],
    )


_GENERATED: dict[str, Callable[[], DataSet]] = {
    BMS_POS_NAME: lambda: DataSet(
        BMS_POS_NAME, "a power law with the published sizes", bms_pos(), BMS_POS["records"]
    ),
    KOSARAK_NAME: _kosarak,
    T40_NAME: lambda: _quest(T40_NAME, T40I10D100K),
    T10_NAME: t10i4d100k,
    RETAIL_NAME: lambda: DataSet(
        RETAIL_NAME, "a power law with the published sizes", retail(), RETAIL["records"]
    ),
    RATINGS_NAME: lambda: DataSet(
        RATINGS_NAME, "a power law with the published sizes", ratings(), RATINGS["records"]
    ),
}


def _from_folder(name: str, folder: Path) -> DataSet:
    wanted = {f"{name}.dat".lower(), f"{name}.dat.gz".lower()}
    for file in sorted(folder.iterdir()):
        if file.name.lower() in wanted:
            read = read_counts(file)
            return DataSet(name, read.origin, read.counts, read.records)
    head = folder / _HEAD
    if name == KOSARAK_NAME and head.is_file():
        return _kosarak(head)
    return _GENERATED[name]()
