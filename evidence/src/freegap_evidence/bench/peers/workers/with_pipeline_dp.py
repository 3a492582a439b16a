"""PipelineDP on its local backend, which needs no Spark and no Beam."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def people(job: Job) -> Release:
    """People of each public item (`PRIVACY_ID_COUNT`), of which the largest are taken."""
    import pipeline_dp

    def release() -> list[int]:
        with Path(job["path"]).open(newline="") as lines:
            rows = [(int(row["item"]), int(row["person"])) for row in csv.DictReader(lines)]
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=job["epsilon"], total_delta=0)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        params = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
            max_partitions_contributed=job["per_person"],
            max_contributions_per_partition=1,
        )
        extractors = pipeline_dp.DataExtractors(
            partition_extractor=lambda row: row[0],
            privacy_id_extractor=lambda row: row[1],
            value_extractor=lambda row: 0,
        )
        lazily = engine.aggregate(rows, params, extractors, public_partitions=list(range(job["items"])))
        accountant.compute_budgets()
        counts = [(values.privacy_id_count, item) for item, values in lazily]
        return [int(item) for _, item in sorted(counts, reverse=True)[: job["k"]]]

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {"table": {"PRIVACY_ID_COUNT": people}}
