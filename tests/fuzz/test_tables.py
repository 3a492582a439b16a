"""Tables and files: hostile names in every place, broken files of every format, and a ledger beside it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freegap as fg
from freegap.values.page import page
from tests.fuzz.outcome import FEWER, attempt, require_harmless, require_shown_safely
from tests.fuzz.strategies import NAMES, anything, hostile_texts, numbers, spoiled

TABLE = pa.table(
    {"item": ["a", "b", "a", "c"] * 30, "person": list(range(120)), "cost": [1.5, 2, -3, 40] * 30}
)
ASK: dict[str, Any] = {
    "table": TABLE,
    "item": "item",
    "person": "person",
    "k": 1,
    "epsilon": 1,
    "domain": ["a", "b", "c", "d"],
    "domain_column": None,
    "observed_keys_are_public": False,
    "noise": "exponential",
    "resolution": "1/1024",
    "ledger": None,
    "bits": None,
}
GROUPS: dict[str, Any] = {
    "group": "item",
    "groups": ["a", "b", "e"],
    "groups_per_person": 1,
    "one_group_per_person": False,
}
TOTALS: dict[str, Any] = {"value": "cost", "low": -2, "high": 5, "unit": "1/2"}
OWN: dict[str, Any] = {
    "domain": {"a": ["a", "b"], "b": ["b", "d", "a"]},
    "domain_group": None,
    "groups": None,
}
FORMATS = (
    "csv",
    "tsv",
    "jsonl",
    "ndjson",
    "parquet",
    "dat",
    "csv.gz",
    "dat.gz",
    "jsonl.gz",
    "csv.zst",
    "parquet.gz",
    "x",
)


class Books:
    """A ledger with one data set, of which nothing must be spent by what fails."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = fg.Ledger(f"sqlite:///{self.folder.name}/ledger.db")
        self.ledger.create("shop", epsilon=10**9)

    def spent(self) -> Any:
        account = self.ledger.account("shop")
        return account.spent + account.reserved


BOOKS = cache(Books)  # one for all examples: to write a ledger through to the disk takes its time


def released(function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Make a release; an error has charged nothing, and a result can be shown."""
    books = BOOKS()
    before = books.spent()
    if arguments["ledger"] is None:
        arguments = arguments | {"ledger": (books.ledger, "shop")}
    release, error = attempt(function, **arguments)
    if error is not None:
        assert books.spent() == before, error
        return
    require_shown_safely(release)
    text = page(release, version="0")
    assert "<script" not in text.lower()
    require_harmless(text)
    assert books.ledger.verify()


def arguments_of(function: Callable[..., Any], more: dict[str, Any]) -> Callable[[], None]:
    @FEWER
    @given(spoiled(ASK | more, k=st.one_of(st.integers(1, 3), numbers, anything)))
    def run(arguments: dict[str, Any]) -> None:
        released(function, arguments)

    return run


@FEWER
@given(
    spoiled(
        {name: value for name, value in ASK.items() if name not in ("k", "noise", "resolution")}
        | {"items_per_person": 1, "value": "cost", "low": -1, "high": 5, "unit": "0.01"}
    )
)
def histogram(arguments: dict[str, Any]) -> None:
    """A histogram of sums."""
    released(fg.histogram, arguments)


names = st.one_of(hostile_texts, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8))


@FEWER
@given(
    st.lists(st.tuples(names, names), max_size=8),
    st.tuples(names, names),
    st.lists(names, min_size=2, max_size=6, unique=True),
    st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz", "arrow"]),
    st.booleans(),
)
def written(
    rows: list[tuple[str, str]], columns: tuple[str, str], domain: list[str], form: str, file: bool
) -> None:
    """Well-formed files whose names are hostile: in the header, in the rows, in the domain."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"table.{form}"
        listed: Any = domain
        try:
            table = write(place, columns, rows)
            if file:
                write(Path(folder) / "domain.csv", (columns[0], "other"), [(name, "x") for name in domain])
                listed = str(Path(folder) / "domain.csv")
        except (UnicodeError, csv.Error, pa.ArrowException, ValueError):
            return  # what cannot be written cannot be read
        arguments = ASK | {"table": table, "item": columns[0], "person": columns[1], "domain": listed}
        released(fg.top_k, arguments)


def write(place: Path, columns: tuple[str, str], rows: list[tuple[str, str]]) -> Any:
    """The rows in a file of the format that its name says; or as a table."""
    form = place.suffix if place.suffix != ".gz" else Path(place.stem).suffix
    if form == ".arrow":
        return pa.table([[row[0] for row in rows], [row[1] for row in rows]], names=list(columns))
    if form == ".parquet":
        pq.write_table(pa.table([[r[0] for r in rows], [r[1] for r in rows]], names=list(columns)), place)
        return str(place)
    text = io.StringIO()
    if form == ".jsonl":
        for row in rows:
            text.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
    else:
        writer = csv.writer(text, delimiter="\t" if form == ".tsv" else ",")
        writer.writerow(columns)
        writer.writerows(rows)
    data = text.getvalue().encode()
    place.write_bytes(gzip.compress(data) if place.suffix == ".gz" else data)
    return str(place)


@FEWER
@given(
    st.sampled_from(FORMATS),
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=100).map(lambda t: t.encode("utf-8", "surrogatepass")),
        st.lists(
            st.sampled_from(
                [
                    b'"',
                    b",",
                    b"\n",
                    b"\r",
                    b"a",
                    b"1",
                    b"{",
                    b"}",
                    b":",
                    b"\0",
                    b"\xff",
                    b" ",
                    b"[",
                    b"item",
                    b'{"item":"a","person":1}\n',
                    b"item,person\n",
                    b"PAR1",
                    b"\x1f\x8b",
                    b"-1e999",
                ]
            )
        ).map(b"".join),
    ),
    st.booleans(),
    st.sampled_from([["a", "1"], [1, 2, 3], [1.5, 2.5], [True, False], range(100)]),
)
def broken(form: str, data: bytes, squeeze: bool, domain: Any) -> None:
    """Bytes that may be no file of their format at all."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"table.{form}"
        place.write_bytes(gzip.compress(data) if squeeze and form.endswith(".gz") else data)
        named = {"item": None, "person": None} if form.startswith("dat") else {}
        released(fg.top_k, ASK | {"table": str(place), "domain": domain, "k": 1} | named)


@FEWER
@given(
    st.one_of(
        hostile_texts,
        st.text(max_size=30),
        st.sampled_from(["", ".", "/", "~", "*", "a*b", "http://x/y.csv"]),
    )
)
def path(text: str) -> None:
    """A path that is none."""
    with tempfile.TemporaryDirectory() as folder:
        place = text if text in ("", "*") else f"{folder}/{text}"
        released(fg.top_k, ASK | {"table": place})


TARGETS: dict[str, Callable[[], None]] = {
    "top_k": arguments_of(fg.top_k, {"measure": False}),
    "above": arguments_of(fg.above, {"threshold": 20}),
    "histogram": histogram,
    "groups": arguments_of(fg.top_k, GROUPS),
    "totals in groups": arguments_of(fg.top_k, GROUPS | TOTALS | {"measure": True}),
    "above in groups": arguments_of(fg.above, GROUPS | {"threshold": 20} | OWN),
    "written": written,
    "broken": broken,
    "path": path,
}


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_freegap(name: str) -> None:
    TARGETS[name]()


def test_hostile_names_come_out_as_they_are() -> None:
    """Names are data: they are found, counted and returned, whatever they contain."""
    wanted = [name for name in NAMES if name.isascii() and "\0" not in name and name.strip()][:12]
    rows = [(name, f"{name}-{i}") for place, name in enumerate(wanted) for i in range(100 * (place + 1))]
    with tempfile.TemporaryDirectory() as folder:
        for form in ("parquet", "jsonl", "arrow"):
            table = write(Path(folder) / f"t.{form}", ("item", "person"), rows)
            release = fg.top_k(
                table, item="item", person="person", k=3, epsilon=5, domain=[*wanted, "x", "y"]
            )
            assert release.labels == tuple(wanted[-1:-4:-1])
