"""Runs one mechanism of a library over the line protocol of `freegap.Command`, in that library's interpreter.

A worker has `MECHANISMS`: by name, a function of ε that makes a function of the answers.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from typing import Any


def plain(value: Any) -> Any:
    """What JSON can hold, without changing a digit."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return repr(value)


def main(path: str, name: str) -> None:
    """Answer requests until there are none."""
    warnings.simplefilter("ignore")
    spec = importlib.util.spec_from_file_location("worker", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no module")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    made: dict[float, Any] = {}
    for line in sys.stdin:
        words = line.split()
        runs, epsilon, count = int(words[0]), float(words[2]), int(words[3])
        answers = [json.loads(word) for word in words[4 : 4 + count]]
        if epsilon not in made:
            made[epsilon] = worker.MECHANISMS[name](epsilon)
        mechanism = made[epsilon]
        out = [json.dumps(plain(mechanism(list(answers)))) for _ in range(runs)]
        sys.stdout.write("\n".join(out) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
