"""What a proof rests on, written down: every "unsat" of z3 as SMT-LIB, for another solver to confirm.

Each statement is a file: a question that must be answered "unsat", with what that says in plain words. The
rest of a proof is no question to a solver: that the questions are the right ones (docs/prove.md says why) and
that the interpreter reads the program rightly.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import z3

from freegap.errors import InvalidArgument, MissingExtra

_PLAIN = {"Δ": "Delta", "ε": "epsilon", "″": "~2"}
"""What the names of unknowns have that SMT-LIB has not."""


@dataclass(frozen=True)
class Statement:
    """A question whose answer is "unsat", and what that says."""

    meaning: str
    smt2: str

    @property
    def text(self) -> str:
        """The file: the meaning as a comment, then the question."""
        comment = "".join(f"; {line}\n" for line in self.meaning.splitlines())
        return f"{comment}(set-logic ALL)\n{self.smt2}"


@dataclass
class Certificate:
    """The statements of a proof, each once, to be written to a folder that is new or empty."""

    folder: Path | None = None
    statements: dict[str, Statement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at = self.folder
        if at is not None and at.exists() and (not at.is_dir() or any(at.iterdir())):
            raise InvalidArgument("certificate", str(at), "is not an empty folder", "Pass a new one.")

    def add(self, meaning: str, formulas: Iterable[Any]) -> None:
        """One more: these formulas cannot all be true."""
        empty = (z3.And([]), z3.BoolVal(True)), (z3.Or([]), z3.BoolVal(False))  # which SMT-LIB has not
        solver = z3.Solver()
        solver.add(*(z3.substitute(formula, *empty) for formula in formulas))
        text = solver.to_smt2()
        for name, plain in _PLAIN.items():
            text = text.replace(name, plain)
        text = text.encode("ascii", "xmlcharrefreplace").decode()
        key = hashlib.sha256(text.encode()).hexdigest()
        self.statements.setdefault(key, Statement(meaning, text))

    def write(self, folder: Path, claim: str) -> None:
        """A file for each statement, and an index that says what each of them states."""
        folder.mkdir(parents=True, exist_ok=True)
        index = [f"# {claim}", "", 'Each file is a question whose answer must be "unsat", which says:', ""]
        for place, statement in enumerate(self.statements.values(), 1):
            name = f"{place:04}.smt2"
            (folder / name).write_text(statement.text, encoding="utf-8")
            index.append(f"- `{name}`: {statement.meaning}")
        (folder / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def checker_named(name: str) -> Any:
    """A function of the text of a statement that says whether this solver answers "unsat"."""
    if name not in _CHECKERS:
        raise InvalidArgument("check", name, "is not a solver", f"Pass one of {', '.join(_CHECKERS)}.")
    if name == "cvc5":
        _imported_cvc5()  # so that who lacks it hears of it before anything is proved
    return _CHECKERS[name]


def _imported_cvc5() -> Any:
    try:
        return importlib.import_module("cvc5")
    except ImportError:
        raise MissingExtra("cvc5", "check") from None


def _z3(text: str) -> bool:
    solver = z3.Solver()
    solver.from_string(text)
    return bool(solver.check() == z3.unsat)


def _cvc5(text: str) -> bool:
    cvc5 = _imported_cvc5()
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", "20000")  # in milliseconds; what takes longer is not confirmed
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "statement")
    answers: list[str] = []
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return answers == ["unsat"]
        said = command.invoke(solver, parser.getSymbolManager()).strip()
        answers += [said] if said else []


_CHECKERS = {"cvc5": _cvc5, "z3": _z3}
