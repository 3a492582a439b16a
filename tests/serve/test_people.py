from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from freegap import InvalidArgument
from freegap.serve import database
from freegap.serve.database import PeopleUnavailable, ServiceDatabase
from freegap.serve.people import People, Person


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(ServiceDatabase(f"sqlite:///{tmp_path}/people.db"))


def test_a_token_is_known_and_its_secret_is_kept_nowhere(people: People, tmp_path: Path) -> None:
    token, other = people.add("ann", "analyst", days=90), people.add("olga", "owner", days=1)
    assert people.known(token) == Person("ann", "analyst")
    assert people.known(other) == Person("olga", "owner")
    secret = token.rpartition("_")[2]
    assert secret.encode() not in (tmp_path / "people.db").read_bytes()
    assert secret not in str(people.tokens())


def test_what_is_not_quite_a_token_is_nobody(people: People) -> None:
    token, other = (people.add(name, "owner", days=1) for name in ("ann", "bob"))
    secret = token.rpartition("_")[2]
    for wrong in (
        "",
        "freegap_1_",
        token[:-1],
        token + "0",
        token + "\n",
        token.upper(),
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        f"freegap_2_{secret}",
        f"freegap_01_{secret}",
        f"freegap_9_{secret}",
        f"freegap_1 OR 1=1_{secret}",
        f"freegap_١_{secret}",
        secret,
        other.replace("_2_", "_1_"),
    ):
        assert people.known(wrong) is None, wrong


def test_it_expires(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    token = people.add("ann", "analyst", days=2)
    for hours, known in ((47, True), (48, False), (1000, False)):
        moment = datetime.now(UTC) + timedelta(hours=hours)
        monkeypatch.setattr(database, "now", lambda moment=moment: moment)
        assert (people.known(token) is not None) is known


def test_it_is_revoked_for_good(people: People) -> None:
    token, other = (people.add("ann", "analyst", days=2) for _ in range(2))
    people.revoke(1)
    people.revoke(1)
    assert people.known(token) is None
    assert people.known(other) == Person("ann", "analyst")
    assert [token.revoked is None for token in people.tokens()] == [False, True]
    with pytest.raises(InvalidArgument, match="number"):
        people.revoke(3)


def test_names_roles_and_times_are_checked(people: People, tmp_path: Path) -> None:
    for name, role, days in (
        ("", "owner", 1),
        ("a b", "owner", 1),
        ("ann / team red", "owner", 1),
        ("ann", "admin", 1),
        ("ann", "owner", 0),
        ("ann", "owner", 367),
    ):
        with pytest.raises(InvalidArgument):
            people.add(name, role, days=days)
    assert people.tokens() == []
    (tmp_path / "people.db").write_text("no database" * 100)
    with pytest.raises(PeopleUnavailable):
        people.known("freegap_1_" + "0" * 64)
