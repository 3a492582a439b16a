"""SmartNoise SQL on a pandas table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def grouped(job: Job) -> Release:
    """`COUNT(DISTINCT person) … GROUP BY item`, of which the largest are taken."""
    import pandas as pd
    import snsql

    metadata = {
        "": {
            "shop": {
                "baskets": {
                    "max_ids": job["per_person"],
                    "censor_dims": False,
                    "row_privacy": False,
                    "rows": job["rows"],
                    "item": {"type": "int"},
                    "person": {"type": "int", "private_id": True},
                }
            }
        }
    }

    def release() -> list[int]:
        table = pd.read_csv(job["path"])
        privacy = snsql.Privacy(epsilon=job["epsilon"], delta=1e-9)
        reader = snsql.from_df(table, privacy=privacy, metadata=metadata)
        query = "SELECT item, COUNT(DISTINCT person) AS n FROM shop.baskets GROUP BY item ORDER BY n DESC"
        return [int(row[0]) for row in reader.execute(query)[1 : job["k"] + 1]]

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {"table": {"SQL": grouped}}
