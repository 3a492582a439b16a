"""What docs/serve.md says can be done: the five minutes, a proxy with TLS, an old ledger put back."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import freegap as fg
from freegap.serve.desk import Desk
from freegap.serve.settings import read_settings
from tests.docs.examples import blocks
from tests.serve.conftest import HereWorkers, Service, call

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_the_five_minutes(tmp_path: Path) -> None:
    """The lines of the page in a shell, at another port."""
    shell = shutil.which("bash")
    if shell is None or shutil.which("curl") is None:
        pytest.skip("needs bash and curl")
    (lines,) = [block.text for block in blocks(PAGE) if block.text.startswith("mkdir shop")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "freegap").write_text(f'#!/bin/sh\nexec {sys.executable} -m freegap "$@"\n')
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for program in ("freegap", "python"):
        (tmp_path / program).chmod(0o755)
    done = subprocess.run(  # noqa: S603
        [shell, "-ec", "trap 'kill %1' EXIT\n" + lines.replace("8765", port)],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told, read = [], json.JSONDecoder()
    text = done.stdout
    while text.strip():
        found, end = read.raw_decode(text.lstrip())
        told.append(found)
        text = text.lstrip()[end:]
    health, release, sources = told
    assert health == {"status": "ok"}
    assert release["release"]["release"] == "top_k"
    assert [account["left"] for account in sources[0]["accounts"]] == ["9/2", "1/2"]


def test_by_https_the_cookie_is_for_https_alone(folder: Path, serving: Callable[..., Service]) -> None:
    """A setting says it, since a header could come from anybody."""
    said = {"x-forwarded-proto": "https", "forwarded": "proto=https"}
    plain = call(serving().app, "GET", "/console/sign-in", headers=said).headers["set-cookie"]
    assert "Secure" not in plain
    config = folder / "freegap.toml"
    config.write_text("https = true\n" + config.read_text())
    secure = call(serving().app, "GET", "/console/sign-in").headers["set-cookie"]
    assert secure.startswith("__Host-")
    assert "Secure" in secure
    config.write_text(config.read_text().replace("https = true", 'https = "yes"'))
    with pytest.raises(fg.InvalidArgument, match="https"):
        read_settings(config)


def test_an_old_ledger_put_back_is_used_by_nobody(folder: Path, serving: Callable[..., Service]) -> None:
    config, ledger, old = folder / "freegap.toml", folder / "ledger.db", folder / "old.db"
    config.write_text('heads = ["head"]\n' + config.read_text())
    service = serving()
    token = service.token("ann")
    assert service.ask(token).status == 200
    shutil.copy(ledger, old)
    assert service.ask(token).status == 200
    newest = ledger.read_bytes()
    shutil.copy(old, ledger)
    assert service.ask(token).status == 503
    assert call(service.app, "GET", "/v1/sources", token=token).status == 503
    again = Desk(read_settings(config), HereWorkers(service.settings.limits))
    with pytest.raises(fg.LedgerDamaged):
        again.open()
    assert ledger.read_bytes() == old.read_bytes(), "nothing was written to it"
    ledger.write_bytes(newest)
    again.open()
    assert service.ask(token).status == 200
    accounts = call(service.app, "GET", "/v1/sources", token=token).json[0]["accounts"]
    assert accounts[0]["left"] == "7/2"


def test_the_page_names_every_limit_and_every_verb(service: Service) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in type(service.settings.limits).__dataclass_fields__:
        assert f"`{name}`" in text or re.search(rf"^{name} = ", text, re.MULTILINE), name
    for path, verbs in service.app.openapi()["paths"].items():
        shown = re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), path)
        for verb in verbs:
            assert f"`{verb.upper()} {shown}`" in text, (verb, path)
