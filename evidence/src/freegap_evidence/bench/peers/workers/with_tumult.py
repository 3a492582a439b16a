"""Tumult Analytics on a local Spark, which needs Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def people(job: Job) -> Release:
    """A count over a `KeySet`, one row of a person for each item, of which the largest are taken."""
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's own processes are of this environment too
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    keys = KeySet.from_dict({"item": list(range(job["items"]))})

    def release() -> list[int]:
        table = spark.read.csv(job["path"], header=True, schema="item long, person long")
        budget = PureDPBudget(job["epsilon"])
        session = Session.from_dataframe(
            privacy_budget=budget,
            source_id="baskets",
            dataframe=table,
            protected_change=AddRowsWithID("person"),
        )
        query = (
            QueryBuilder("baskets")
            .enforce(MaxGroupsPerID("item", job["per_person"]))
            .enforce(MaxRowsPerGroupPerID("item", 1))
            .groupby(keys)
            .count(name="n")
        )
        largest = session.evaluate(query, budget).orderBy("n", ascending=False).limit(job["k"])
        return [int(row["item"]) for row in largest.collect()]

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {"table": {"KeySet count": people}}
