"""Requests made up from the OpenAPI description, by schemathesis: right ones and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

import freegap as fg
from freegap.serve.people import Person
from tests.serve.conftest import QUESTION, Service

ROLES = {"olga": "owner", "ann": "analyst", "ada": "auditor", "nobody": ""}
ALLOWED = {200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 422, 429}


def fuzz(service: Service, examples: int, methods: tuple[str, ...]) -> set[int]:
    """The lines of the releases that requests were answered with: one, for a question that is sent again."""
    tokens = {name: service.token(name, role) if role else "freegap_1_x" for name, role in ROLES.items()}
    schema: Any = schemathesis.openapi.from_asgi("/openapi.json", service.app)
    secrets = [str(service.folder), "SECRET", "baskets.parquet", "Traceback", "sqlite"]
    released: set[int] = set()
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in (made for made in operations if made.method in methods):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            made = operation.as_strategy(generation_mode=mode)

            @seed(1)
            @settings(
                max_examples=examples,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=made, who=st.sampled_from(list(ROLES)), sensible=st.booleans())
            def ask(case: Any, who: str, sensible: bool) -> None:
                if sensible and isinstance(case.body, dict) and "mechanism" in case.body:
                    kept = {name: case.body.get(name) for name in ("assume", "goal", "target", "noise")}
                    case.body = {name: value for name, value in kept.items() if value is not None}
                    case.body |= QUESTION | {"epsilon": "1/100"}
                if str(case.path_parameters.get("number")) in "123":
                    case.path_parameters["number"] = 10**6  # not the tokens of this test
                reply = case.call(headers={"Authorization": f"Bearer {tokens[who]}"})
                assert reply.status_code in ALLOWED, (reply.status_code, reply.text)
                assert not any(secret in reply.text for secret in secrets)
                if reply.status_code >= 400:
                    assert list(reply.json()) == ["error"], reply.text
                    assert len(reply.text) < 1000
                if who == "nobody" and case.operation.path not in ("/health", "/openapi.json"):
                    assert reply.status_code in (400, 401, 405), reply.text
                if case.operation.path == "/v1/releases" and case.method == "POST":
                    released.update([reply.json()["line"]] if reply.status_code == 200 else ())

            with suppress(Unsatisfiable):  # nothing can be wrong where there is nothing to say
                ask()
    return released


def run(folder: Path, serving: Callable[..., Service], examples: int, *methods: str) -> None:
    text = (folder / "freegap.toml").read_text()
    limits = "[limits]\nquestions_per_minute = 100000\nrequests_per_minute = 100000\n"
    (folder / "freegap.toml").write_text(text + limits)
    service = serving()
    released = fuzz(service, examples, methods)
    ledger = fg.Ledger(service.settings.ledger)
    assert ledger.verify().ok
    made = [entry for entry in ledger.entries("shop") if entry.kind == "settle"]
    jobs = {job["line"] for job in service.desk.jobs(Person("olga", "owner")) if job["state"] == "released"}
    assert len(made) == len(released | jobs)
    for account in ledger.accounts():
        assert account.remaining >= 0
    assert released or examples < 10


def test_whatever_is_sent_is_answered_in_words(folder: Path, serving: Callable[..., Service]) -> None:
    run(folder, serving, 2, "post")


@pytest.mark.long
def test_whatever_else_is_sent(folder: Path, serving: Callable[..., Service]) -> None:
    run(folder, serving, 100, "get", "post", "delete")
