"""Other people's libraries, each in a virtual environment of its own, by name and pinned version.

An environment is made once by `python -m venv` and pip, as pip is configured on this machine, and kept in a
folder named after what is in it: a changed pin makes a new one. A library that cannot be had is an outcome
with a reason, never an error: the rest goes on without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 900.0
_DONE = "installed"


@dataclass(frozen=True)
class Library:
    """A library as `libraries.toml` pins it.

    requires: what pip is asked for, each with its version; nothing means this interpreter and what it has.
    names: the packages of which a report says the version; the first is the library itself.
    cannot: what it does not offer, as its documentation has it.
    """

    name: str
    requires: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    cannot: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unpinned = [requirement for requirement in self.requires if "==" not in requirement]
        if unpinned:
            raise ValueError(f"{self.name}: not pinned by ==: {', '.join(unpinned)}")

    @property
    def folder(self) -> str:
        """The name of its environment's folder: another one for other pins, or another Python."""
        asked = "\n".join((sys.version, *self.requires)).encode()
        return f"{self.name}-{hashlib.sha256(asked).hexdigest()[:12]}"


@dataclass(frozen=True)
class Environment:
    """Where a library can be run: its interpreter, or why there is none."""

    library: Library
    python: Path | None = None
    reason: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def read_libraries(path: Path) -> tuple[Library, ...]:
    """The libraries of a file, in its order."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    known = ("requires", "names", "cannot")
    return tuple(
        Library(
            name=name,
            requires=tuple(table.get("requires", ())),
            names=tuple(table.get("names", ())),
            cannot=table.get("cannot", ""),
            more={key: value for key, value in table.items() if key not in known},
        )
        for name, table in tables.items()
    )


def cache_folder() -> Path:
    """Where environments are kept if nobody says otherwise: the user's cache."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "freegap" / "environments"


def environment(library: Library, folder: Path, *, install: bool = True) -> Environment:
    """The library's environment, made now if it is not there yet.

    install: False to take only what is there already.
    """
    if not library.requires:
        return _described(library, Path(sys.executable))
    place = folder / library.folder
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (place / _DONE).exists():
        if not install:
            return Environment(library, reason="is not installed, and installing was not asked for")
        reason = _made(library, place, python)
        if reason:
            shutil.rmtree(place, ignore_errors=True)
            return Environment(library, reason=reason)
        (place / _DONE).touch()
    return _described(library, python)


def _made(library: Library, place: Path, python: Path) -> str:
    """Make the environment; why it cannot be had, or nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(place)], [*pip, *library.requires]):
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=_SECONDS, env=without_ours(), check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"could not be installed: {type(error).__name__}"
        if done.returncode:
            return f"could not be installed: {_last_error(done.stderr)}"
    return ""


def _last_error(text: str) -> str:
    """The line that says most: pip's last error, without what it was looking at."""
    lines = [line.removeprefix("ERROR:").strip() for line in text.splitlines() if line.startswith("ERROR:")]
    return lines[-1] if lines else "pip failed"


def _described(library: Library, python: Path) -> Environment:
    """The environment with the versions of what is in it."""
    code = (
        "import sys, json, importlib.metadata as metadata\n"
        "versions = {}\n"
        "for name in sys.argv[1:]:\n"
        "    try: versions[name] = metadata.version(name)\n"
        "    except metadata.PackageNotFoundError: versions[name] = ''\n"
        "print(json.dumps(versions))"
    )
    done = subprocess.run(  # noqa: S603
        [str(python), "-I", "-c", code, *library.names],
        capture_output=True,
        text=True,
        env=without_ours(),
        check=False,
    )
    if done.returncode:
        return Environment(library, reason="its interpreter does not start")
    versions: dict[str, str] = json.loads(done.stdout)
    missing = [name for name, version in versions.items() if not version]
    if missing and library.requires:
        return Environment(library, reason=f"{', '.join(missing)} is not in its environment")
    return Environment(library, python, versions=versions)


def without_ours() -> dict[str, str]:
    """This process's environment without what would lead another interpreter to our own packages."""
    ours: Iterable[str] = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {name: value for name, value in os.environ.items() if name not in ours}
