"""Whether this machine's exp and log err by less than the proofs of the exact core assume."""

from __future__ import annotations

from typing import Any

from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, LIMIT, SINGLE_FUNCTIONS, worst_error

_SAMPLE = 20_000


def machine_checks(sample: int = _SAMPLE) -> list[dict[str, Any]]:
    """For each function its worst relative error over a sample, in the units that the proofs use.

    >>> all(check["ok"] for check in machine_checks(sample=200))
    True
    """
    checks = []
    for precision, functions in (("single", SINGLE_FUNCTIONS), ("double", DOUBLE_FUNCTIONS)):
        for function in functions:
            worst = worst_error(function, function.sample(sample))
            checks.append(
                {
                    "function": function.name,
                    "precision": precision,
                    "of_negative_numbers": function.sign < 0,
                    "worst_error": round(worst, 3),
                    "allowed": LIMIT,
                    "ok": worst < LIMIT,
                }
            )
    return checks


def machine_text(checks: list[dict[str, Any]]) -> str:
    """One line for people."""
    worst = max(checks, key=lambda check: check["worst_error"])
    return (
        f"exp, expm1, log and log1p of this machine err by at most {worst['worst_error']:.1f} units in the "
        f"last place ({worst['function']}, {worst['precision']} precision) over {_SAMPLE:,} arguments each; "
        f"the proofs of the exact core allow {worst['allowed']:.0f}."
    )
