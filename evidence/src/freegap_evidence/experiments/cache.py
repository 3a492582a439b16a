"""What was computed once is kept, under a name that says from what: parameters, seed, data and program."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import freegap
import freegap_evidence
from freegap_evidence.experiments.experiment import Computation, ExperimentSetting
from freegap_evidence.experiments.table import Table

# These only draw, write and ask: a change in them changes no number.
_ONLY_SHOWS = (
    "freegap/cli", "freegap/report", "freegap_evidence/commands", "freegap_evidence/experiments/figures",
    "freegap_evidence/experiments/report.py", "freegap_evidence/experiments/run.py",
)  # fmt: skip


@lru_cache(maxsize=1)
def program_digest() -> str:
    """A digest of the source of everything that can change a number."""
    digest = hashlib.sha256()
    for folder in (Path(package.__file__ or "").parent for package in (freegap, freegap_evidence)):
        for file in sorted(folder.rglob("*.py")):
            name = file.relative_to(folder.parent).as_posix()
            if not name.startswith(_ONLY_SHOWS):
                digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Cache:
    """Tables in a folder, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, computation: Computation, setting: ExperimentSetting) -> tuple[Table, float] | None:
        """The table computed in the same setting by the same program, and the seconds it took; or nothing."""
        try:
            kept = json.loads(self._path(computation, setting).read_text(encoding="utf-8"))
            return Table(tuple(kept["columns"]), tuple(map(tuple, kept["rows"]))), float(kept["seconds"])
        except (OSError, ValueError, KeyError, TypeError):  # not there, or cut short: compute it again
            return None

    def store(
        self, computation: Computation, setting: ExperimentSetting, table: Table, seconds: float
    ) -> None:
        """Keep a table; an interrupted write leaves nothing under its name."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(computation, setting)
        part = path.with_suffix(f".{os.getpid()}.part")
        kept = {"columns": table.columns, "rows": table.rows, "seconds": seconds}
        part.write_text(json.dumps(kept), encoding="utf-8")
        part.replace(path)

    def _path(self, computation: Computation, setting: ExperimentSetting) -> Path:
        key: dict[str, Any] = {
            "computation": computation.name,
            "parameters": dict(setting.parameters),
            "runs": setting.runs,
            "seed": setting.seed,
            "data": [data.digest for data in setting.data],
            "names": [data.name for data in setting.data],
            "program": program_digest(),
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]
        return self._folder / f"{computation.name}-{digest}.json"
