"""Programs that draw in rounds until one ends them: what is proved, what is refuted, and what is not read."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, product
from typing import Any

import pytest
import z3

import freegap as fg
from freegap.prover.check import problem_of
from freegap.prover.rounds import rounds_of
from freegap.prover.stopping import _best_of_bound, _renewal, _step
from freegap.symbolic import Limits, NotDecided
from freegap.symbolic.subset import remember_source

HALF = Fraction(1, 2)


def tried(program: Any, epsilon: Any = 1, **options: Any) -> Any:
    options = {"queries": 1, "growth": False, **options}
    return fg.prove(program, epsilon=epsilon, **options)


# What is proved ------------------------------------------------------------------------------------------


def until_above(answers: Any, noise: Any, *, epsilon: Any, factor: int = 2) -> Any:
    """Ilvento 2020, algorithm 6, with noise of ε/2 in each round."""
    for turn in itertools.count():
        item = noise.choice([1] * len(answers), label=("item", turn))
        score = answers[item] + noise.laplace(factor / epsilon, label=("score", turn))
        if score >= 10:
            return item, score
        if noise.coin(0.125, label=("stop", turn)):
            return None


def best_of_many(answers: Any, noise: Any, *, epsilon: Any, factor: int = 3, stop: Any = HALF) -> Any:
    """Ilvento 2020, algorithm 7."""
    best = None
    while True:
        item = noise.choice([1] * len(answers))
        score = answers[item] + noise.laplace(factor / epsilon)
        if best is None or score > best[0]:
            best = (score, item)
        if noise.coin(stop):
            return best[1], best[0]


def truncated(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    """Drawn until it is in the interval: rejection sampling."""
    low, high = 0, 10
    while True:
        value = answers[0] + noise.laplace(2 / epsilon)
        if not low <= value <= high:
            continue
        break
    return value


def stops_by_a_coin(answers: Any, noise: Any) -> Any:
    while True:
        if answers[0] + noise.laplace(1) > 0:
            return True
        if noise.coin(0.5):
            return None


def the_last_of_many(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    """How many rounds there are does not depend on the answers: they cost no more than one."""
    for turn in count():
        value = answers[0] + noise.laplace(1 / epsilon, label=turn)
        if value > 10:
            value = 10.0
        if noise.coin(Fraction(1, 3), label=("stop", turn)):
            return value


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (until_above, {"queries": 2}),
        (best_of_many, {"queries": 2}),
        (truncated, {}),
        (stops_by_a_coin, {"epsilon": 2}),
        (the_last_of_many, {}),
    ],
)
def test_what_is_proved(program: Any, options: Any) -> None:
    options = {"epsilon": 1, **options}
    proof = tried(program, **options)
    assert proof.holds, proof
    assert proof.tightness.epsilon == options["epsilon"]  # no smaller one by this argument
    assert "rounds" in {condition.name for condition in proof.conditions}
    less = {**options, "epsilon": Fraction(9, 10) * options["epsilon"], "counterexample": False}
    if program is stops_by_a_coin:
        assert tried(program, **less).holds is None


def test_a_certificate_has_the_theorem(tmp_path: Any) -> None:
    proof = tried(stops_by_a_coin, 2, certificate=tmp_path / "out")
    assert proof.holds
    assert "rounds: a positive factor can be left out" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_the_theorems_are_confirmed_step_by_step() -> None:
    _renewal(Limits(), always=True)
    _renewal(Limits(), always=False)
    _best_of_bound(Limits())
    x, y = z3.Reals("x y")
    with pytest.raises(NotDecided, match="did not confirm"):
        _step(Limits(), "a product rises with any factor", [x <= y], x * x <= x * y)


# What is refuted -----------------------------------------------------------------------------------------


def test_half_of_it_is_refuted_exactly() -> None:
    """P(None) = (1 − p)/2/(p + (1 − p)/2), for p the chance of being above 0."""
    bad = tried(stops_by_a_coin, HALF).counterexample
    assert bad is not None
    for (answer,), chance in (
        (bad.answers, bad.probability),
        (bad.neighbour, bad.probability_of_neighbour),
    ):
        tail = math.exp(-abs(answer)) / 2
        above = 1 - tail if answer > 0 else tail
        none = (1 - above) / 2 / (above + (1 - above) / 2)
        assert float(chance.lower) == pytest.approx(none if "None" in str(bad.event) else 1 - none, rel=1e-9)


def test_too_little_noise() -> None:
    proof = tried(until_above, queries=2, parameters={"factor": 1}, epsilon=Fraction(1))
    assert proof.holds is not True
    assert not tried(best_of_many, queries=2, parameters={"factor": 2})
    assert not tried(best_of_many, queries=2, neighbours="increasing")
    assert not tried(stops_by_a_coin, 2, neighbours="increasing")


# What is not read, since it is no such program -----------------------------------------------------------


def counts_the_rounds(answers: Any, noise: Any) -> Any:
    rounds = 0
    while True:
        rounds += 1
        if answers[0] + noise.laplace(1) > 0:
            return rounds


def tells_the_turn(answers: Any, noise: Any) -> Any:
    for turn in itertools.count():
        if answers[0] + noise.laplace(1, label=turn) > 0:
            return turn


def _named(label: Any) -> Any:
    return label


def tells_the_turn_by_a_label(answers: Any, noise: Any) -> Any:
    for turn in itertools.count():
        if answers[0] + noise.laplace(1, label=turn) > 0:
            return _named(label=turn)


def remembers(answers: Any, noise: Any) -> Any:
    seen: list[Any] = []
    while True:
        seen.append(answers[0])
        if noise.coin(0.5):
            return seen


def goes_through(answers: Any, noise: Any) -> Any:
    items = iter([1, 0, 1, 1])
    while True:
        if next(items) == 1 and answers[0] > 0:
            return True
        if noise.coin(0.5):
            return False


def eats_the_answers(answers: Any, noise: Any) -> Any:
    while True:
        if noise.coin(0.5):
            return answers[0] + noise.laplace(1)
        answers[0] = 1000 * answers[0]


def eats_them_by_another_name(answers: Any, noise: Any) -> Any:
    while True:
        same = answers
        if noise.coin(0.5):
            return answers[0] + noise.laplace(1)
        same.append(same.pop() * 1000)


def never_ends(answers: Any, noise: Any) -> Any:
    while True:
        if noise.laplace(1) == 0:
            return answers[0] > 0


def noise_before(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(1)
    while True:
        if answers[0] + noise.laplace(1) > bar:
            return bar
        if noise.coin(0.5):
            return None


def handed_on(answers: Any, noise: Any) -> Any:
    while True:
        if noise.coin(0.5):
            told = answers[0]
        if noise.coin(0.5):
            return told


def coin_of_the_answers(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = answers[0] + noise.laplace(100)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(0.5 if answers[0] > 0 else 0.01):
            return best


def coin_that_eats(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = answers[-1] + noise.laplace(100)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(0.5 + 0 * answers.pop()):
            return best


def label_that_eats(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = answers[-1] + noise.laplace(100)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(0.5, label=answers.append(answers[0] * 1000)):
            return best


def best_without_noise(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = answers[0]
        if best is None or score > best[0]:
            best = (score, noise.laplace(1))
        if noise.coin(0.5):
            return best[0]


def best_and_the_answers(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = answers[0] + noise.laplace(100)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(0.5):
            return best, answers[0]


def worse_by_and_by(answers: Any, noise: Any) -> Any:
    best = None
    while True:
        score = (answers[0] if best is None else best[0] * 1000 * answers[0]) + noise.laplace(100)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(0.5):
            return best


def changed_parameter(answers: Any, noise: Any, *, factor: Any = 1) -> Any:
    while True:
        factor = factor * 1000
        if noise.coin(0.5):
            return factor * answers[0] + noise.laplace(1000)


def kept_in_a_default(answers: Any, noise: Any, *, seen: Any = []) -> Any:  # noqa: B006
    while True:
        seen.append(answers[0])
        if noise.coin(0.5):
            return len(seen) > 5


def _three() -> Any:
    return range(3)


def counts_to_three(answers: Any, noise: Any) -> Any:
    for turn in _three():
        if answers[0] + noise.laplace(2, label=turn) > 0:
            return True
    return answers[0]


def leaks_after_a_break(answers: Any, noise: Any) -> Any:
    while True:
        if noise.coin(0.5):
            break
    return answers[0]


def one_round_tells(answers: Any, noise: Any) -> Any:
    while True:
        if noise.coin(0.001):
            return answers[0] > 0
        if noise.coin(0.5):
            return None


def the_end_tells(answers: Any, noise: Any) -> Any:
    """No output is improbable in one round, but an end is what the answers decide."""
    while True:
        if answers[0] > 0:
            return noise.coin(0.5)
        if noise.coin(0.5):
            return None


def label_that_ends_it(answers: Any, noise: Any) -> Any:
    """By an error in the third round, which tells that there were so many."""
    for turn in itertools.count():
        if answers[0] + noise.laplace(1, label=1 // (3 - turn)) > 10:
            return True


def label_of_the_first_rounds(answers: Any, noise: Any) -> Any:
    for turn in itertools.count():
        if answers[0] + noise.laplace(1, label=("a", "b", "c")[turn]) > 10:
            return True


def best_of_nine_at_most(answers: Any, noise: Any) -> Any:
    """The tenth is an error: then nine are nearly always what is put out, each of which costs as much."""
    best = None
    for turn in itertools.count():
        score = answers[0] + noise.laplace(1, label=turn)
        if best is None or score > best[0]:
            best = (score, 0)
        if noise.coin(Fraction(1, 1000), label=("stop", 1 // (9 - turn))):
            return best


_ATTACKS: list[Any] = [
    label_that_ends_it, label_of_the_first_rounds, best_of_nine_at_most,
    counts_the_rounds, tells_the_turn, tells_the_turn_by_a_label, remembers, goes_through, eats_the_answers,
    eats_them_by_another_name, never_ends, noise_before, handed_on, coin_of_the_answers, coin_that_eats,
    label_that_eats, best_without_noise, best_and_the_answers, worse_by_and_by, changed_parameter,
    kept_in_a_default, counts_to_three, leaks_after_a_break, one_round_tells, the_end_tells,
]  # fmt: skip


@pytest.mark.parametrize("program", _ATTACKS)
def test_no_attack_is_proved(program: Any) -> None:
    if rounds_of(problem_of(program, epsilon=5, queries=1)) is None:
        return  # it is followed like any other, without a bound on its rounds
    assert not tried(program, 5, counterexample=False).holds


def test_the_reason_names_the_program() -> None:
    reason = str(tried(eats_the_answers, 5, counterexample=False).reason)
    line = eats_the_answers.__code__.co_firstlineno
    assert f"(a round of eats_the_answers, test_rounds.py:{line})" in reason


def test_what_is_read_is_known() -> None:
    """Which of these are not even read, so that none goes from one to the other unseen."""
    read = {
        f.__name__
        for f in [*_ATTACKS, until_above, best_of_many, truncated]
        if rounds_of(problem_of(f, epsilon=1, queries=1)) is not None
    }
    assert read == {
        "until_above", "best_of_many", "truncated", "never_ends", "leaks_after_a_break", "one_round_tells",
        "the_end_tells", "eats_the_answers", "eats_them_by_another_name", "handed_on",
        "kept_in_a_default",
    }  # fmt: skip


# Random programs -----------------------------------------------------------------------------------------

MOST = 200
"""Beginnings that are gone through, the most probable first."""


class _Script:
    """Coins and choices by a list of places; `chance` is that of these."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places, self.chance = iter(places), 1.0

    def choice(self, weights: Any, label: Any = None) -> int:
        place = next(self.places)
        self.chance *= weights[place] / sum(weights)
        return place


def written(seed: int) -> tuple[str, Any]:
    """A program of rounds with one draw each; about a third hands something on, or is none of these."""
    source = random.Random(seed)
    weights = source.choice(
        ["[1, 3, 1] if x > 0 else [3, 1, 1]", "[356, 4, 40] if x > 0 else [239, 1, 160]", "[2, 1, 1]"]
    )
    values = ["0", "1", "c", "c", "None", "x > 0", "state", "turn"]
    truths = ["c == 1", "c == 2", "c > 0", "c > 0", "x > 0", "turn > 0"]
    head = source.choice(["while True:", "for turn in count():", "for turn in count():"])
    label = ", label=turn" if head.startswith("for") else ""
    lines = ["x = answers[0]"] if source.random() < 0.8 else []
    lines += ["state = 0"] * (source.random() < 0.4)
    body = ["x = answers[0]"] if not lines or lines[0] != "x = answers[0]" else []
    body += [f"c = noise.choice({weights}{label})"]
    if source.random() < 0.2:
        body.append(source.choice(["state += 1", "state = c", "answers[0] = 1 - answers[0]", "late = c"]))
    for _ in range(source.choice([1, 1, 2])):
        told = f"return {source.choice(values)}"
        body += [f"if {source.choice(truths)}:", f"    {source.choice([told, 'break', told])}"]
    body += [source.choice(["pass", "pass", f"return {source.choice(values)}", "if c == 1: continue"])]
    end = (
        [source.choice(["return 2", f"return {source.choice(values)}", "return late"])]
        if source.random() < 0.7
        else []
    )
    text = "\n".join([*lines, head, *(f"    {line}" for line in body), *end])
    text = "def program(answers, noise):\n" + "\n".join(f"    {line}" for line in text.splitlines()) + "\n"
    space: dict[str, Any] = {"count": count}
    remember_source(f"<rounds {seed}>", text)
    exec(compile(text, f"<rounds {seed}>", "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    return text, space["program"]


def law(program: Any, answer: int) -> dict[Any, float]:
    """The probability of each output, as far as the beginnings that are gone through say."""
    found: dict[Any, float] = {}
    ahead: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
    for _ in range(MOST):
        if not ahead:
            break
        _, places = heapq.heappop(ahead)
        script = _Script(places)
        try:
            output = repr(program([answer], script))
        except StopIteration:
            for more in range(3):
                heapq.heappush(ahead, (-script.chance / (1 + len(places)), (*places, more)))
            continue
        except Exception as error:
            output = type(error).__name__
        found[output] = found.get(output, 0.0) + script.chance
    return found


def false_proofs(seeds: range) -> Iterator[str]:
    for seed in seeds:
        text, program = written(seed)
        epsilon = random.Random(seed).choice(
            [Fraction(1, 10**3), Fraction("1.1"), Fraction("1.4"), Fraction("2.8")]
        )
        if rounds_of(problem_of(program, epsilon=epsilon, queries=1)) is None:
            continue
        proof = tried(program, epsilon, counterexample=False, resolution=1)
        if not proof.holds:
            continue
        yield "proved"
        laws = [law(program, answer) for answer in (0, 1)]
        rest = 1 - min(sum(chances.values()) for chances in laws)
        for one, other in product(laws, repeat=2):
            for output, chance in one.items():
                if chance > math.exp(epsilon) * (other.get(output, 0) + rest) + 1e-9:
                    yield f"{output} at ε = {epsilon}: {float(chance)}\n{text}"


def test_no_random_program_is_proved_wrongly() -> None:
    found = list(false_proofs(range(40)))
    assert found.count("proved") >= 5
    assert set(found) == {"proved"}


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 11_000, 1000))
def test_no_random_program_of_many_is_proved_wrongly(start: int) -> None:
    assert set(false_proofs(range(start, start + 1000))) == {"proved"}


def test_a_forgotten_factor_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a price of one round for all of them."""
    monkeypatch.setattr("freegap.prover.stopping._TIMES", 1)
    monkeypatch.setattr("freegap.prover.stopping._renewal", lambda limits, always: None)
    assert any(found != "proved" for found in false_proofs(range(170, 176)))
