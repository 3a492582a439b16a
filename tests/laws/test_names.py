"""A law is a record. Its name is for people, at the boundary: nobody compares it and guesses the rest."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import mypy.api
import pytest

import freegap as fg
from freegap import laws
from freegap.laws import LAWS, Law
from freegap.laws.labelled import LabelledNoise

ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("src/**/*.py"), *ROOT.glob("evidence/src/**/*.py")]
# They check this library, and know the laws by themselves.
INDEPENDENT = {"densities.py", "threshold_laws.py"}


def compared(tree: ast.AST) -> Iterator[str]:
    """The texts that something is compared with, alone or in a list, or matched with."""
    for node in ast.walk(tree):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        sides += [node.value] if isinstance(node, ast.MatchValue) else []
        for side in sides:
            parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_no_name_of_a_law_is_compared() -> None:
    assert set(compared(ast.parse("a == 'laplace' or b in ('gumbel', 2)"))) == {"laplace", "gumbel"}
    found = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in SOURCES
        if path.name not in INDEPENDENT
        for text in compared(ast.parse(path.read_text(encoding="utf-8")))
        if text in LAWS
    }
    assert len(SOURCES) > 200
    assert found == set()


def test_the_noise_interface_has_every_law() -> None:
    methods = {name for name in vars(LabelledNoise) if not name.startswith("_")} - {"draw"}
    made = {"coin", "exponential_coin", "choice", "exponential_choice"}  # of one draw of a law
    assert methods - made == set(LAWS)


def asks_for_noise(thing: Any) -> bool:
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Exception)):
        return False
    parameters = inspect.signature(thing).parameters
    return "noise" in parameters and isinstance(parameters["noise"].default, str | None)


MECHANISMS = [name for name in fg.__all__ if asks_for_noise(getattr(fg, name))]


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_of_a_mechanism_is_one_of_a_few_names(name: str) -> None:
    thing = getattr(fg, name)
    made_by = vars(thing)["__init__"] if isinstance(thing, type) else thing
    hint = get_type_hints(made_by)["noise"]
    names = {name for part in (hint, *get_args(hint)) for name in get_args(part) if isinstance(name, str)}
    assert names
    assert names <= set(LAWS)
    default = inspect.signature(thing).parameters["noise"].default
    assert default in names or (default is None and type(None) in get_args(hint))


OVERLOADED = {  # of which a type checker says only that no variant matches
    "adaptive_sparse_vector": "[1], 1, k=1, epsilon=1",
    "noisy_max": "[1], epsilon=1",
    "noisy_top_k": "[1], 1, epsilon=1",
    "sparse_vector": "[1], 1, k=1, epsilon=1",
}


def test_a_type_checker_refuses_a_law_that_a_mechanism_does_not_know(tmp_path: Path) -> None:
    assert len(MECHANISMS) >= 9
    snippet = tmp_path / "snippet.py"
    modules = {name: getattr(fg, name).__module__ for name in MECHANISMS}
    lines = [f"from {m} import {n}" for n, m in modules.items()]
    lines += [f"{n}(noise='gauss')" for n in modules if n not in OVERLOADED]
    lines += [f"{n}({given}, noise='gauss')" for n, given in OVERLOADED.items()]
    lines += [f"{n}({given}, noise='laplace')" for n, given in OVERLOADED.items()]
    snippet.write_text("\n".join(lines))
    files = {sys.modules[module].__file__ or "" for module in modules.values()}
    files |= {laws.__file__, str(snippet)}
    options = ["--follow-imports=skip", "--cache-dir", str(tmp_path / "cache")]
    told, _, _ = mypy.api.run([*options, *files])
    wrong = [line for line in told.splitlines() if 'Argument "noise"' in line and "Literal['gauss']" in line]
    without = [line for line in told.splitlines() if "snippet.py" in line and "No overload variant" in line]
    assert len(wrong) == len(MECHANISMS) - len(OVERLOADED), told
    assert len(without) == len(OVERLOADED), told


class Told(LabelledNoise[Any]):
    """Noise that is told beforehand, by label; 0 where nothing is."""

    def __init__(self, **noise: Any) -> None:
        self.noise, self.asked = noise, list[Any]()

    def draw(self, law: Law, scale: Any, label: Any = None, **needs: Any) -> Any:
        self.asked.append((law.name, scale, label))
        return self.noise.get(str(label), 0)


@pytest.mark.parametrize(
    ("exponents", "noise", "chosen"),
    [
        ([5, 3, 2], {}, 0),
        ([3, 5, 2], {}, 1),
        ([3, 2, 5], {}, 2),
        ([5, 5, 5], {}, 0),
        ([5, 3, 2], {"('a', 1)": 3}, 1),
        ([5, 3, 2], {"('a', 0)": 3, "('a', 2)": 5}, 0),
        ([7], {}, 0),
    ],
)
def test_a_choice_is_the_largest_exponent_with_its_own_noise(
    exponents: list[int], noise: dict[str, int], chosen: int
) -> None:
    told = Told(**noise)
    assert told.exponential_choice(exponents, "a") == chosen
    assert told.asked == [("gumbel", 1, ("a", place)) for place in range(len(exponents))]


@pytest.mark.parametrize(("drawn", "chosen"), [(0, 0), (1, 0), (2, 1), (4, 1), (5, 2), (9, 2)])
def test_a_choice_by_weights_is_one_uniform_draw(drawn: int, chosen: int) -> None:
    told = Told(a=drawn)
    assert told.choice([2, 3, 5], "a") == chosen
    assert told.asked == [("uniform", 10, "a")]
