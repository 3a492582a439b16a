"""Fields of the configuration file, taken one by one, so that what is left over is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from freegap.errors import REDACTED, InvalidArgument

_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,59}")


class ConfigTable:
    """A table of TOML, and the folder of its file."""

    def __init__(self, content: dict[str, Any], name: str, folder: Path) -> None:
        self.content = content
        self.folder = folder
        self.name = name
        self._taken: set[str] = set()

    def _take(self, name: str, default: Any, kind: type, what: str) -> Any:
        self._taken.add(name)
        value = self.content.get(name, default)
        if not isinstance(value, kind):
            raise InvalidArgument(
                f"{self.name}{name}", value, f"must be {what}", "See docs/serve.md for an example."
            )
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        text: str = self._take(name, default, str, "a text")
        if not text and name in self.content:
            raise InvalidArgument(f"{self.name}{name}", text, "must not be empty", "Say it, or leave it out.")
        return text

    def text_or_none(self, name: str) -> str | None:
        """A text, where there is one."""
        return self.text(name) if name in self.content else None

    def flag(self, name: str) -> bool:
        """Whether it is said."""
        said: bool = self._take(name, False, bool, "true or false")
        return said

    def count(self, name: str) -> int | None:
        """A number, 1 at least, where there is one."""
        self._taken.add(name)
        number = self.content.get(name)
        if number is not None and (type(number) is not int or number < 1):
            raise InvalidArgument(f"{self.name}{name}", number, "must be 1 at least", "Leave it out.")
        return number

    def listed(self, name: str, default: Any = None) -> list[Any]:
        """A list."""
        return list(self._take(name, None if default is None else list(default), list, "a list"))

    def inner(self, name: str, *, required: bool = False) -> ConfigTable:
        """A table in it."""
        content = self._take(name, None if required else {}, dict, "a table")
        return ConfigTable(content, f"{self.name}{name}.", self.folder)

    def path(self, name: str) -> str:
        """A path from the folder of the file; an address as it is, those of files from there too."""
        return located(self.text(name), self.folder)

    def done(self) -> None:
        """Nothing else may be there."""
        left = sorted(self.content.keys() - self._taken)
        if left:
            raise InvalidArgument(
                f"{self.name}{left[0]}", REDACTED, "is not known here", "Remove or mend it."
            )


def located(text: str, folder: Path) -> str:
    """A path, or the address of a file, from the folder of the configuration; any other address as it is."""
    for prefix in ("sqlite:///", "duckdb:///"):
        if text.startswith(prefix):
            return prefix + str(folder / text.removeprefix(prefix))
    return text if "://" in text or text == "syslog" else str(folder / text)


def name_of_person(name: Any) -> str:
    """The name of a person, as accounts, tokens and the journal have it."""
    return named(_PERSON, name, "name")


def named(pattern: re.Pattern[str], name: Any, where: str) -> str:
    """A name that the pattern allows."""
    if not isinstance(name, str) or pattern.fullmatch(name) is None:
        raise InvalidArgument(where, name, f"must be a name such as {pattern.pattern}", "Use plain letters.")
    return name
