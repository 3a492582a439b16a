"""Tables of databases, by a path or an address: opened, one of their tables found, and closed afterwards.

    shop.duckdb  duckdb:///shop.db        in our own DuckDB, attached so that nothing can be written
    shop.sqlite  sqlite:///shop.db        through Ibis, opened so that nothing can be written
    postgresql://user@host/name           through Ibis; a password in PGPASSWORD or a password file, or there

An address may hold a password, so neither it nor what the database's program says of it is shown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import open_connection

_ENDINGS = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_SCHEMES = {"duckdb": "duckdb", "sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}

_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'freegap_source'"
)


def database_kind(place: Any) -> str | None:
    """Which database a path or an address names, by its spelling; None for anything else."""
    if not isinstance(place, str | Path):
        return None
    scheme, separator, _ = str(place).partition("://")
    if separator:
        return _SCHEMES.get(scheme.lower())
    return _ENDINGS.get(Path(place).suffix.lower())


@contextmanager
def open_database(place: str | Path, name: str | None) -> Iterator[tuple[Any, Any | None]]:
    """A table of a database, as a native table; and the connection, where it is our own DuckDB."""
    kind, parts = str(database_kind(place)), _name(name)
    if kind == "duckdb":
        with open_connection() as connection:
            yield _attached(connection, _file(place), parts), connection
    elif kind == "sqlite":
        address = f"{_file(place).absolute().as_uri()}?mode=ro"
        with closing(_opened(place, lambda: sqlite3.connect(address, uri=True))) as own:
            yield _of_ibis(place, "sqlite", own, parts), None
    else:
        with closing(_opened(place, lambda: _postgresql(str(place)))) as own:
            yield _of_ibis(place, "postgres", own, parts), None


def shown(place: str | Path) -> str:
    """A path, or of an address what holds no password."""
    scheme, separator, _ = str(place).partition("://")
    return f"{scheme}://…" if separator else str(place)


def _name(name: str | None) -> list[str]:
    if not isinstance(name, str) or not name or len(parts := name.split(".")) > 2 or not all(parts):
        raise InvalidArgument(
            "name",
            name,
            "must name a table of the database, or a schema, a dot and a table",
            "Pass name='…', or query='SELECT … FROM … WHERE …'.",
        )
    return parts


def _file(place: str | Path) -> Path:
    path = Path(unquote(urlsplit(str(place)).path)[1:] if "://" in str(place) else place)
    if not path.is_file():
        raise InvalidArgument("table", shown(place), "names no file", "Check the path.")
    return path


def _opened(place: str | Path, connect: Callable[[], Any]) -> Any:
    try:
        return connect()
    except ImportError:
        raise MissingExtra("psycopg", "databases") from None
    except Exception as error:  # its message may quote the address
        kind = type(error).__name__
    _refuse(place, kind)


def _refuse(place: str | Path, kind: str) -> NoReturn:
    raise InvalidArgument(
        "table", shown(place), f"cannot be opened ({kind})", "Try it with the database's own program."
    )


def _postgresql(address: str) -> Any:
    import psycopg

    return psycopg.connect(address, autocommit=True)


def _attached(connection: Any, path: Path, parts: list[str]) -> Any:
    quoted = "'" + str(path).replace("'", "''") + "'"
    try:
        connection.execute(f"ATTACH {quoted} AS freegap_source (READ_ONLY)")
        known = connection.execute(_TABLES).fetchall()
    except Exception as error:
        kind = type(error).__name__
        known = None
    if known is None:
        _refuse(path, kind)
    schema, table = ["main", *parts][-2:]
    _require(table, schema if len(parts) == 2 else None, [t for s, t in known if s == schema])
    name = ".".join('"' + part.replace('"', '""') + '"' for part in ("freegap_source", schema, table))
    return ask_engine(lambda: connection.sql(f"FROM {name}"))


def _of_ibis(place: str | Path, backend: str, own: Any, parts: list[str]) -> Any:
    try:
        import ibis
    except ImportError:
        raise MissingExtra("ibis", "databases") from None
    schema, table = parts[0] if len(parts) == 2 else None, parts[-1]
    try:
        database = getattr(ibis, backend).from_connection(own)
        known = database.list_tables(database=schema)
    except Exception as error:
        kind = type(error).__name__
        known = None
    if known is None:
        _refuse(place, kind)
    _require(table, schema, known)
    return ask_engine(lambda: database.table(table, database=schema))


def _require(table: str, schema: str | None, known: list[str]) -> None:
    """The names of tables are the schema of a database, and public."""
    if table not in known:
        within = "the database" if schema is None else f"the schema {schema!r}"
        names = sorted(known)
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise InvalidArgument(
            "name", table, f"is not a table of {within}", f"There are: {listed}." if names else "It has none."
        )
