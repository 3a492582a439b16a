from __future__ import annotations

import ast
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import get_args

import mypy.api

import freegap as fg
from freegap.values.neighbours import DIRECTIONS, NEIGHBOURS, Direction, Neighbours

ROOT = Path(__file__).parents[1]


def test_what_is_bound_listed_shown_and_documented_is_the_same() -> None:
    assert fg.__all__ == sorted(set(fg.__all__))
    assert [name for name in dir(fg) if not name.startswith("__")] == fg.__all__  # before all are loaded
    public = {name: getattr(fg, name) for name in fg.__all__}
    submodules = {name for name, thing in vars(fg).items() if isinstance(thing, ModuleType)} - set(public)
    assert {name for name in vars(fg) if not name.startswith("_")} - submodules == set(public)
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/api/*.md")))
    documented = re.findall(r"^::: freegap\.(.*)$", pages, re.MULTILINE)
    in_base2 = {f"base2.{name}" for name in fg.base2.__all__}
    assert sorted(documented) == sorted(({*public} - {"base2"}) | in_base2)


def test_a_type_checker_knows_every_name_and_no_other(tmp_path: Path) -> None:
    stub = Path(fg.__file__).with_suffix(".pyi")
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.asname or "" for node in imports for alias in node.names) == fg.__all__
    snippet = tmp_path / "snippet.py"
    lines = ["import freegap as fg", *(f"fg.{name}" for name in fg.__all__), "fg.noisy_topk"]
    snippet.write_text("\n".join(lines))
    options = ["--strict", "--follow-imports=skip", "--cache-dir", str(tmp_path / "cache")]
    told, _, status = mypy.api.run([*options, str(stub), str(snippet)])
    assert status == 1
    (error, summary) = told.splitlines()
    assert f'snippet.py:{len(lines)}: error: Module has no attribute "noisy_topk"' in error
    assert summary.startswith("Found 1 error")


# Protocols, and records that users are given and do not make.
RECORDS = {
    "Above",
    "AboveBatch",
    "AboveThreshold",
    "Account",
    "AuditReport",
    "Below",
    "BitSource",
    "BudgetPlan",
    "Candidate",
    "Change",
    "Charging",
    "Choice",
    "Counterexample",
    "Entry",
    "Estimates",
    "Grouping",
    "HybridTopK",
    "ItemsAbove",
    "KeptRelease",
    "Measurement",
    "NoisyHistogram",
    "NoisyMeans",
    "PlannedRelease",
    "PrivacyUnit",
    "LowerBound",
    "Proof",
    "Quantiles",
    "Refutation",
    "Release",
    "Reservation",
    "SourceTable",
    "TableRelease",
    "TopItems",
    "TopK",
    "TopKBatch",
    "UnknownCounts",
    "UnknownTopK",
    "Verification",
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


def test_the_pytest_plugin_needs_no_extra() -> None:
    """pytest imports it wherever freegap is installed; it must not ask for the audit's dependencies."""
    script = (
        "import sys; sys.modules.update(scipy=None, sklearn=None, joblib=None, z3=None)\n"
        "import freegap.pytest_plugin, freegap.cli; print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "fine"


def test_every_class_has_a_name_of_its_own() -> None:
    """A name in a traceback, a signature or a page of the docs says which class is meant."""
    places: dict[str, list[str]] = {}
    for source in [*ROOT.glob("src/**/*.py"), *ROOT.glob("evidence/src/**/*.py")]:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(source.relative_to(ROOT)))
    assert len(places) > 200
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_words_for_neighbours_are_in_the_signature() -> None:
    """Another word, as `neighbours="all"` once was, is an error in an editor."""
    assert get_args(Neighbours) == (*NEIGHBOURS,)
    assert get_args(Direction) == (*DIRECTIONS,)
    typed = [signature(function).parameters["neighbours"].annotation for function in (fg.audit, fg.prove)]
    assert typed == ["Neighbours | Relation", "Neighbours | Direction"]
