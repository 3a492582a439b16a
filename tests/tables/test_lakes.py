"""Delta and Iceberg tables: the rows of the current version, and neither old ones nor deleted ones."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.errors import InvalidArgument, MissingExtra
from tests.tables.engines import counts_of, expected

deltalake = pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat  # noqa: E402
from pyiceberg.typedef import Record  # noqa: E402
from pyroaring import BitMap  # noqa: E402

ROWS = (
    [("a", person) for person in range(30)] + [("b", person) for person in range(20)] + [("c", 7), (None, 8)]
)
TABLE = pa.table({"item": [item for item, _ in ROWS], "person": [person for _, person in ROWS]})
DOMAIN = ["a", "b", "c", "d"]
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def without(*items: str) -> dict[Any, int]:
    return expected([row for row in ROWS if row[0] not in items], DOMAIN)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    path = tmp_path / "delta"
    deltalake.write_deltalake(str(path), TABLE.slice(0, 25))
    deltalake.write_deltalake(str(path), TABLE.slice(25), mode="append")
    return path


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=TABLE.schema)
    table.append(TABLE)
    return table


def place(table: Any) -> str:
    return str(table.metadata_location).removeprefix("file://")


def test_delta_without_old_versions(delta: Path) -> None:
    assert counts_of(str(delta), DOMAIN) == without()
    deltalake.DeltaTable(str(delta)).delete("item = 'b'")
    deltalake.DeltaTable(str(delta)).optimize.compact()
    assert counts_of(delta, DOMAIN) == without("b")
    deltalake.write_deltalake(str(delta), TABLE.slice(0, 5), mode="overwrite")
    assert counts_of(delta, DOMAIN) == {"a": 5, "b": 0, "c": 0, "d": 0}


def test_delta_with_deletion_vectors(delta: Path) -> None:
    """Rows that were deleted without writing a file anew: the first ten of the first file."""
    log = delta / "_delta_log"
    added = json.loads(
        next(line for line in (log / f"{0:020}.json").read_text().splitlines() if '"add"' in line)
    )["add"]
    gone = BitMap(range(10)).serialize()
    vector = struct.pack("<IQI", 1681511377, 1, 0) + gone
    described = {
        "storageType": "i",
        "pathOrInlineDv": _z85(vector),
        "sizeInBytes": len(vector),
        "cardinality": 10,
    }
    features = {f"{who}Features": ["deletionVectors"] for who in ("reader", "writer")}
    lines = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": added | {"deletionVector": described}},
    ]
    (log / f"{2:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert counts_of(str(delta), DOMAIN) == without() | {"a": 20}


def _z85(data: bytes) -> str:
    words = struct.unpack(f">{-(-len(data) // 4)}I", data + bytes(-len(data) % 4))
    return "".join(_Z85[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))


def _deletes(table: Any, content: Any, rows: pa.Table, folder: Path, **more: Any) -> None:
    path = folder / f"{content.name}.parquet"
    pq.write_table(rows, path)
    sizes = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
    unknown: dict[str, Any] = {name: {} for name in (*sizes, "lower_bounds", "upper_bounds")}
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=path.stat().st_size,
        spec_id=0,
        **unknown,
        **more,
    )
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


def test_iceberg_without_deleted_rows(iceberg: Any, tmp_path: Path) -> None:
    first = place(iceberg)
    assert counts_of(first, DOMAIN) == without()
    data = next(iter(iceberg.scan().plan_files())).file.file_path
    places = pa.table({"file_path": [data] * 10, "pos": pa.array(range(10), pa.int64())})
    _deletes(iceberg, DataFileContent.POSITION_DELETES, places, tmp_path)
    assert counts_of(place(iceberg), DOMAIN) == without() | {"a": 20}
    iceberg.delete("item = 'b'")
    assert counts_of(place(iceberg), DOMAIN) == without("b") | {"a": 20}
    assert counts_of(first, DOMAIN) == without()  # the version that was named


def test_iceberg_rows_deleted_by_value_are_refused(iceberg: Any, tmp_path: Path) -> None:
    _deletes(iceberg, DataFileContent.EQUALITY_DELETES, pa.table({"item": ["c"]}), tmp_path, equality_ids=[1])
    with pytest.raises(InvalidArgument, match="deleted by value"):
        counts_of(place(iceberg), DOMAIN)


def test_iceberg_says_which_version(iceberg: Any) -> None:
    folder = Path(place(iceberg)).parents[1]
    with pytest.raises(InvalidArgument, match="only its catalogue knows"):
        counts_of(folder, DOMAIN)
    hint, current = folder / "metadata" / "version-hint.text", Path(place(iceberg))
    (folder / "metadata" / "v7.metadata.json").write_bytes(current.read_bytes())
    for said in (current.name, f"{current.name}\n", "7", "7\n", "v7", "v7.metadata.json"):
        hint.write_text(said)
        assert counts_of(folder, DOMAIN) == without()
    (file,) = (folder / "data").rglob("*.parquet")
    with pytest.raises(InvalidArgument, match=r"whose files hold deleted rows too.*whole table"):
        counts_of(file, DOMAIN)


def test_as_other_tables(delta: Path, iceberg: Any, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"person": "person", "k": 2, "epsilon": 1}

    def released(table: Any, public: Any, **options: Any) -> Any:
        made = fg.top_k(
            table, bits=fg.SeededBits(1), **(asked | {"item": "item", "domain": public} | options)
        )
        return made.to_dict()

    public = tmp_path / "public"
    deltalake.write_deltalake(str(public), pa.table({"item": DOMAIN}))
    for options in (
        {},
        {"where": "person < 9"},
        {"item": ["item", "person"], "domain": [("a", 1), ("b", 1), ("b", 2)]},
    ):
        here = released(TABLE, DOMAIN, **options)
        assert released(delta, DOMAIN, **options) == released(place(iceberg), DOMAIN, **options) == here
    assert released(delta, public) == released(TABLE, DOMAIN) == released(TABLE, str(public))
    for table in (delta, place(iceberg)):
        with pytest.raises(InvalidArgument, match=r"has no column 'ward'\. Its columns are: item, person"):
            released(table, DOMAIN, item="ward")
        for said in ({"partitions": ["item"]}, {"encoding": "latin-1"}, {"sheet": "x"}, {"delimiter": ";"}):
            with pytest.raises(InvalidArgument, match="cannot be given"):
                released(fg.source(table, **said), DOMAIN)


def test_what_is_missing_is_named(delta: Path, iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    with pytest.raises(MissingExtra, match=r"deltalake.*freegap\[delta\]"):
        counts_of(delta, DOMAIN)
    with pytest.raises(MissingExtra, match=r"pyiceberg.*freegap\[iceberg\]"):
        counts_of(place(iceberg), DOMAIN)
