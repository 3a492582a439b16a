from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import freegap_evidence.bench.batches
import freegap_evidence.bench.sparse_vector
import freegap_evidence.bench.top_k
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import freegap
from freegap import cli, demo
from freegap.cli.options import load, name_and_value
from freegap.errors import InvalidArgument, MissingExtra

runner = CliRunner()

RELEASE = ["--item", "a", "--person", "b", "-k", "1", "--epsilon", "1"]
TOP_K = ["freegap", "top-k", "t.csv", *RELEASE]


def test_version() -> None:
    done = runner.invoke(cli.app, ["--version"])
    assert done.stdout.strip() == f"freegap {freegap.__version__}"


def every_command(step: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(step, "commands", {}).items():
        yield from every_command(inner if path else cli.loaded(name), (*path, name))


LISTED = typer.main.get_group(cli.app).commands


@pytest.mark.parametrize("name", LISTED)
def test_a_command_is_listed_with_the_first_line_of_its_help(name: str) -> None:
    assert LISTED[name].help == cli.loaded(name).help.partition("\n\n")[0]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_nothing_heavy_is_loaded_to_say_what_there_is(option: str) -> None:
    """In a process of its own; what a command needs is loaded with it."""
    script = (
        "import sys; from freegap.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, option], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"freegap.cli", "typer"} <= loaded
    ours = {name for name in loaded if name.startswith("freegap")}
    assert ours == {
        "freegap",
        "freegap.errors",
        "freegap.cli",
        "freegap.cli.evidence",
        "freegap.cli.letters",
    }
    assert not {"numpy", "flint", "cryptography", "z3", "scipy", "sqlalchemy"} & loaded


def test_a_command_of_a_package_that_is_not_installed_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Listed it is all the same: who reads the help learns that there is evidence."""
    monkeypatch.setitem(sys.modules, "freegap_evidence", None)
    assert "assure" in runner.invoke(cli.app, ["--help"]).stdout
    for arguments in (
        ["assure", "--quick"],
        ["bench", "top-k"],
        ["prove", "--library"],
        ["audit", "--catalogue"],
    ):
        monkeypatch.setattr(sys, "argv", ["freegap", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code == 2
        assert "pip install freegap-evidence" in capsys.readouterr().err


@pytest.mark.parametrize("command", list(every_command(typer.main.get_group(cli.app))), ids=" ".join)
def test_help_fits_80_columns_and_json_is_offered(command: tuple[str, ...]) -> None:
    done = runner.invoke(cli.app, [*command, "--help"], terminal_width=80)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    speaks_json = command == ("mcp",)  # to a program, and nothing else
    assert "--json" in done.stdout or "COMMAND" in done.stdout or speaks_json


def test_demo_shows_a_table_a_chart_and_that_it_is_synthetic(tmp_path: Path) -> None:
    done = runner.invoke(cli.app, ["demo", "--seed", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "Synthetic demo data" in done.output
    assert "bananas" in done.output
    assert "█" in done.output
    release = json.loads((tmp_path / "top10.json").read_text())
    assert release["labels"] == demo.PRODUCTS[:10]
    assert release["private"] is False  # it was seeded
    assert (tmp_path / "top10.png").stat().st_size > 5000
    assert "<svg" in (tmp_path / "top10.svg").read_text()
    # The story: a table, two releases, a ledger that got budget back, a page.
    assert "ε = 0.53 of the reserved 1 came back" in " ".join(done.output.split())
    assert "<svg" in (tmp_path / "top10.html").read_text()
    assert "threshold" in (tmp_path / "above.html").read_text()
    account = freegap.Ledger(f"sqlite:///{tmp_path}/ledger.db").account("shop")
    again = json.loads(
        runner.invoke(cli.app, ["demo", "--seed", "1", "--out", str(tmp_path), "--json"]).stdout
    )
    assert again["top_10"] == release
    assert again["measured"]["private"] is again["above"]["private"] is False
    assert again["measured"]["labels"] == demo.PRODUCTS[:10]
    assert again["above"]["labels"] == demo.PRODUCTS[:8]
    spent = {name: Fraction(again[name]["spent"]) for name in ("measured", "above", "budget")}
    assert spent["measured"] == 1
    assert 0 < spent["above"] < 1  # eight of twenty were found
    assert spent["budget"] == account.spent == spent["measured"] + spent["above"]
    assert Fraction(again["budget"]["remaining"]) == account.remaining == 5 - account.spent
    assert all(Path(path).exists() for path in again["written"])


def test_the_demo_is_private_unless_it_is_seeded() -> None:
    first, second = demo.run().release, demo.run().release
    assert first.private
    assert second.private
    # Ten gaps with noise of scale 10 on a grid of 1/1024: equal by chance less than once in 10^30 times.
    assert first.gaps != second.gaps
    seeded = demo.run(bits=freegap.SeededBits(1)).release
    assert not seeded.private
    assert seeded == demo.run(bits=freegap.SeededBits(1)).release


def test_demo_without_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = runner.invoke(cli.app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert "pip install 'freegap[plot]'" in done.output.replace("\n", " ")


def test_bench_json(monkeypatch: pytest.MonkeyPatch) -> None:
    real = freegap_evidence.bench.top_k.run

    def small(**options: Any) -> dict[str, Any]:
        return real(**{**options, "sizes": (942,), "ks": (25,), "large": 3000, "huge": 10**9})

    monkeypatch.setattr(freegap_evidence.bench.top_k, "run", small)
    done = runner.invoke(cli.app, ["bench", "top-k", "--json", "--rounds", "2"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    (row,) = result["rows"]
    assert (row["n"], row["k"]) == (942, 25)
    assert row["ratio"] == pytest.approx(row["secure_ms"] / row["insecure_ms"])
    assert row["reference_ms"] > 0
    assert {large["domain"] for large in result["large"]} == {10**9}
    assert all(small["least_ms"] > 0 < small["least_ratio"] for small in result["small"])
    places, gaps = freegap_evidence.bench.top_k.least(np.array([5, 900, 1, 700]), 2, 2.0)
    assert places.tolist() == [1, 3]
    assert (gaps > 0).all()
    table = runner.invoke(cli.app, ["bench", "top-k", "--rounds", "1", "--no-reference"])
    assert "milliseconds per release" in table.output


def test_bench_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    real = freegap_evidence.bench.batches.run

    def small(**_: Any) -> dict[str, Any]:
        return real(groups=5, releases=7, rounds=1)

    monkeypatch.setattr(freegap_evidence.bench.batches, "run", small)
    done = runner.invoke(cli.app, ["bench", "batches", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert [row["releases"] for row in rows] == [5, 7, 7, 7, 7]
    assert all(row["ratio"] > 0 for row in rows)
    assert "milliseconds" in runner.invoke(cli.app, ["bench", "batches"]).output


def test_bench_sparse_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    real = freegap_evidence.bench.sparse_vector.run

    def small(**options: Any) -> dict[str, Any]:
        return real(**options, batch=3000, online=300)

    monkeypatch.setattr(freegap_evidence.bench.sparse_vector, "run", small)
    done = runner.invoke(cli.app, ["bench", "sparse-vector", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {(row["form"], row["noise"]) for row in rows} == {
        (form, noise)
        for form in ("batch", "online", "ask_many, 100")
        for noise in ("laplace", "exponential", "geometric")
    }
    assert all(row["per_second"] > 0 for row in rows)
    assert "questions per second" in runner.invoke(cli.app, ["bench", "sparse-vector"]).output


def test_a_users_mistake_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise InvalidArgument("k", 0, "must be at least 1", "Pass k=1.")

    monkeypatch.setattr(freegap, "top_k", mistaken)
    monkeypatch.setattr(sys, "argv", TOP_K)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "freegap: -k 0: must be at least 1. Pass -k 1.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (TOP_K, "--domain: is needed: choosing only among"),
        (TOP_K, 'or --domain "observed" together with --observed-keys-are-public if the set'),
        (["freegap", "top-k", "u.csv", *RELEASE], "TABLE 'u.csv': names no file."),
        ([*TOP_K, "--domain", "d.csv"], "Name the column with --domain-column '…'."),
        (
            ["freegap", "top-k", "t.csv", *RELEASE, "--domain", "9..0"],
            "--domain '9..0': ends before it begins.",
        ),
        (["freegap", "audit", "fractions:Fraction", "-e", "-1"], "--epsilon '-1': must be greater than 0."),
        (["freegap", "audit", "-e", "1"], "TARGET: there must be a function or a --command"),
        (["freegap", "audit", "nonsense", "-e", "1"], "TARGET 'nonsense': names no function."),
        (["freegap", "prove", "math:sqrt", "--neighbours", "all"], "--neighbours 'all': must say how"),
        (["freegap", "prove", "math:sqrt", "--parameter", "k"], "--parameter 'k': is not name=value."),
    ],
)
def test_a_mistake_is_told_in_options(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "d.csv").write_text("c,d\n1,2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_what_a_mistake_cost_is_said_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ledger = freegap.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)

    def fails(*_: object, **__: object) -> None:
        with ledger.reserve("shop", 1, what="noisy_max"):
            raise InvalidArgument("k", 0, "must be at least 1", "Pass k=1.")

    monkeypatch.setattr(freegap, "top_k", fails)
    monkeypatch.setattr(sys, "argv", TOP_K)
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == (
        "freegap: -k 0: must be at least 1. Pass -k 1.\n"
        "freegap: Reservation 2 (ε = 1 on 'shop', noisy_max) stays charged in full.\n"
    )


def test_a_release_that_could_not_be_settled_is_told_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unsettled(**_: object) -> None:
        warnings.warn("It stays charged in full.", freegap.UnsettledWarning, stacklevel=1)
        warnings.warn("other", UserWarning, stacklevel=1)

    others: list[str] = []
    monkeypatch.setattr(cli, "app", unsettled)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: others.append(str(message))
        cli.main()
    assert capsys.readouterr().err == "freegap: It stays charged in full.\n"
    assert others == ["other"]


def test_the_installed_command_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from freegap.cli import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("freegap ")


def test_missing_extra_names_the_extra() -> None:
    assert str(MissingExtra("matplotlib", "plot")) == (
        "This needs matplotlib. Install it with: pip install 'freegap[plot]'"
    )


def test_bench_tables() -> None:
    done = runner.invoke(cli.app, ["bench", "tables", "--json", "--cases", "1e4x1e2"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["rows"], row["items"]) == (10_000, 100)
    # A histogram of at most 100 counts of 16 bytes, ten items, and nothing that grows with the rows.
    assert 0 < row["bytes_left"] < 5000
    assert 0 < row["outside_share"] < 1
    assert row["driver_mb"] < 5
    wrong = runner.invoke(cli.app, ["bench", "tables", "--cases", "many"])
    assert wrong.exit_code == 2


def test_functions_are_found_by_module_and_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike for audit and prove, and so that worker processes find them too."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "found_by_module.py").write_text("class Mine:\n    def f(x): return x + 1\n")
    (tmp_path / "inner" / "found_by_file.py").write_text("def g(x): return x + 2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "before")
    assert load("mechanism", "found_by_module:Mine.f")(1) == 2
    assert load("mechanism", "inner/found_by_file.py:g")(1) == 3
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path / "inner"), str(tmp_path), "before"]
    for name in ("found_by_module", "found_by_module:", ":f", "found_by_module:h", "inner/none.py:g"):
        with pytest.raises(InvalidArgument) as refused:
            load("mechanism", name)
        assert refused.value.argument == "mechanism"


def test_values_of_parameters() -> None:
    values: dict[str, Any] = {
        "2": 2,
        "-3": -3,
        "0.5": Fraction(1, 2),
        "1/3": Fraction(1, 3),
        "true": True,
        "False": False,
    }
    values |= {"[1, 2]": [1, 2], "null": None, "laplace": "laplace", "": "", "a=b": "a=b"}
    for text, value in values.items():
        assert name_and_value(f"k={text}") == ("k", value)
        assert type(name_and_value(f"k={text}")[1]) is type(value)
    for text in ("k", "=2", "not a name=2"):
        with pytest.raises(InvalidArgument, match="is not name=value"):
            name_and_value(text)


def test_k_may_be_written_with_two_dashes(tmp_path: Path) -> None:
    table, domain = tmp_path / "visits.csv", tmp_path / "items.csv"
    table.write_text("item,person\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(40)), encoding="utf-8")
    domain.write_text("item\na\nb\nc\n", encoding="utf-8")
    words = ["top-k", str(table), "--item", "item", "--person", "person", "--domain", str(domain)]
    found = [runner.invoke(cli.app, [*words, "--epsilon", "1", option, "1"]) for option in ("-k", "--k")]
    assert [one.exit_code for one in found] == [0, 0], found[1].output
