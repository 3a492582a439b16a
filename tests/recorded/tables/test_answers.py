"""What is asked of a table is answered as it was, to the letter; and every argument makes a difference."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.tables.forecast import forecast_above, forecast_top_k, forecast_watch
from freegap.tables.histogram_forecast import forecast_histogram
from freegap.tables.quantiles_forecast import forecast_quantiles
from tests.recorded.tables.answers import QUESTIONS, kept, read
from tests.recorded.tables.rows import files
from tests.recorded.tables.told import answer

ANSWERS = read()
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "top_k": fg.top_k,
    "above": fg.above,
    "histogram": fg.histogram,
    "quantiles": fg.quantiles,
    "dry run of top_k": forecast_top_k,
    "dry run of above": forecast_above,
    "dry run of histogram": forecast_histogram,
    "dry run of quantiles": forecast_quantiles,
    "dry run of watch": forecast_watch,
}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("answers")
    files(made)
    return made


def test_every_question_has_an_answer() -> None:
    assert {group: list(answers) for group, answers in ANSWERS.items()} == {
        group: list(questions) for group, questions in QUESTIONS.items()
    }


@pytest.mark.parametrize("group", QUESTIONS)
def test_the_answers_are_what_they_were(group: str, place: Path) -> None:
    for name, ask in QUESTIONS[group].items():
        found = answer(ask, place)
        assert kept(found) == ANSWERS[group][name], f"{group}: {name}\n{json.dumps(found, indent=1)[:4000]}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_argument_makes_a_difference(function: str) -> None:
    """In each way of calling it, some other value of each argument has another answer, by digest."""
    wanted = [name for name in inspect.signature(FUNCTIONS[function]).parameters if name != "table"]
    for group, answers in ANSWERS.items():
        if group.partition(", ")[0] != function or ", measured, " in group:
            continue
        as_it_is = answers["as it is"].split()[0]
        other = {name for name, said in answers.items() if said.split()[0] != as_it_is}
        silent = [name for name in wanted if not any(f", {name}=" in f", {one}" for one in other)]
        assert [name for name in silent if not _needs_no_say(group, name)] == [], group


def _needs_no_say(group: str, argument: str) -> bool:
    """A dry run does not look at a threshold, but of unknown items, whose noise does not depend on k; and a
    row is in one group."""
    if group.startswith("dry run of above"):
        return argument == ("k" if "unknown" in group else "threshold")
    return group == "quantiles, in groups, of rows" and argument == "one_group_per_person"
