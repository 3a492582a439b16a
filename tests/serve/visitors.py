"""A browser without a browser: keeps the cookie, and fills in the hidden fields of forms."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from tests.serve.conftest import QUESTION, Reply, Service, call

_HIDDEN = re.compile(r'name="form" value="([0-9a-f]{64})"')
_ONCE = re.compile(r'name="once" value="([0-9a-f]{64})"')
QUESTION_FIELDS = {name: str(value) for name, value in QUESTION.items()}
SAME = {"host": "data.example", "sec-fetch-site": "same-origin"}


class Visitor:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.cookies: dict[str, str] = {}
        self.form = ""
        self.once = ""

    def get(self, path: str, **query: str) -> Reply:
        return self._call("GET", path, b"", urlencode(query).encode(), {"host": "data.example"})

    def post(
        self, path: str, *, headers: dict[str, str] | None = None, form: str | None = None, **fields: Any
    ) -> Reply:
        sent = {"form": self.form if form is None else form, **fields}
        return self._call("POST", path, urlencode(sent).encode(), b"", SAME if headers is None else headers)

    def sign_in(self, token: str) -> Reply:
        self.get("/sign-in")
        reply = self.post("/sign-in", token=token)
        self.get("/")  # with the forms of the new session
        return reply

    def plan(self, **fields: str) -> Reply:
        return self.get("/ask", plan="yes", **(QUESTION_FIELDS | fields))

    def ask(self, **fields: str) -> Reply:
        sent: dict[str, Any] = {"once": self.once} | QUESTION_FIELDS | fields
        return self.post("/ask", **sent)

    def _call(self, method: str, path: str, body: bytes, query: bytes, headers: dict[str, str]) -> Reply:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"content-type": "application/x-www-form-urlencoded", "cookie": cookie, **headers}
        app = self.service.app
        reply = call(app, method, f"/console{path}", body=body, query=query, headers=sent)
        for line in reply.headers.get("set-cookie", "").splitlines():
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
        text = reply.body.decode(errors="replace")
        self.form = next(iter(_HIDDEN.findall(text)), self.form)
        self.once = next(iter(_ONCE.findall(text)), self.once)
        return reply
