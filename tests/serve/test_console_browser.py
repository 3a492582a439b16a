"""The console in a real browser: the whole story, two roles at once, hostile names, the keyboard alone."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect
from typer.testing import CliRunner

from freegap.cli import app as command_line
from freegap.serve.people import Person
from tests.docs.browser import chromium
from tests.serve.browsers import Visitors, browsing, enter, turn
from tests.serve.conftest import QUESTION, Service
from tests.serve.running import listening, running
from tests.serve.test_console import HOSTILE
from tests.serve.test_sign_in import Provider, configured

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine to open the console")
LONG = "a product with a very long name " + "W" * 300
RIGHT_TO_LEFT = "שלום <b>עולם</b> \u202e evil"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@dataclass(frozen=True)
class Demo:
    url: str
    folder: Path
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """What `make serve-demo` starts."""
    folder = tmp_path_factory.mktemp("demo") / "shop"
    with running("serve", "demo", "--out", str(folder), "--port", "0") as (url, said):
        tokens = {line.split()[0]: line.split()[2] for line in said.splitlines() if "freegap_" in line}
        yield Demo(url, folder, tokens)


def command(*words: str) -> str:
    done = CliRunner().invoke(command_line, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def go(page: Page, name: str) -> None:
    turn(page, page.get_by_role("navigation", name="Pages").get_by_role("link", name=name))


def downloaded(page: Page, link: str) -> Path:
    with page.expect_download() as kept:
        page.get_by_role("link", name=link, exact=True).first.click()
    return kept.value.path()


def test_from_the_first_start_to_an_exhausted_budget(browser: Browser, demo: Demo, tmp_path: Path) -> None:
    people = Visitors(browser, demo.url)
    config = str(demo.folder / "freegap.toml")

    # The first owner comes with a token from the command line.
    token = command("serve", "token", "add", "olga", "--role", "owner", "--config", config)
    olga = people.come()
    olga.goto(demo.url)
    expect(olga).to_have_title("Sign in · freegap")
    people.look(olga, "sign-in")
    olga.get_by_label("Token").fill(token[:-1])
    turn(olga, olga.get_by_role("button", name="Sign in"))
    expect(olga.get_by_role("alert")).to_have_text("This token is not known, or is over.")
    olga.get_by_label("Token").fill(token)
    turn(olga, olga.get_by_role("button", name="Sign in"))
    expect(olga.get_by_role("heading", level=1)).to_have_text("Data")
    people.look(olga, "data-owner")
    go(olga, "Sources")
    people.look(olga, "sources")

    # She lets somebody in.
    go(olga, "People")
    olga.get_by_label("Name").fill("bob")
    turn(olga, olga.get_by_role("button", name="Make a token"))
    people.look(olga, "people")
    bob = people.signed_in(olga.locator("#made").inner_text())

    # He plans before he spends: is it right with 95 %?
    expect(bob.get_by_role("navigation", name="Pages").get_by_role("link")).to_have_count(4)
    turn(bob, bob.get_by_role("link", name="Plan and ask"))
    people.look(bob, "ask")
    bob.get_by_label("Estimate how many people").check()
    turn(bob, bob.get_by_role("button", name="Plan, for free"))
    expect(bob.locator(".answer")).to_contain_text("exactly the right items come out with a chance of 95 %")
    expect(bob.locator("figure")).to_have_count(2)
    turn(bob, bob.get_by_role("link", name="Take the suggested ε"))
    expect(bob.get_by_text("Nothing was read, drawn or charged.")).to_be_visible()
    people.look(bob, "plan")
    go(olga, "Budgets")
    expect(olga.get_by_text("Nothing has been asked.")).to_be_visible()

    # He asks, and she sees at once that he did.
    turn(bob, bob.get_by_role("button", name=re.compile("Ask, and pay")))
    expect(bob.get_by_role("heading", level=1)).to_have_text("Private top 5, by number of people")
    expect(bob.get_by_role("heading", name="What is protected")).to_be_visible()
    expect(bob.get_by_text("times as likely with one person's data as without")).to_be_visible()
    expect(bob.locator("figure .bars > div")).to_have_count(5)
    expect(bob.locator("figure .whisker").first).to_be_attached()
    expect(bob.get_by_role("columnheader", name="95 % interval")).to_be_visible()
    people.look(bob, "release")
    olga.reload()
    expect(olga.get_by_role("row", name=re.compile("^bob 1 "))).to_be_visible()
    people.look(olga, "budgets")

    # Until nothing is left: what was planned in two windows is paid in one.
    other = bob.context.new_page()
    for window in (bob, other):
        window.goto(f"{demo.url}/console/ask")
        window.get_by_label("Those above a threshold").check()
        window.get_by_label("More people than").fill("300")
        window.get_by_label("ε, at most").fill("2")
        turn(window, window.get_by_role("button", name="Plan, for free"))
    pay = re.compile("Ask, and pay ε = 2")
    turn(bob, bob.get_by_role("button", name=pay))
    expect(bob.get_by_role("heading", level=1)).to_contain_text("5 items with more than 300 people")
    people.look(bob, "release-above")
    turn(other, other.get_by_role("button", name=pay))
    expect(other.get_by_role("alert")).to_contain_text("'shop / team sales' has")
    people.look(other, "exhausted")
    turn(other, other.get_by_role("button", name="Plan, for free"))
    expect(other.get_by_role("alert")).to_contain_text("This cannot be asked. shop / team sales has")
    expect(other.get_by_role("button", name=pay)).to_have_count(0)
    people.look(other, "plan-too-dear")

    # The history is his, with everything to keep.
    go(bob, "Releases")
    expect(bob.locator("tbody tr")).to_have_count(2)
    people.look(bob, "releases")
    first = bob.get_by_role("row").last
    line = first.get_by_role("rowheader").inner_text()
    release = json.loads(downloaded(bob, f"JSON of release {line}").read_text())
    lines = downloaded(bob, f"CSV of release {line}").read_text().splitlines()
    table = list(csv.DictReader(lines))
    assert [row["item"] for row in table] == release["labels"]
    receipt = downloaded(bob, f"Receipt of line {line}")
    bob.goto(f"{demo.url}/console/people")
    expect(bob.get_by_role("alert")).to_contain_text("This is for owners.")
    people.look(bob, "refused")

    # The auditor reads the journal again, and has every receipt.
    ada = people.signed_in(demo.tokens["ada"])
    go(ada, "Journal")
    turn(ada, ada.get_by_role("link", name="Read the whole journal again"))
    expect(ada.get_by_role("status")).to_contain_text("lines hold")
    people.look(ada, "journal")
    assert ada.get_by_role("link", name="Receipt of line").count() == 2
    same = downloaded(ada, f"Receipt of line {line}")
    assert same.read_bytes() == receipt.read_bytes()
    (tmp_path / "receipt.json").write_bytes(receipt.read_bytes())
    key = command("receipt", "key", "--key-file", str(demo.folder / "receipt-key.pem"))
    (tmp_path / "key").write_text(key)
    command("receipt", "verify", str(tmp_path / "receipt.json"), "--key", str(tmp_path / "key"))
    assert json.loads(downloaded(ada, "Download").read_text())[-1]["sequence"] == 3 + 2 * 4

    # Whose token is ended is out at once.
    go(olga, "People")
    turn(olga, olga.get_by_role("button", name=re.compile("Revoke token .* of bob")))
    go(bob, "Data")
    expect(bob).to_have_title("Sign in · freegap")
    turn(olga, olga.get_by_role("button", name="Sign out"))
    olga.go_back()
    olga.reload()
    expect(olga).to_have_title("Sign in · freegap")

    assert people.hosts == {demo.url.removeprefix("http://")}, "nothing was loaded from elsewhere"
    refused = ("status of 401", "status of 403", "status of 409")
    assert [text for text in people.said if not any(status in text for status in refused)] == []
    people.leave()


@pytest.fixture
def hostile_names(folder: Path) -> list[str]:
    names = [*HOSTILE, LONG, RIGHT_TO_LEFT, "a 'quoted' \"name\""]
    rows = [(name, person) for rank, name in enumerate(names) for person in range(2000 - 100 * rank)]
    pl.DataFrame(rows, ["product", "customer"], orient="row").write_parquet(folder / "baskets.parquet")
    pl.DataFrame({"product": [*names, "none"]}).write_parquet(folder / "products.parquet")
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text(text.replace('"products.csv"', '"products.parquet"'))
    return names


def test_names_do_nothing_but_stand_there(
    browser: Browser, hostile_names: list[str], serving: Callable[..., Service]
) -> None:
    service = serving()
    asked = QUESTION | {"k": len(hostile_names), "epsilon": 1, "measure": True}
    made = service.desk.ask(Person("ann", "analyst"), asked)
    with listening(service.app) as url:
        people = Visitors(browser, url)
        ann = people.signed_in(service.token("ann"))
        ann.goto(f"{url}/console/releases/{made['line']}")
        people.look(ann, "hostile")
        shown = ann.locator("td.name").all_inner_texts()
        assert len(shown) == len(hostile_names)
        assert {"<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", LONG} <= set(
            shown
        )
        assert not any("\u202e" in text for text in shown)
        assert ann.locator("script, img, iframe, main b, [onload], [onerror]").count() == 0
        people.leave()
        assert people.hosts == {url.removeprefix("http://")}
        assert people.said == []


def over() -> None:
    """Wait until the jobs of this process have ended, and that is noted."""
    for thread in threading.enumerate():
        if "(_do)" in thread.name:
            thread.join()


def test_by_an_issuer_on_another_site_and_an_answer_for_later(
    browser: Browser, folder: Path, serving: Callable[..., Service]
) -> None:
    """The browser keeps the session's cookie back from another site's links: it must come to the page all the
    same. Then a question is paid for, looked at later, and its release is opened."""
    provider = Provider()
    made: list[Any] = []

    async def later(scope: Any, receive: Any, send: Any) -> None:
        await made[0](scope, receive, send)

    with listening(later) as url:
        configured(folder, provider, f"{url}/console/sign-in/return")
        service = serving()
        made.append(service.app)
        people = Visitors(browser, url)
        ann = people.come()
        ann.goto(url)
        people.look(ann, "sign-in-issuer")
        turn(ann, ann.get_by_role("link", name="Sign in by localhost"))
        expect(ann).to_have_title("Data · freegap")
        expect(ann.locator(".me")).to_contain_text("ann, analyst")
        go(ann, "Ask")
        ann.get_by_label("How many, at most").fill("1")
        ann.get_by_label("ε, at most").fill("1/2")
        turn(ann, ann.get_by_role("button", name="Plan, for free"))
        turn(ann, ann.get_by_role("button", name="Pay, and look later"))
        expect(ann).to_have_title("Jobs · freegap")
        over()
        turn(ann, ann.get_by_role("link", name="Look again"))
        people.look(ann, "jobs")
        turn(ann, ann.get_by_role("link", name="Release 7"))
        expect(ann.get_by_role("heading", level=1)).to_have_text("Private top 1, by number of people")
        ann.go_back()
        turn(ann, ann.get_by_role("button", name="Sign out"))
        expect(ann).to_have_title("Sign in · freegap")
        people.leave()
        assert people.hosts == {url.removeprefix("http://"), urlsplit(provider.url).netloc}
        assert people.said == []
    provider.server.shutdown()
    provider.server.server_close()


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", f"{wanted}: whoever uses the keyboard sees where they are"
            return
    raise AssertionError(f"{wanted} is out of reach")


def test_by_keyboard_alone(browser: Browser, service: Service) -> None:
    with listening(service.app) as url:
        people = Visitors(browser, url)
        ann = people.come()
        ann.goto(url)
        expect(ann.get_by_label("Token")).to_be_focused()
        ann.keyboard.type(service.token("ann"))
        enter(ann)
        expect(ann).to_have_title("Data · freegap")
        ann.keyboard.press("Tab")
        expect(ann.get_by_role("link", name="To the content")).to_be_focused()
        enter(ann)
        tab_to(ann, "main a.button")
        enter(ann)
        expect(ann).to_have_title("Ask · freegap")
        tab_to(ann, "#top_k")
        ann.keyboard.press("ArrowDown")
        expect(ann.locator("#above")).to_be_checked()
        ann.keyboard.press("ArrowUp")
        tab_to(ann, "#k")
        ann.keyboard.press("Control+A")
        ann.keyboard.type("1")
        tab_to(ann, "#measure")
        ann.keyboard.press("Space")
        tab_to(ann, "#epsilon")
        ann.keyboard.type("1/2")
        tab_to(ann, "button[name=plan]")
        enter(ann)
        expect(ann.locator("#planned")).to_be_focused()
        tab_to(ann, "main form[method=post] button")
        enter(ann)
        expect(ann.get_by_role("heading", level=1)).to_have_text("Private top 1, by number of people")
        tab_to(ann, ".wide")
        tab_to(ann, "a.button[href$='.csv']")
        people.leave()
        assert service.desk.releases(Person("ann", "analyst"))[0]["charged"] == "1/2"
