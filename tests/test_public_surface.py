from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import freegap as fg


def test_everything_public_is_listed_and_sorted() -> None:
    """What is bound in the package, submodules and typing names aside, is what it says it exports."""
    bound = {
        name
        for name, thing in vars(fg).items()
        if name.isidentifier() and not name.startswith("_") and not isinstance(thing, ModuleType)
    }
    assert bound - {"TYPE_CHECKING", "Any"} <= set(fg.__all__)
    assert fg.__all__ == sorted(set(fg.__all__))
    assert all(getattr(fg, name) is not None for name in fg.__all__)


# A protocol, and records that users are given and do not make.
RECORDS = {
    "Above",
    "AboveThreshold",
    "AuditReport",
    "Below",
    "BitSource",
    "Candidate",
    "Choice",
    "Counterexample",
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
    root = Path(__file__).parents[1]
    places: dict[str, list[str]] = {}
    for source in [*root.glob("src/**/*.py"), *root.glob("evidence/src/**/*.py")]:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(source.relative_to(root)))
    assert len(places) > 200
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
