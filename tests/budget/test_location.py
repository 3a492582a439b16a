"""Which ledger is meant, and what is no ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import freegap
from freegap import InvalidArgument, Ledger, LedgerUnavailable, MissingExtra
from freegap.budget.location import default_file, locate


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "FREEGAP_LEDGER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".local/share/freegap/ledger.db"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/freegap/ledger.db"),
        ("darwin", {}, "Library/Application Support/freegap/ledger.db"),
        ("win32", {}, "AppData/Local/freegap/ledger.db"),
    ],
)
def test_the_default_follows_the_customs_of_the_system(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_file() == home / expected


def test_xdg_and_appdata_are_followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_file() == home / "xdg/freegap/ledger.db"
    monkeypatch.setenv("LOCALAPPDATA", str(home / "local"))
    monkeypatch.setattr(sys, "platform", "win32")
    assert default_file() == home / "local/freegap/ledger.db"


def test_the_default_ledger_is_made_with_its_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "deep" / "er"))
    Ledger().create("shop", epsilon=5)
    assert (home / "deep/er/freegap/ledger.db").stat().st_size > 0
    assert Ledger().account("shop").remaining == 5


def test_a_default_directory_that_cannot_be_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "file"))
    with pytest.raises(LedgerUnavailable, match="Name another ledger in FREEGAP_LEDGER"):
        Ledger().create("shop", epsilon=5)


def test_the_environment_names_another(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{home}/other.db")
    assert Ledger().url == f"sqlite:///{home}/other.db"
    assert Ledger(f"sqlite:///{home}/mine.db").url == f"sqlite:///{home}/mine.db"
    monkeypatch.chdir(home)
    monkeypatch.setenv("FREEGAP_LEDGER", "q.db")  # a path is a file
    assert Ledger().url == f"sqlite:///{home}/q.db"
    assert Ledger(str(home / "q.db")).url == Ledger().url
    monkeypatch.setenv("FREEGAP_LEDGER", "host=h password=SECRET")
    with pytest.raises(InvalidArgument, match="FREEGAP_LEDGER: is not a database URL"):
        Ledger()


def test_a_relative_file_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///ledger.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.create("shop", epsilon=5)
    assert (tmp_path / "ledger.db").exists()
    assert repr(ledger) == f"Ledger('sqlite:///{tmp_path}/ledger.db')"


@pytest.mark.parametrize(
    ("url", "constraint"),
    [
        ("sqlite://", "in memory, which forgets"),
        ("sqlite:///:memory:", "in memory, which forgets"),
        ("sqlite:///file:x?mode=memory&uri=true", "must name a plain file"),
        ("sqlite:///x.db?nolock=1", "must name a plain file"),
        ("mysql://host/x", "is neither SQLite nor PostgreSQL"),
        ("postgresql+asyncpg://host/x", "is neither SQLite nor PostgreSQL"),
        ("me@shop.db", "is not a database URL"),
        ("", "is not a database URL"),
        ("/", "is not a database URL"),
        (7, "must be a database URL"),
    ],
)
def test_what_is_no_ledger(url: Any, constraint: str) -> None:
    with pytest.raises(InvalidArgument, match=constraint):
        Ledger(url)


def test_passwords_are_not_shown() -> None:
    ledger = Ledger("postgresql://me:hunter2@localhost/ledger")
    assert "hunter2" not in repr(ledger)
    assert "hunter2" not in Ledger("postgresql://me@localhost/ledger?password=hunter2").url
    with pytest.raises(InvalidArgument) as caught:
        Ledger("me:hunter2@localhost")
    assert "hunter2" not in str(caught.value)


def test_every_way_to_write_postgresql() -> None:
    for name in ("postgres", "postgresql", "postgresql+psycopg"):
        assert locate(f"{name}://host/x").url.drivername == "postgresql+psycopg"


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"freegap\[postgres\]"):
        Ledger("postgresql://host/x")


def test_without_sqlalchemy_the_ledger_names_the_extra_and_the_rest_works() -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import freegap as fg\n"
        "assert fg.noisy_max([1, 2], epsilon=1).spent == 1\n"
        "try: fg.Ledger()\n"
        "except fg.MissingExtra as missing: print(missing)\n"
        "from freegap.cli import app\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "This needs sqlalchemy. Install it with: pip install 'freegap[ledger]'"


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Ledgre'"):
        freegap.Ledgre  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("path", ["\ud800.db", "folder/\udfff", "~nobody-has-this-name/ledger.db"])
def test_a_path_that_can_name_no_file_is_refused(path: str) -> None:
    """Half a character, or the home of nobody: with an error of ours, which does not repeat it."""
    with pytest.raises(InvalidArgument, match="url: is not a database URL") as caught:
        Ledger(path)
    assert caught.value.__suppress_context__
