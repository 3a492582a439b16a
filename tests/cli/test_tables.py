"""`freegap top-k` and `freegap above`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import cli
from freegap.errors import FreegapError, InvalidArgument

runner = CliRunner()

ASK = ["--item", "product", "--person", "customer", "--epsilon", "1"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tea has 900 customers, milk 600, rice none."""
    monkeypatch.chdir(tmp_path)
    rows = [f"tea,{i}" for i in range(900)] + [f"milk,{i}" for i in range(600)]
    (tmp_path / "baskets.csv").write_text("product,customer\n" + "\n".join(rows) + "\n")
    (tmp_path / "products.csv").write_text("product,price\nmilk,1\nrice,2\ntea,3\n")
    return tmp_path


def run(*arguments: str) -> Any:
    done = runner.invoke(cli.app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.parametrize("command", ["top-k", "above", "histogram"])
def test_help_reads_well_at_80_columns(command: str) -> None:
    done = runner.invoke(cli.app, [command, "--help"], terminal_width=80)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    words = " ".join(done.stdout.replace("│", " ").split())
    assert "CSV, Parquet, JSON, Arrow, Excel or FIMI .dat" in words
    assert "NOT PRIVATE" in words
    assert "Show charge and error bars" in words


def test_top_k_table_json_page_and_chart(shop: Path) -> None:
    done = run("top-k", "baskets.csv", *ASK, "--domain", "products.csv", "-k", "2", "--measure")
    assert done.exit_code == 0
    assert "tea" in done.stdout
    assert "One person is one value of the column 'customer'." in done.stdout
    assert "NOT PRIVATE" not in done.stdout
    done = run(
        *("top-k", "baskets.csv", *ASK, "--domain", "products.csv", "-k", "2", "--measure", "--json"),
        *("--out", "out/page.html", "--out", "out/chart.svg"),
    )
    release = json.loads(done.stdout)
    assert release["labels"] == ["tea", "milk"]
    assert release["private"] is True
    assert release["spent"] == "1"
    assert "<svg" in (shop / "out/page.html").read_text()
    assert "tea" in (shop / "out/chart.svg").read_text()


def test_a_release_as_files_and_long_names_in_full(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{shop}/ledger.db")
    monkeypatch.setenv("COLUMNS", "40")
    fg.Ledger().create("shop", epsilon=5)
    names = [f"={'tea ' * 30}{end}" for end in "ab"]
    rows = [f"{name},{person}" for name in names for person in range(900)]
    (shop / "long.csv").write_text("\n".join(["product,customer", *rows]))
    (shop / "names.csv").write_text("\n".join(["product", *names, "milk"]))
    out = [f"out/r.{ending}" for ending in ("csv", "parquet", "json")]
    ask = ("top-k", "long.csv", *ASK, "--domain", "names.csv", "-k", "2", "--ledger", "shop")
    done = run(*ask, *(word for path in out for word in ("--out", path)))
    assert all(name in done.stdout for name in names)  # on one line, whatever the width
    assert "are written after a quotation mark" in " ".join(done.stderr.split())
    assert all(f"Written: {path}" in done.stderr for path in out)
    release = fg.Release.from_json((shop / "out/r.json").read_text(encoding="utf-8"))
    assert sorted(row.item for row in release) == names
    assert (shop / "out/r.csv").read_text().startswith("rank,item,gap\n1,'=tea tea")
    again = run("budget", "release", "2", "--out", "again.json", "--out", "again.parquet")
    assert again.stdout == done.stdout
    assert (shop / "again.json").read_bytes() == (shop / "out/r.json").read_bytes()
    assert (shop / "again.parquet").read_bytes() == (shop / "out/r.parquet").read_bytes()


def test_above_gives_budget_back_to_a_ledger(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{shop}/ledger.db"
    monkeypatch.setenv("FREEGAP_LEDGER", url)
    fg.Ledger(url).create("shop", epsilon=5)
    ask = ("above", "baskets.csv", *ASK, "--domain", "products.csv", "--threshold", "750", "-k", "3")
    release = json.loads(run(*ask, "--ledger", "shop", "--json").stdout)
    assert release["labels"] == ["tea"]
    assert release["complete"] is True
    left = fg.Ledger(url).account("shop").remaining
    assert 4 < left < 5
    assert str(5 - left) == release["spent"]


def test_a_seeded_run_repeats_and_says_that_it_is_not_private(shop: Path) -> None:
    ask = ("top-k", "baskets.csv", *ASK, "--domain", "products.csv", "-k", "1", "--seed", "3")
    first, second = run(*ask), run(*ask)
    assert first.stdout == second.stdout
    assert "NOT PRIVATE" in first.stdout


def test_a_range_and_observed_items(shop: Path) -> None:
    (shop / "lines.dat").write_text("1 2\n" * 500 + "3\n")
    done = run("top-k", "lines.dat", "--domain", "0..9", "-k", "2", "--epsilon", "1", "--json")
    assert sorted(json.loads(done.stdout)["labels"]) == [1, 2]
    observed = ("top-k", "baskets.csv", *ASK, "--domain", "observed", "-k", "1", "--json")
    with pytest.raises(InvalidArgument, match="observed_keys_are_public=True"):
        run(*observed)
    assert json.loads(run(*observed, "--observed-keys-are-public").stdout)["labels"] == ["tea"]


def test_a_dry_run_touches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Neither the table nor the domain nor the ledger exists.
    there = (
        "nowhere.csv",
        *ASK,
        "--domain",
        "none.csv",
        "--ledger",
        "none",
        "--out",
        "out.html",
        "--dry-run",
    )
    done = run("top-k", *there, "-k", "10", "--measure")
    assert "nothing was read, drawn or charged" in done.stdout
    assert "ε charged: 1\n" in done.stdout
    forecast = json.loads(run("above", *there, "-k", "10", "--threshold", "5", "--json").stdout)
    assert forecast["charged_at_most"] == "1"
    assert forecast["estimate_standard_error"] > 1
    assert list(tmp_path.iterdir()) == []


def test_groups_in_a_file_a_ledger_and_a_dry_run(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{shop}/ledger.db")
    fg.Ledger().create("shop", epsilon=5)
    rows = [f"{group},tea,{person}" for group in ("north", "south") for person in range(900)]
    (shop / "groups.csv").write_text("\n".join(["shop,product,customer", *rows, "north,milk,1"]))
    (shop / "shops.csv").write_text("shop\nnorth\nwest\nsouth\n")
    ask = [
        "groups.csv",
        *ASK,
        "--domain",
        "products.csv",
        "--group",
        "shop",
        "--groups",
        "shops.csv",
        "-k",
        "1",
    ]
    done = run("top-k", *ask, "--groups-per-person", "2", "--ledger", "shop", "--out", "made.csv")
    assert (shop / "made.csv").read_text().splitlines()[1].startswith("north,1,tea,")
    assert run("budget", "release", "2").stdout == done.stdout
    assert "1/2 of ε" in done.stdout.replace("\n", " ")
    found = json.loads(run("above", *ask, "--threshold", "450", "--one-group-per-person", "--json").stdout)
    assert (found["labels"], found["groups"]["sizes"]) == (
        ["tea", "tea"],
        [1, 1, 0],
    )  # a file is put in order
    (shop / "pairs.csv").write_text("shop,product\nsouth,tea\nsouth,rice\nnorth,rice\nnorth,milk\n")
    own = [
        "groups.csv",
        *ASK,
        "--group",
        "shop",
        "--domain",
        "pairs.csv",
        "--domain-group",
        "shop",
        "-k",
        "1",
    ]
    found = json.loads(run("top-k", *own, "--groups-per-person", "1", "--measure", "--json").stdout)
    assert (found["groups"]["labels"], found["labels"][1]) == (["north", "south"], "tea")
    dry = json.loads(run("top-k", *ask, "--groups-per-person", "2", "--dry-run", "--json").stdout)
    assert (dry["charged_at_most"], dry["groups_per_person"]) == ("1", 2)
    assert dry["gap_standard_error"] == 2 * 2**0.5
    wide = [*ask[: ask.index("--groups")], "--groups", "1..10", "-k", "1", "--dry-run", "--json"]
    assert json.loads(run("above", *wide, "--threshold", "9").stdout)["groups_per_person"] == 10
    with pytest.raises(InvalidArgument, match="not read by a dry run"):
        run("top-k", *ask, "--dry-run")
    named = [*ask[: ask.index("--groups")], "--groups", "unknown", "-k", "1", "--delta", "1e-6"]
    named += ["--groups-per-person", "1", "--json"]
    assert json.loads(run("top-k", *named).stdout)["groups"]["labels"] == ["north", "south"]
    dry = json.loads(run("top-k", *named, "--dry-run").stdout)
    assert (dry["charged_at_most"], dry["measure"], dry["groups_from"]) == ("1", "epsilon-delta", 26)


def test_an_unknown_domain_needs_a_delta_and_no_list(shop: Path) -> None:
    unknown = ("top-k", "baskets.csv", *ASK, "--domain", "unknown", "-k", "5")
    done = run(*unknown, "--delta", "1e-8")
    assert "Everything else: fewer than 5 items stood out" in " ".join(done.stdout.split())
    release = json.loads(
        run(*unknown, "--delta", "1/1000", "--people", "1000", "--pool", "7", "--json").stdout
    )
    assert (release["labels"], release["complete"]) == (["tea", "milk"], True)
    assert (release["measure"], release["delta"]) == ("epsilon-delta", "1/1000")
    assert release["parameters"]["pool"] == 7
    done = run(*unknown, "--delta", "1e-8", "--dry-run")
    assert "δ: about 1e-08 (exactly 1/100000000)" in done.stdout
    assert "with 125 people more than the item in place 1,001 has" in done.stdout
    forecast = json.loads(run(*unknown, "--delta", "1e-8", "--dry-run", "--json").stdout)
    assert (forecast["delta"], forecast["charged_at_most"]) == ("1/100000000", "1")
    bounded = ("--domain", "unknown", "-k", "5", "--delta", "1e-6", "--items-per-person", "1")
    release = json.loads(run("top-k", "baskets.csv", *ASK, *bounded, "--measure", "--json").stdout)
    assert release["parameters"]["items_per_person"] == 1
    assert len(release["estimates"]) == len(release["labels"])
    lines = ("above", "baskets.csv", *ASK, *bounded, "--threshold", "3")
    assert json.loads(run(*lines, "--json").stdout)["threshold"] == "14"
    assert "more likely than not, with 15 people or more" in run(*lines, "--dry-run").stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--domain", "9..1"], "ends before it begins"),
        (["--domain", "none.csv"], "names no file"),
        ([], "is needed"),
        (["--domain", "products.csv", "--out", "chart.bmp"], "must end with one of .csv"),
        (["--domain", "products.csv", "--out", "baskets.csv/page.html"], "cannot be written"),
        (["--domain", "products.csv", "--ledger", "unknown"], "unknown"),
    ],
    ids=str,
)
def test_mistakes_cost_nothing_and_are_explained(
    change: list[str], message: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{shop}/ledger.db")
    fg.Ledger().create("shop", epsilon=1)
    with pytest.raises(FreegapError) as caught:
        run("top-k", "baskets.csv", *ASK, "-k", "1", *change)
    assert message in str(caught.value)
    assert fg.Ledger().account("shop").remaining == 1


def test_totals_and_histograms(shop: Path) -> None:
    rows = [f"{'tea' if i % 3 else 'milk'},{i % 300},{i % 5}.25" for i in range(900)]
    (shop / "costs.csv").write_text("product,customer,cost\n" + "\n".join(rows) + "\n")
    asked = ("costs.csv", *ASK, "--domain", "products.csv", "--json", "--seed", "1")
    summed = ("--value", "cost", "--low", "0", "--high", "10", "--unit", "0.25")
    (top,) = [json.loads(run("top-k", *asked, *summed, "-k", "1", "--measure").stdout)]
    assert (top["labels"], top["parameters"]["high"]) == (["tea"], "10")
    bins = json.loads(run("histogram", *asked, "--items-per-person", "1").stdout)
    named: dict[str, Any] = {"item": "product", "person": "customer", "domain": "products.csv"}
    same = fg.histogram("costs.csv", items_per_person=1, epsilon=1, bits=fg.SeededBits(1), **named)
    assert bins == same.to_dict()
    sums = json.loads(run("histogram", *asked, *summed, "--items-per-person", "any").stdout)
    assert sums["parameters"]["scale"] == "30"
    dry = json.loads(run("histogram", *asked[:-2], *summed, "--items-per-person", "2", "--dry-run").stdout)
    assert dry["standard_error"] == pytest.approx(2**0.5 * 20, rel=1e-3)
    assert (
        "nothing was read"
        in run("above", *asked[:-3], *summed, "-k", "1", "--threshold", "9", "--dry-run").stdout
    )
    means = json.loads(run("histogram", *asked, *summed, "--items-per-person", "1", "--mean").stdout)
    assert means["centre"] == "5"
    dry = json.loads(
        run("histogram", *asked, *summed, "--items-per-person", "1", "--mean", "--dry-run").stdout
    )
    assert (dry["charged_at_most"], dry["intervals"]["100"] > 10 * dry["intervals"]["1000"]) == ("1", True)
    lines = run("histogram", *asked[:-3], *summed, "--items-per-person", "1", "--mean", "--dry-run").stdout
    assert "95 % interval of the mean cost of 1,000 people: at most about" in lines
    with pytest.raises(InvalidArgument, match="mean"):
        run("histogram", *asked, "--items-per-person", "1", "--mean", "--dry-run")
    for wrong, named_in_error in (("0", "items"), ("x", "whole number"), ("any", "dry run")):
        with pytest.raises(InvalidArgument, match=named_in_error):
            run("histogram", *asked, "--items-per-person", wrong, "--dry-run")
