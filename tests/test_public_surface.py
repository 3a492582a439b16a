from __future__ import annotations

import subprocess
import sys

import freegap as fg


def test_everything_public_is_listed_and_sorted() -> None:
    public = [name for name in vars(fg) if not name.startswith("_")]
    modules = {"bits", "budget", "errors", "estimate", "exact", "mechanisms", "tables", "values"}
    modules |= {"bench", "cli", "demo", "report"}
    assert sorted({*public, *fg._ON_DEMAND} - modules) == sorted(fg.__all__)
    assert fg.__all__ == sorted(fg.__all__)


# A protocol, and records that users are given and do not make.
RECORDS = {
    "Above",
    "AboveThreshold",
    "Below",
    "BitSource",
    "Choice",
    "Estimates",
    "HybridTopK",
    "ItemsAbove",
    "Measurement",
    "TopItems",
    "TopK",
}


def test_every_public_callable_has_an_example() -> None:
    for name in fg.__all__:
        thing = getattr(fg, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            continue
        if name in RECORDS:
            continue
        assert ">>>" in (thing.__doc__ or ""), name


def test_the_core_imports_nothing_heavy() -> None:
    heavy = (
        "matplotlib scipy pandas polars sklearn z3 narwhals duckdb pyarrow pyspark ibis sqlalchemy".split()
    )
    script = f"import freegap, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
