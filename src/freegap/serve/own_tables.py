"""Tables that an Ibis backend or the owner's own code holds: declared in the settings, opened by a question.

    [sources.shop]
    ibis = "bigquery://project/dataset"       # whatever `ibis.connect` takes
    name = "baskets"

    [sources.clinic]
    function = "warehouse:stays"              # stays() of warehouse.py: a table of Spark, Ibis, Polars, …

What is kept here is text. A question opens the table in its own process, after it was charged and before a
row is looked at; what goes wrong then is told to nobody who asks.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from freegap.errors import InvalidArgument, MissingExtra
from freegap.serve.configuration import ConfigTable, located

_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
KINDS = ("table", "ibis", "function")


class OwnTable(Protocol):
    """A table that is not a file and not an address of the library's own."""

    def check(self) -> None:
        """Refuse, when the service starts, what could never be opened."""

    def opened(self) -> AbstractContextManager[Any]:
        """The table, as the library takes it, for as long as it is looked at."""


@dataclass(frozen=True)
class IbisTable:
    """A table behind Ibis. url: as `ibis.connect` takes it."""

    url: str
    name: str

    def check(self) -> None:
        """Ibis must be there; whether the database is, shows when somebody asks."""
        _ibis()

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The table of that name."""
        backend = _ibis().connect(self.url)
        try:
            yield backend.table(self.name)
        finally:
            backend.disconnect()


@dataclass(frozen=True)
class MadeTable:
    """A table that a function of the owner makes. folder: of the settings, where its module may lie."""

    field: str
    function: str
    folder: str

    def check(self) -> None:
        """The function must be there; it is not called."""
        self._found()

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """What it returns."""
        yield self._found()()

    def _found(self) -> Any:
        module, _, name = self.function.partition(":")
        if self.folder not in sys.path:
            sys.path.append(self.folder)  # last: a file there takes the name of nothing else
        try:
            found = getattr(importlib.import_module(module), name, None)
            said = "is not a function of that module"
        except Exception as error:  # whatever a module of the owner's does when it is imported
            found, said = None, f"cannot be imported ({type(error).__name__})"
        if not callable(found):
            remedy = "Put the module beside the settings or install it, and name it as module:function."
            raise InvalidArgument(self.field, self.function, said, remedy)
        return found


def read_own_table(table: ConfigTable) -> OwnTable | None:
    """The table of a source that is one of these; None where it is a file or a database of the library's."""
    said = [kind for kind in KINDS if kind in table.content]
    if len(said) > 1:
        raise InvalidArgument(
            f"{table.name}{said[1]}", "<set>", f"cannot go with {said[0]}", "Keep one of them."
        )
    if "ibis" in table.content:
        return IbisTable(located(table.text("ibis"), table.folder), table.text("name"))
    if "function" not in table.content:
        return None
    function = table.text("function")
    if _FUNCTION.fullmatch(function) is None:
        raise InvalidArgument(
            f"{table.name}function", function, "must be module:function", 'Write "warehouse:baskets".'
        )
    return MadeTable(f"{table.name}function", function, str(table.folder))


def _ibis() -> Any:
    try:
        return importlib.import_module("ibis")
    except ModuleNotFoundError:
        raise MissingExtra("ibis-framework", "ibis") from None
