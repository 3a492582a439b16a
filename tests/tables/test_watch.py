"""A watch: its noise is drawn once, whatever crashes; what it has said, it says again."""

from __future__ import annotations

import fcntl
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import cli
from freegap.exact.digits import KeyedDigits
from freegap.mechanisms.sparse_vector import noisy_threshold
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.tables import watch as watching
from freegap.tables.watch import watch
from tests.budget.mechanisms import Untouchable

ASKED: dict[str, Any] = {
    "item": "code",
    "of": "flu",
    "person": "patient",
    "threshold": 50,
    "k": 2,
    "epsilon": 2,
}


def visits(people: int, others: int = 5) -> pa.Table:
    """So many people with flu, some of them twice, and others."""
    codes = ["flu"] * (people + people // 2) + ["rash"] * others
    persons = [*range(people), *range(people // 2), *range(others)]
    return pa.table({"code": codes, "patient": persons})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "flu.watch"


def ask(state: Path, people: int | None, question: str, **more: Any) -> watching.WatchReport:
    table = None if people is None else visits(people)
    return watch(table, **({"bits": fg.SeededBits(1)} | ASKED | more), state=state, question=question)


def test_replies_are_those_of_the_sparse_vector_with_the_noise_of_the_key(state: Path) -> None:
    days = {f"day {day}": people for day, people in enumerate([0, 48, 50, 51, 49, 53, 47, 300])}
    made: list[int | None] = []
    plan = ThresholdPlan.read("SparseVector", k=2, epsilon=2, monotonic=True)
    for day, people in days.items():
        report = ask(state, people, day)
        key = json.loads(state.read_text())["key"]
        bar = noisy_threshold(plan, KeyedDigits(fg.SeededBits(1), 0))
        branch, multiple = bar.one(watching._number(day, key), people - 50)
        made.append(multiple if branch >= 0 else None)
        assert report.gap_multiples == tuple(made)
        assert report.alert == (made[-1] is not None)
        if report.left == 0:
            break
    assert sum(one is not None for one in made) == 2
    assert key == f"{fg.SeededBits(1).bits(256):064x}"
    assert watching._number("day 0", key) != watching._number("day 1", key)
    assert watching._number("day 0", key) != watching._number("day 0", "0" * 64)


def test_nothing_is_drawn_again(state: Path) -> None:
    """After the first question, no bit is asked for: not for others, and not after a restart."""
    ask(state, 0, "Monday")
    before = json.loads(state.read_text())
    ask(state, 10, "Tuesday", bits=Untouchable())
    after = json.loads(state.read_text())
    assert before["key"] == after["key"]
    assert list(after["replies"]) == ["Monday", "Tuesday"]


def test_a_question_has_one_reply(state: Path) -> None:
    """Asked again, of whatever table, it is the same, and the table is not looked at."""
    first = ask(state, 300, "Monday")
    again = ask(state, None, "Monday")
    assert first.alert
    assert again.to_dict() == first.to_dict()


def test_a_crash_before_the_reply_is_written_shows_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(state, 0, "Monday")
    before = state.read_bytes()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", crash)
        with pytest.raises(KeyboardInterrupt):
            ask(state, 300, "Tuesday")
    assert state.read_bytes() == before
    assert not ask(state, 0, "Tuesday").alert


def test_a_state_is_on_the_disk_before_it_stands_in_place(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, and then the folder that has its name: else a key or a reply is lost with the machine."""
    steps: list[Any] = []
    synced, replaced = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        new = state.with_name(state.name + ".new")
        steps.append(json.loads(new.read_text()) if new.exists() else "folder")
        synced(descriptor)

    def replace(self: Path, target: Any) -> Path:
        steps.append("replaced")
        return replaced(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    ask(state, 0, "Monday")
    whole = json.loads(state.read_text())
    assert steps == [whole | {"replies": {}}, "replaced", "folder", whole, "replaced", "folder"]


def test_what_a_crash_left_of_an_earlier_state_is_in_no_later_one(state: Path) -> None:
    """Longer than the new one, and readable by all, as a careless copy is."""
    new = state.with_name(state.name + ".new")
    new.write_text("{" * 10_000)
    new.chmod(0o666)
    ask(state, 0, "Monday")
    assert json.loads(state.read_text())["replies"] == {"Monday": None}
    assert state.stat().st_mode & 0o777 == 0o600
    assert not new.exists()


def test_the_file_is_its_owners_alone(state: Path) -> None:
    before = os.umask(0)
    try:
        ask(state, 0, "Monday")
    finally:
        os.umask(before)
    assert state.stat().st_mode & 0o777 == 0o600
    state.chmod(0o640)
    with pytest.raises(fg.InvalidArgument, match="may be read by others"):
        ask(state, 0, "Tuesday")


@pytest.mark.parametrize(
    ("other", "argument"),
    [
        ({"threshold": 49}, "threshold"),
        ({"k": 3}, "k"),
        ({"epsilon": 3}, "epsilon"),
        ({"of": "rash"}, "of"),
    ],
)
def test_it_is_asked_what_it_was_begun_with(state: Path, other: dict[str, Any], argument: str) -> None:
    ask(state, 0, "Monday")
    with pytest.raises(fg.InvalidArgument, match="begun with") as caught:
        ask(state, 0, "Tuesday", **other)
    assert caught.value.argument == argument


def test_it_ends_after_k_alerts(state: Path) -> None:
    assert ask(state, 900, "Monday").left == 1
    assert ask(state, 900, "Tuesday").left == 0
    with pytest.raises(fg.BudgetSpent, match="2 replies above"):
        ask(state, None, "Wednesday")
    assert ask(state, None, "Tuesday").alert


def test_one_process_at_a_time(state: Path) -> None:
    with (state.parent / "flu.watch.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(fg.FreegapError, match="another process"):
            ask(state, 0, "Monday")
    assert not state.exists()


def test_a_state_of_another_format_is_left_alone(state: Path) -> None:
    """Its key may mean something else, however much the rest looks like a state of today."""
    ask(state, 0, "Monday")
    kept = json.loads(state.read_text())
    for other in ("freegap watch 1", "freegap watch 3", "", None):
        state.write_text(json.dumps(kept | {"format": other}))
        with pytest.raises(fg.InvalidArgument, match="not the state of a watch"):
            ask(state, 0, "Monday")
    state.write_text(json.dumps(kept))
    ask(state, None, "Monday")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "freegap watch 1", "key": "zz"}', "\x00"])
def test_other_files_are_left_alone(state: Path, text: str) -> None:
    state.write_text(text)
    state.chmod(0o600)
    with pytest.raises(fg.InvalidArgument, match="not the state of a watch"):
        ask(state, 0, "Monday")
    assert state.read_text() == text


@pytest.mark.parametrize(
    ("more", "argument"),
    [
        ({"question": ""}, "question"),
        ({"question": "a\nb"}, "question"),
        ({"question": 7}, "question"),
        ({"state": None}, "state"),
        ({"state": "."}, "state"),
        ({"state": "\ud800"}, "state"),
        ({"state": "/nowhere/at/all"}, "state"),
        ({"k": 0}, "k"),
        ({"item": "nope"}, "item"),
        ({"threshold": "many"}, "threshold"),
    ],
)
def test_bad_arguments_begin_nothing(state: Path, more: dict[str, Any], argument: str) -> None:
    given = ASKED | {"state": state, "question": "Monday"} | more
    with pytest.raises(fg.InvalidArgument) as caught:
        watch(visits(3), **given, bits=Untouchable())
    assert caught.value.argument == argument
    assert not state.exists()


def test_people_are_counted_once_and_others_not_at_all() -> None:
    counts = [watching._people(visits(people), "code", "flu", "patient") for people in (0, 1, 7, 8)]
    assert counts == [0, 1, 7, 8]


def test_on_the_command_line(tmp_path: Path) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("code,patient\n" + "".join(f"flu,{person}\n" for person in range(300)))
    words = ["watch", str(table), "--item", "code", "--of", "flu", "--person", "patient", "--threshold", "50"]
    words += ["--epsilon", "2", "--state", str(tmp_path / "flu.watch"), "--question", "Monday", "--seed", "1"]
    made = [CliRunner().invoke(cli.app, [*words, "--json"]) for _ in range(2)]
    assert [one.exit_code for one in made] == [0, 0]
    assert made[0].stdout == made[1].stdout
    record = json.loads(made[0].stdout)
    assert (record["alert"], record["left"], record["private"]) == (True, 0, False)
    assert Fraction(record["spent"]) == 2
    assert "ALERT, above 50 people" in CliRunner().invoke(cli.app, words).stdout


def test_a_symbolic_link_leads_to_the_one_state(state: Path) -> None:
    link = state.with_name("link")
    link.symlink_to(state)
    ask(link, 0, "Monday", k=1)
    assert ask(link, 900, "Tuesday", k=1).alert
    assert link.is_symlink()
    assert ask(state, None, "Tuesday", k=1).alert
    with pytest.raises(fg.BudgetSpent):
        ask(state, 900, "Wednesday", k=1)


def test_a_state_with_two_names_is_refused(state: Path) -> None:
    ask(state, 0, "Monday")
    state.with_name("copy").hardlink_to(state)
    with pytest.raises(fg.InvalidArgument, match="another name"):
        ask(state, None, "Tuesday")


def test_its_sources_are_those_of_the_other_commands(tmp_path: Path) -> None:
    place = tmp_path / "clinic.duckdb"
    with duckdb.connect(place) as database:
        database.execute(
            "CREATE TABLE stays AS "
            "SELECT 'A' AS ward, 7 AS bed, i AS patient, i % 90 AS age FROM range(900) AS _(i)"
        )
        database.execute(
            "COPY stays TO '" + str(tmp_path / "stays.txt") + "' (FORMAT csv, HEADER, DELIMITER ';')"
        )
    asked = ["--person", "patient", "--threshold", "50", "--epsilon", "9", "--seed", "1", "--json"]
    of = ["--item", "ward", "--of", "A", "--item", "bed", "--of", "7"]
    where = ["--where", "age >= 80"]
    sources = {
        "table": [str(place), "--table", "stays", *where],
        "query": [str(place), "--query", "SELECT ward, bed, patient FROM stays WHERE age >= 80"],
        "file": [str(tmp_path / "stays.txt"), "--format", "csv", "--delimiter", ";", *where],
    }
    made = {}
    for name, words in sources.items():
        state = ["--state", str(tmp_path / name), "--question", "Monday"]
        done = CliRunner().invoke(cli.app, ["watch", *words, *of, *asked, *state])
        assert done.exit_code == 0, done.output
        made[name] = json.loads(done.stdout)
    assert made["table"]["alert"]
    assert 30 < made["table"]["gaps"][0] < 70
    assert made["table"]["gaps"] == made["query"]["gaps"] == made["file"]["gaps"]
    assert made["table"]["privacy"]["filter"] == "age >= 80"
    for wrong in (["--item", "bed", "--of", "seven"], ["--item", "bed", "--of", "7", "--of", "A"]):
        state = ["--state", str(tmp_path / "wrong"), "--question", "Monday"]
        done = CliRunner().invoke(cli.app, ["watch", *sources["table"], *wrong, *asked, *state])
        assert done.exit_code != 0
        assert isinstance(done.exception, fg.InvalidArgument)
        assert done.exception.argument == "of"
    assert not (tmp_path / "wrong").exists()


def test_a_dry_run_touches_nothing(tmp_path: Path) -> None:
    words = [
        "watch",
        "nowhere.csv",
        "--item",
        "code",
        "--of",
        "flu",
        "--person",
        "patient",
        "--threshold",
        "50",
    ]
    done = CliRunner().invoke(cli.app, [*words, "--epsilon", "2", "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert (record["dry_run"], record["charged_at_most"]) == ("watch", "2")
    assert record["gap_standard_error"] == pytest.approx(2**0.5)


@pytest.mark.parametrize("of", [7, None, "nothing of this kind"])
def test_what_is_watched_is_an_item_of_the_column(state: Path, of: Any) -> None:
    table = pa.table({"code": [1, 2], "patient": [1, 2]}) if isinstance(of, str) else visits(3)
    with pytest.raises(fg.InvalidArgument) as caught:
        watch(table, **(ASKED | {"of": of}), state=state, question="Monday", bits=Untouchable())
    assert caught.value.argument == "of"
