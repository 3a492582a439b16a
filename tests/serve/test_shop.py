"""The service to look at: what `make serve-demo` makes, starts and says."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from freegap.serve.desk import Desk
from freegap.serve.people import Person
from freegap.serve.settings import read_settings
from freegap.serve.shop import make_shop
from tests.serve.conftest import HereWorkers
from tests.serve.running import running

ROOT = Path(__file__).parents[2]
QUESTION = {"source": "shop", "mechanism": "top_k", "item": "product", "k": 3, "epsilon": "2"}


def fetched(url: str, token: str) -> Any:
    asked = Request(url, headers={"authorization": f"Bearer {token}"})  # noqa: S310
    with urlopen(asked, timeout=60) as reply:  # noqa: S310
        return json.load(reply)


def desk_of(config: Path) -> Desk:
    settings = read_settings(config)
    desk = Desk(settings, HereWorkers(settings.limits))
    desk.open()
    return desk


def test_each_role_is_let_in_and_what_was_spent_stays_spent(tmp_path: Path) -> None:
    ann = Person("ann", "analyst")
    made = make_shop(tmp_path / "shop")
    desk = desk_of(made.config)
    roles = {name: desk.known(token) for name, (_, token) in made.tokens.items()}
    assert roles == {"olga": Person("olga", "owner"), "ann": ann, "ada": Person("ada", "auditor")}
    assert desk.ask(ann, QUESTION)["release"]["labels"] == ["bananas", "milk", "bread"]
    data = (tmp_path / "shop" / "baskets.csv").read_bytes()

    again = make_shop(tmp_path / "shop")
    desk = desk_of(again.config)
    assert (tmp_path / "shop" / "baskets.csv").read_bytes() == data
    assert [account["left"] for account in desk.sources(ann)[0]["accounts"]] == ["3", "2", "1"]
    assert desk.known(made.tokens["ann"][1]) == desk.known(again.tokens["ann"][1]) == ann
    assert desk.ask(ann, QUESTION)["status"] == "spent"


def test_the_command_says_where_to_look_and_answers_there(tmp_path: Path) -> None:
    with running("serve", "demo", "--out", str(tmp_path / "shop"), "--port", "0", "--json") as (url, said):
        told = json.loads(said + "}")
        assert told["url"] == f"{url}/"
        assert fetched(f"{url}/health", "") == {"status": "ok"}
        for person in told["people"]:
            me = fetched(f"{url}/v1/me", person["token"])
            assert me == {"name": person["name"], "role": person["role"]}
        with urlopen(told["url"], timeout=60) as page:  # noqa: S310
            assert page.url == f"{url}/console/sign-in"


def test_make_starts_it_in_an_environment_of_its_own() -> None:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["/usr/bin/env", "make", "--dry-run", "--always-make", "serve-demo", "PORT=0"],
        cwd=ROOT, env=outside, capture_output=True, text=True, check=True,
    )  # fmt: skip
    venv, installed, _, started = done.stdout.splitlines()
    assert venv.endswith("-m venv .venv/serve")
    assert installed.startswith(".venv/serve/bin/python -m pip install")
    assert started == ".venv/serve/bin/freegap serve demo --out out/serve-demo --port 0"
