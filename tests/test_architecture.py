"""The floor plan is that of the house: layers, the way of a call, and every name on the page."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pyarrow as pa
import pytest

import freegap as fg

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "architecture.md",
    *(ROOT / "docs" / "extending").glob("*.md"),
]


def _script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("layers", ROOT / "scripts" / "site" / "layers.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["layers"] = module  # where dataclasses look for it
    specification.loader.exec_module(module)
    return module


LAYERS = _script()
CONTRACTS = LAYERS.read_contracts((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_picture_and_table_are_those_of_the_contracts() -> None:
    """If this fails: python scripts/site/layers.py."""
    drawn = (ROOT / "docs" / "figures" / "layers.svg").read_text(encoding="utf-8")
    assert drawn == LAYERS.picture(CONTRACTS)
    assert LAYERS.with_table(PAGE, LAYERS.table(CONTRACTS)) == PAGE


def test_a_changed_contract_is_another_picture() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for old, new in (
        ('    "freegap.report",\n    "freegap.errors",\n', '    "freegap.errors",\n    "freegap.report",\n'),
        ('name = "only bits makes randomness"', 'name = "anybody makes randomness"'),
    ):
        assert old in text
        changed = LAYERS.read_contracts(text.replace(old, new))
        assert LAYERS.picture(changed) != LAYERS.picture(CONTRACTS)


@pytest.mark.parametrize("package", ["freegap", "freegap_evidence"])
def test_every_module_is_in_a_layer(package: str) -> None:
    """A module that the contracts forget could import anything."""
    folder = Path(importlib.import_module(package).__file__ or "").parent
    found = {
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    layers = {name for row in CONTRACTS.layers[package] for name in row}
    assert {f"{package}.{name}" for name in found - {"__init__", "__main__"}} == layers


def test_a_module_is_read_in_one_go() -> None:
    """At most 400 lines, and named by what it holds: what is merely useful belongs somewhere."""
    lengths = {
        source.relative_to(ROOT).as_posix(): len(source.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "evidence/src")
        for source in (ROOT / folder).rglob("*.py")
    }
    assert len(lengths) > 200
    assert not [name for name, lines in lengths.items() if lines > 400]
    assert not [name for name in lengths if re.search(r"\b(utils?|helpers?|common|misc)\b", name)]


def resolved(name: str) -> Any:
    """What a dotted name stands for: a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_on_the_page_exists(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name in re.findall(r"`(freegap(?:_evidence)?(?:\.\w+)+)`", prose):
        resolved(name)


def test_a_name_that_is_not_there_is_noticed() -> None:
    for name in ("freegap.nowhere", "freegap.bits.nothing", "freegap.mechanisms.top_k.noisy_topk"):
        with pytest.raises((AssertionError, AttributeError)):
            resolved(name)


def called(function: Callable[[], object]) -> list[str]:
    """The functions of freegap that a call goes through, in order, as module.qualified_name."""
    seen: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("freegap."):
            seen.append(f"{module}.{frame.f_code.co_qualname}")

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


def steps(heading: str) -> list[str]:
    """The places of a table of steps."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \d+ \| `([\w.]+)` \|", section, flags=re.MULTILINE)


def assert_in_order(places: list[str], way: list[str]) -> None:
    at = 0
    for place in places:
        assert place in way[at:], f"{place} is not on the way, or not there"
        at += way[at:].index(place) + 1


@pytest.fixture
def ledger(tmp_path: Path) -> fg.Ledger:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    return ledger


def test_the_way_of_noisy_top_k(ledger: fg.Ledger) -> None:
    counts = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}
    # An ε of its own: a plan that was made before is kept.
    way = called(lambda: fg.noisy_top_k(counts, k=2, epsilon="12/13", ledger=(ledger, "shop")))
    places = steps("The way of a call: `noisy_top_k`")
    assert len(places) >= 10
    assert_in_order(places, way)
    with pytest.raises(AssertionError, match="not on the way"):
        assert_in_order([places[1], places[0]], way)


def test_the_way_of_top_k_on_a_table(ledger: fg.Ledger) -> None:
    table = pa.table({"item": ["tea", "milk", "tea"], "person": [1, 2, 3]})
    way = called(
        lambda: fg.top_k(
            table,
            item="item",
            person="person",
            k=1,
            epsilon=1,
            domain=["milk", "tea"],
            ledger=(ledger, "shop"),
        )
    )
    places = steps("The way of a call: `top_k` on a table")
    assert len(places) >= 8
    assert_in_order(places, way)


def test_bits_are_drawn_only_after_they_are_paid_for(ledger: fg.Ledger) -> None:
    """No bit before the claim, none after it is closed."""
    way = called(lambda: fg.noisy_top_k([3, 1, 2], k=1, epsilon=1, ledger=(ledger, "shop")))
    draws = [i for i, place in enumerate(way) if place == "freegap.bits.note_draw"]
    assert draws
    assert way.index("freegap.charges.Allowance.claim") < draws[0]
    assert draws[-1] < way.index("freegap.charges.Claim.close")
