from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import cli
from freegap.receipts.keys import SigningKey

runner = CliRunner()


@pytest.fixture(autouse=True)
def receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    monkeypatch.setenv("FREEGAP_RECEIPT_KEY", str(tmp_path / "key.pem"))
    ledger = fg.Ledger()
    ledger.create("shop", epsilon=5)
    fg.noisy_max({"tea": 900, "milk": 3}, epsilon="1/3", ledger=(ledger, "shop"))
    Path("release.json").write_text(json.dumps(ledger.release(2)))
    Path("other.json").write_text(json.dumps({**ledger.release(2), "labels": ["milk"]}))
    run("make", "2", "--out", "receipt.json")
    return Path("receipt.json")


def run(*arguments: str, code: int = 0) -> str:
    done = runner.invoke(cli.app, ["receipt", *arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def test_made_printed_and_written_are_the_same(receipt: Path) -> None:
    assert run("make", "2") == receipt.read_text()
    told = json.loads(run("make", "2", "--out", "again.json", "--json"))
    assert told == {"file": "again.json", "line": 2, "key": run("key").strip()}
    assert json.loads(run("key", "--json")) == {"key": told["key"]}
    run("key", "--out", "pub")
    assert Path("pub").read_text() == told["key"] + "\n"
    assert Path("again.json").read_bytes() == receipt.read_bytes()


def test_verified_offline(receipt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = run("key").strip()
    Path("pub").write_text(key)
    for gone in ("ledger.db", "key.pem"):
        Path(gone).rename(f"{gone}.away")
    text = run("verify", "receipt.json", "--key", "pub", "--release", "release.json")
    for part in (
        key,
        "Dataset shop, line 2",
        "charged 1/3 in epsilon, settled",
        "Theorem: Ding 2020",
        "release that was",
    ):
        assert part in text
    assert json.loads(run("verify", "receipt.json", "--key", key, "--json"))["dataset"] == "shop"
    assert not Path("ledger.db").exists(), "nothing is made by checking"
    assert not Path("key.pem").exists()


def test_against_a_ledger(receipt: Path) -> None:
    key = run("key").strip()
    assert "The ledger has its lines." in run(
        "verify", "receipt.json", "--key", key, "--url", "sqlite:///ledger.db"
    )


def test_what_is_refused_is_1_and_what_cannot_be_read_is_2(receipt: Path, tmp_path: Path) -> None:
    key = run("key").strip()
    other = SigningKey.made(tmp_path / "other.pem").public.text
    assert "Refused." in run("verify", "receipt.json", "--key", other, code=1)
    assert "Refused." in run("verify", "receipt.json", "--key", key, "--release", "other.json", code=1)
    Path("changed").write_bytes(receipt.read_bytes().replace(b'"1/3"', b'"1/9"'))
    for command in ("verify", "registry", "assess"):
        run(command, "changed", "--key", key, code=1)
        run(command, "release.json", "--key", key, code=1)
    run("registry", "changed")
    for arguments in (
        ["verify", "nowhere", "--key", key],
        ["verify", "receipt.json", "--key", "x"],
        ["make", "3"],
        ["make", "2", "--out", "nowhere/receipt"],
    ):
        done = runner.invoke(cli.app, ["receipt", *arguments])
        assert isinstance(done.exception, fg.InvalidArgument), arguments
    run("verify", "receipt.json", code=2)


def test_pages(receipt: Path) -> None:
    done = runner.invoke(cli.app, ["receipt", "assess", "receipt.json"])
    assert "not checked without --key" in done.stderr
    assert done.stdout.startswith("# Self-assessment")
    assert run("assess", "receipt.json", "--html").startswith("<!DOCTYPE html>")
    assert len(json.loads(run("assess", "receipt.json", "--json"))) == 7
    assert 'name: "Tea"' in run("registry", "receipt.json", "--name", "Tea")
    assert json.loads(run("registry", "receipt.json", "--json"))["url_slug"] == "shop"
