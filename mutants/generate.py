"""Every mutant of a file: one change each, found by walking its syntax tree once for each operator."""

from __future__ import annotations

import ast
import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code

from mutants.operators import OPERATORS, parse

PACKAGES = ("exact", "mechanisms", "base2", "estimate", "budget", "tables", "values", "laws", "bits")


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    file: str  # below src/freegap
    text: str  # a hash of the file that was changed
    operator: str
    occurrence: int
    first: int  # lines
    last: int
    on_import: bool  # whether they run when the file is imported, and not in a function
    within: str  # the class or function that they are of, as `Class.method`; empty at the top of the file

    @property
    def key(self) -> str:
        """What a result is kept under; a change of the file makes it another mutant."""
        return f"{self.file}:{self.text}:{self.operator}:{self.occurrence}"

    @property
    def package(self) -> str:
        """The package that it is in, or the module."""
        return Path(self.file).parts[0].removesuffix(".py")

    def code(self, source: Path) -> str | None:
        """The file with the change; None where the change is none, or is not Python."""
        before = (source / "freegap" / self.file).read_text(encoding="utf-8")
        after = mutate_code(before, OPERATORS[self.operator](), self.occurrence)
        try:
            same = after is None or ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
        except SyntaxError:
            return None
        return None if same else str(after)

    def change(self, source: Path) -> tuple[str, str]:
        """The lines that it takes away and those that it puts in their place."""
        before = (source / "freegap" / self.file).read_text(encoding="utf-8").splitlines()
        after = (self.code(source) or "").splitlines()
        lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        old = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
        return old, " ".join(line[1:].strip() for line in lines if line.startswith("+"))


def files(source: Path, packages: tuple[str, ...] = PACKAGES) -> list[str]:
    """The files of these packages, below src/freegap."""
    root = source / "freegap"
    found = [path for name in packages for path in (*root.glob(f"{name}.py"), *root.glob(f"{name}/**/*.py"))]
    return sorted(str(path.relative_to(root)) for path in found)


def mutants(source: Path, file: str) -> list[Mutant]:
    """All mutants of a file."""
    text = (source / "freegap" / file).read_text(encoding="utf-8")
    tree = parse(text)
    short = hashlib.sha256(text.encode()).hexdigest()[:12]
    lines = text.splitlines()
    skipped = _lines_that_only_types_read(text)
    inner = _lines_of_functions(text)
    names = _names_of_lines(text)
    found = []
    for name, operator in OPERATORS.items():
        made = operator()
        places = [place for node in ast_nodes(tree) for place in made.mutation_positions(node)]
        found += [
            Mutant(file, short, name, occurrence, first, last, first not in inner, names.get(first, ""))
            for occurrence, ((first, column), (last, _)) in enumerate(places)
            if first not in skipped and not _is_star(name, lines[first - 1], column)
        ]
    return found


def _names_of_lines(text: str) -> dict[int, str]:
    """The innermost class or function of each line, its decorators included; none at the top of a file.

    The same line may stand twice in a file (`@property`), and only one of the two be without effect.
    """
    names: dict[int, str] = {}

    def walk(node: ast.AST, outer: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*outer, child.name)
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                names.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), ".".join(inner)))
            walk(child, inner)

    walk(ast.parse(text), ())
    return names


def _is_star(operator: str, line: str, column: int) -> bool:
    """Whether what Cosmic Ray takes for an operator is the star of `f(*, a)`, `f(*a)` or `f(**a)`."""
    if "BinaryOperator_Mul" in operator:
        return line[column + 1 : column + 2] != " "  # as the formatter sets products
    return "BinaryOperator_Pow" in operator and not (line[column - 1].isalnum() or line[column - 1] in ")]_ ")


def _lines_of_functions(text: str) -> set[int]:
    """The lines of the bodies of functions, without what is computed once: defaults and decorators."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


def _lines_that_only_types_read(text: str) -> set[int]:
    """Lines of annotations alone (`X | None` is no operation), `__all__`, and `if TYPE_CHECKING`."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        notes = [node.returns] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
        notes += [node.annotation] if isinstance(node, ast.arg) else []
        notes += [node.annotation] if isinstance(node, ast.AnnAssign) and node.value is None else []
        for note in notes:
            if note is not None and any(isinstance(part, ast.BinOp) for part in ast.walk(note)):
                lines.update(range(note.lineno, (note.end_lineno or note.lineno) + 1))
    return lines
