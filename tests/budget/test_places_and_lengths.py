"""Where files of a ledger are made, how a server is reached, and how much of a release is kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import freegap as fg
from freegap.budget import arguments
from freegap.budget.arguments import parameters_text, release_text
from freegap.budget.heads import head_places
from freegap.budget.ledger import Ledger
from freegap.budget.location import locate
from freegap.budget.schema import Head
from freegap.budget.store import _engine
from freegap.errors import InvalidArgument, LedgerUnavailable

_KEPT_ALIVE = ("idle", "interval", "count")


def test_files_are_made_in_the_folder_in_which_they_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only within one file system is a file put in its place at once; the usual folder may be in another."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    made: list[str] = []
    mkstemp = tempfile.mkstemp

    def kept(*given: Any, **named: Any) -> Any:
        descriptor, name = mkstemp(*given, **named)
        made.append(name)
        return descriptor, name

    monkeypatch.setattr(tempfile, "mkstemp", kept)
    (place,) = head_places(tmp_path / "head")
    place.note(Head(1, "a"))
    place.note(Head(2, "b"))
    assert place.newest() == Head(2, "b")
    assert [(Path(name).parent, Path(name).name[:9]) for name in made] == [(tmp_path, ".freegap-")] * 2
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db", heads=str(tmp_path / "other"))
    ledger.create("shop", epsilon=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["head", "ledger.db", "other"]


def test_a_head_that_cannot_be_put_in_its_place_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place,) = head_places(tmp_path / "head")
    place.note(Head(1, "a"))

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(LedgerUnavailable, match=r"No space left on device") as caught:
        place.note(Head(2, "b"))
    assert caught.value.__cause__ is None
    assert [path.name for path in tmp_path.iterdir()] == ["head"]
    assert place.newest() == Head(1, "a")


@pytest.mark.parametrize("there", [[], ["data"], ["data", "data/freegap"]], ids=len)
def test_the_folder_of_a_ledger_without_a_name_is_made_where_there_is_none(
    there: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FREEGAP_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("sys.platform", "linux")
    for name in there:
        (tmp_path / name).mkdir(mode=0o755)
    Ledger().create("shop", epsilon=5)
    folder = tmp_path / "data" / "freegap"
    assert os.listdir(folder) == ["ledger.db"]
    if "data/freegap" not in there:  # nobody else may look into it
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("", {}),
        ("?connect_timeout=3", {"connect_timeout": "3"}),
        ("?keepalives_idle=7&tcp_user_timeout=9", {"keepalives_idle": "7", "tcp_user_timeout": "9"}),
    ],
)
def test_a_server_that_vanishes_is_noticed_unless_the_address_says_otherwise(
    options: str, asked: dict[str, str]
) -> None:
    pytest.importorskip("psycopg")
    seen: list[dict[str, Any]] = []

    class Enough(Exception):
        pass

    def connecting(*given: Any) -> None:
        seen.append(dict(given[3]))
        raise Enough

    engine = _engine(locate(f"postgresql://ann@host/shop{options}"))
    event.listen(engine, "do_connect", connecting)
    with pytest.raises(Enough):
        engine.connect()
    own = {
        "connect_timeout",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
    }
    assert own <= set(seen[0])
    assert {name: seen[0][name] for name in asked} == asked
    assert all(isinstance(seen[0][name], int) and seen[0][name] > 0 for name in own - set(asked))
    assert seen[0]["host"] == "host"


def test_how_long_a_release_may_be_to_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    release = fg.noisy_max([3, 90], epsilon=1)
    monkeypatch.setattr(arguments, "versions", lambda: {"x": ""})
    rest = 4_000_000 - len(release_text(release))
    for more, kept in ((rest, True), (rest + 1, False)):
        monkeypatch.setattr(arguments, "versions", lambda more=more: {"x": "a" * more})
        assert len(release_text(release)) == (4_000_000 if kept else len("{}"))


def test_how_long_parameters_may_be() -> None:
    most = 20_000 - len('{"a":""}')
    assert len(parameters_text({"a": "x" * most})) == 20_000
    with pytest.raises(InvalidArgument, match="must fit in 20000 characters") as caught:
        parameters_text({"a": "x" * (most + 1)})
    assert "xxx" not in str(caught.value)


def test_of_what_is_not_private_nothing_is_kept() -> None:
    assert release_text(fg.noisy_max([3, 90], epsilon=1, bits=fg.SeededBits(1))) == "{}"
    assert release_text(3) == "{}"
    assert '"versions"' in release_text(fg.noisy_max([3, 90], epsilon=1))


def test_only_writers_are_told_to_be_patient_and_durable(server: Any) -> None:
    """Who reads keeps nobody waiting, and may stand still for longer."""
    ledger = Ledger(server.new_schema())
    ledger.create("shop", epsilon=5)
    seen: dict[bool, list[str]] = {}
    for write in (False, True):
        with ledger._store._transaction(write=write) as connection:
            names = ("lock_timeout", "idle_in_transaction_session_timeout", "transaction_read_only")
            seen[write] = [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names]
            seen[write].append(connection.exec_driver_sql("SHOW transaction_isolation").scalar_one())
    assert seen[True] == ["1min", "1min", "off", "read committed"]
    assert seen[False][2:] == ["on", "repeatable read"]
    assert "1min" not in seen[False]
