"""The second half of `freegap demo`: a table, a ledger, two releases and a page, as in daily use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

import freegap
from freegap.bits import BitSource
from freegap.cli import budget
from freegap.demo import PRODUCTS, generate_baskets
from freegap.errors import MissingExtra

_BUDGET = 5


@dataclass(frozen=True)
class Story:
    """Which files were written, and for programs what was released and what is left of the budget."""

    written: list[Path] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def tell(console: Console, out: Path, bits: BitSource | None = None) -> Story:
    """Run it in this directory; without the extras, say what to install."""
    try:
        return _tell(console, out, bits)
    except MissingExtra as missing:
        console.print(Text(f"\nThe rest of the story is left out: {missing}"))
        return Story(facts={"left_out": str(missing)})


def _tell(console: Console, out: Path, bits: BitSource | None) -> Story:
    table, products, journal = out / "baskets.parquet", out / "products.csv", out / "ledger.db"
    _write_baskets(table)
    products.write_text("product\n" + "".join(f"{product}\n" for product in PRODUCTS), encoding="utf-8")
    for old in out.glob("ledger.db*"):
        old.unlink()  # the demo's own ledger, so that it can be run again
    ledger = freegap.Ledger(f"sqlite:///{journal}")
    ledger.create("shop", epsilon=_BUDGET)
    ask: dict[str, Any] = {"item": "product", "person": "customer", "domain": products, "epsilon": 1}
    ask["bits"] = bits
    console.print(f"\n[bold]1.[/] The same shop as a table, {table.name}, with a budget of ε = {_BUDGET}.")
    console.print("\n[bold]2.[/] The top ten again, half of ε = 1 spent on measuring:")
    top = freegap.top_k(str(table), k=10, measure=True, ledger=(ledger, "shop"), **ask)
    console.print(top)
    console.print("\n[bold]3.[/] Products with more than 4000 customers, at most twenty, for ε = 1:")
    found = freegap.above(str(table), threshold=4000, k=20, ledger=(ledger, "shop"), **ask)
    console.print(found)
    back = float(found.asked.spent - found.spent)
    console.print(f"Fewer than twenty were found, so ε = {back:.2f} of the reserved 1 came back.")
    console.print("\n[bold]4.[/] The ledger:")
    if not console.quiet:
        everything: dict[str, Any] = dict.fromkeys(("epsilon", "rho", "last", "since"))
        budget.show(dataset="shop", url=ledger.url, as_json=False, as_csv=False, **everything)
    pages = _pages(out, {"top10": top, "above": found}, console)
    facts = {"measured": top.to_dict(), "above": found.to_dict(), "budget": ledger.account("shop").to_dict()}
    return Story([table, products, journal, *pages], facts)


def _pages(out: Path, releases: dict[str, Any], console: Console) -> list[Path]:
    from freegap.values.page import page

    written = []
    try:
        for name, release in releases.items():
            path = out / f"{name}.html"
            path.write_text(page(release, version=freegap.__version__), encoding="utf-8")
            written.append(path)
    except MissingExtra as missing:
        console.print(Text(f"No page: {missing}"))
    return written


def _write_baskets(path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "tables") from None
    rows = [(product, number) for number, basket in enumerate(generate_baskets()) for product in basket]
    products, customers = zip(*rows, strict=True)
    pq.write_table(pa.table({"product": pa.array(products), "customer": pa.array(customers)}), path)
