"""What commands share: functions by their names, parameters, help texts, and errors in terms of options."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument
from freegap.values.rationals import rational

JOBS = "Worker processes; 0 for one per processor."
NEIGHBOURS = (
    "What one person can do to the answers: move each, move one, or move all the same way (monotonic)."
)


def load(argument: str, target: str) -> Any:
    """What is called package.module:function, or file.py:function, from here.

    Its folder stays on the path, also for worker processes, which import the module by its name.

    >>> load("mechanism", "fractions:Fraction.from_float")(0.5)
    Fraction(1, 2)
    """
    module, _, name = target.partition(":")
    if not module or not name:
        raise InvalidArgument(
            argument, target, "names no function", "Write module:function or file.py:function."
        )
    file = Path(module)
    is_file = file.suffix == ".py"
    folder = str((file.parent if is_file else Path()).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    try:
        found: Any = importlib.import_module(file.stem if is_file else module)
        if is_file:
            _require_file(found, file)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidArgument(
            argument,
            target,
            f"cannot be imported ({type(error).__name__}: {error})",
            "Write module:function or file.py:function.",
        ) from error
    return found


def _require_file(module: Any, file: Path) -> None:
    """Python finds modules by their names: one that is known already, or comes first, may be another file."""
    imported = getattr(module, "__file__", None)
    if imported is None or Path(imported).resolve() != file.resolve():
        raise ImportError(f"the name {file.stem} is that of another module, {imported}: rename the file")


def name_and_value(text: str) -> tuple[str, Any]:
    """A parameter: its value is a number, read exactly, true or false, other JSON, or else a text.

    >>> name_and_value("k=2"), name_and_value("share=0.5"), name_and_value("noise=laplace")
    (('k', 2), ('share', Fraction(1, 2)), ('noise', 'laplace'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidArgument("parameter", text, "is not name=value", "Write for example --parameter k=2.")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    try:
        number = rational("parameter", value)
    except InvalidArgument:
        try:
            return name, json.loads(value)
        except (ValueError, RecursionError):
            return name, value
    return name, int(number) if value.lstrip("+-").isdigit() else number


def in_options(error: Exception, command: Any, words: list[str]) -> str:
    """The error's message as whoever typed these words knows it: `--domain`, not `domain = None`."""
    if not isinstance(error, InvalidArgument):
        return str(error)
    while words and hasattr(command, "resolve_command"):
        _, command, words = command.resolve_command(command.context_class(command), words)
    typed: dict[str, str] = {}
    for parameter in command.params:
        shown = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.name.upper()
        typed = dict.fromkeys((parameter.name, shown.strip("-").replace("-", "_")), shown) | typed
    typed["parameters"] = typed.get("parameter", "parameters")
    names = "|".join(sorted(map(re.escape, typed), key=len, reverse=True))
    message = str(error)
    if error.argument in typed:
        missing = " = None" if error.value is None else " ="
        message = typed[error.argument] + message.removeprefix(error.argument).removeprefix(missing)
    message = re.sub(rf"\b({names})=True\b", lambda found: typed[found[1]], message)
    return re.sub(rf"\b({names})=(?=[\w\"'\[(])", lambda found: f"{typed[found[1]]} ", message)
