"""Ordinary programs that are loops over their answers are proved for every n; what is no such loop is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any

import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.prover.check import problem_of
from freegap.prover.loop_ties import is_tied
from freegap.prover.loops import loop_of
from freegap.prover.outputs import flatten
from freegap.prover.unbounded import _plain, prove_loop
from freegap.symbolic.subset import remember_source

HALF = Fraction(1, 2)
_NUMBERS = count()


def written(text: str) -> Callable[..., Any]:
    """The function `program` of a text."""
    file = f"<loop of the tests {next(_NUMBERS)}>"
    remember_source(file, text)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    program: Callable[..., Any] = space["program"]
    return program


def everywhere(program: Any, neighbours: str = "each", epsilon: Any = 1, **parameters: Any) -> Any:
    return prove_loop(
        problem_of(program, epsilon=epsilon, queries=1, neighbours=neighbours, parameters=parameters)
    )


def first_above(answers: Any, noise: Any, *, epsilon: Any, factor: int = 4) -> Any:
    bar = noise.laplace(2 / epsilon, label="threshold")
    for i, answer in enumerate(answers):
        gap = answer + noise.laplace(factor / epsilon, label=i) - bar
        if gap >= 0:
            return i, gap
    return None


def sparse_vector(answers: Any, noise: Any, *, k: int, scale: int) -> Any:
    """Answers by their places, a list of outputs, and an end in the middle."""
    bar, left = noise.laplace(2), k
    flags = []
    for i in range(len(answers)):
        if answers[i] + noise.laplace(scale, label=("answer", i)) < bar:
            flags.append(False)
            continue
        flags.append(True)
        left -= 1
        if left == 0:
            break
    return tuple(flags)


def total(answers: Any, noise: Any, *, scale: Any = 1) -> Any:
    partial = 0
    for answer in answers:
        partial += answer
    return partial + noise.laplace(scale, label="sum")


def histogram(answers: Any, noise: Any, *, scale: Any = 1) -> Any:
    return [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("program", "neighbours", "enough", "too_little", "smallest"),
    [
        (first_above, "each", {}, {"factor": 3}, 1),
        (sparse_vector, "each", {"k": 2, "scale": 8}, {"k": 2, "scale": 7}, 1),
        (sparse_vector, "each", {"k": 1, "scale": 4}, {"k": 2, "scale": 4}, 1),
        (sparse_vector, "monotonic", {"k": 2, "scale": 4}, {"k": 2, "scale": 3}, 1),
        (total, "one", {}, {"scale": HALF}, 1),
        (histogram, "one", {}, {"scale": HALF}, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_loops(program: Any, neighbours: str, enough: Any, too_little: Any, smallest: int) -> None:
    proof = everywhere(program, neighbours, **enough)
    assert proof.holds
    assert proof.queries is None
    assert "on any number of answers" in proof.claim
    assert proof.tightness.epsilon == smallest
    assert "def step_shifts" in proof.alignment_source
    assert everywhere(program, neighbours, **too_little) is None
    if "epsilon" not in program.__code__.co_varnames:
        assert everywhere(program, neighbours, epsilon=Fraction(99, 100), **enough) is None


def test_what_grows_with_n_is_not_proved_for_all() -> None:
    assert everywhere(histogram) is None
    assert everywhere(total) is None


def test_prove_tries_all_n_first() -> None:
    proof = fg.prove(first_above, epsilon=HALF, queries=2)
    assert proof.holds
    assert proof.queries is None
    assert str(proof).startswith("proved: first_above() on any number of answers is private at ε = 1/2")
    bounded = fg.prove(first_above, epsilon=HALF, queries=2, growth=False)
    assert bounded.queries == 2


def test_with_an_alignment_all_n_are_said_beside_it() -> None:
    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        moved = {"threshold": noise["threshold"] + 1}
        if output is not None:
            i = output[0]
            moved[i] = noise[i] + 1 + answers[i] - neighbour[i]
        return moved

    proof = fg.prove(first_above, alignment, epsilon=1, queries=1)
    assert proof.queries == 1
    assert str(proof.growth).startswith("for all n as well, at a smallest ε of 1: by induction over the loop")


class _Noise:
    """Noise in order, whatever its label."""

    def __init__(self, seed: int) -> None:
        self.source = SeededBits(seed)

    def laplace(self, scale: Any, label: Any = None) -> Fraction:
        return Fraction(self.source.bits(12) - 2048, 300)


@pytest.mark.parametrize("program", [first_above, sparse_vector, total, histogram])
def test_the_stream_is_the_program(program: Any) -> None:
    """At five answers, on the same noise: its entries tell the output, the place and the lists included."""
    known: dict[Any, dict[str, Any]] = {
        first_above: {"epsilon": Fraction(1)},
        sparse_vector: {"k": 2, "scale": 8},
    }
    given = known.get(program, {})
    loop = loop_of(program, given)
    assert loop is not None
    for seed in range(20):
        source = SeededBits(100 + seed)
        answers = [Fraction(source.bits(4) - 8) for _ in range(5)]
        output = program(answers, _Noise(seed), **given)
        noise: Any = _Noise(seed)
        state, entries = loop.start(noise), []
        for answer in answers:
            state, entry, stop = loop.step(state, answer, noise)
            entries.append(entry)
            if stop:
                break
        if loop.finish is not None:
            assert output == loop.finish(state, noise)
        elif program is first_above:
            how, value = entries[-1]
            expected = (len(entries) - 1, value[1][1]) if how == "return" else None
            assert output == expected
            assert how == "go" or value[0] == ("place",)
        else:
            assert list(output) == [v for lists, *_ in entries for _, v in lists]
    assert is_tied(loop, program, given, None)


def another(answers: Any, noise: Any) -> Any:
    """Like `histogram`, up to two answers."""
    noisy = [answer + noise.laplace(1, label=i) for i, answer in enumerate(answers)]
    return noisy if len(noisy) < 3 else list(answers)


def test_a_loop_that_is_not_the_program() -> None:
    loop = loop_of(histogram, {})
    assert loop is not None
    assert not is_tied(loop, another, {}, None)
    assert not is_tied(loop, total, {}, None)


LEAKS = {
    "the answer before, which is a name of the step": """
def program(answers, noise):
    out = []
    seen = False
    for a in answers:
        if seen:
            out.append(last)
        last = a
        seen = True
    return out
""",
    "a list that is kept": """
def program(answers, noise):
    box = [0]
    out = []
    for a in answers:
        out.append(box[0] + noise.laplace(1))
        box[0] = a
    return out
""",
    "two names of one list": """
def program(answers, noise):
    box = other = [0]
    out = []
    for a in answers:
        box.append(a)
        out.append(other[-1])
    return out
""",
    "two names of one list, which is put in order again": """
def program(answers, noise):
    box = other = [0]
    out = []
    for a in answers:
        box[0] = a
        out.append(other[0])
        box[0] = 0
    return out
""",
    "raw answers from the fifth on": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        out.append(a if i > 3 else None)
    return out
""",
    "the place in a condition": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        if i == 7:
            out.append(a)
    return out
""",
    "the place in a calculation that is put out": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        out.append(a * (i // 5))
    return out
""",
    "the place in a label with an effect": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        queue = [0, a]
        drawn = noise.laplace(1, label=queue.pop(0))
        out.append(queue[-1] if len(queue) == 1 else None)
    return out
""",
    "the number of answers so far": """
def program(answers, noise):
    out = []
    for a in answers:
        if len(out) == 5:
            out.append(a)
        else:
            out.append(0)
    return out
""",
    "the list as a condition at the end": """
def program(answers, noise):
    seen = 0
    out = []
    for a in answers:
        seen = a
        out.append(0)
    return seen
""",
    "the last answer after the loop": """
def program(answers, noise):
    out = []
    for a in answers:
        out.append(0)
    return a
""",
    "all answers after the loop": """
def program(answers, noise):
    out = []
    for a in answers:
        out.append(0)
    return answers
""",
    "answers before the loop": """
def program(answers, noise):
    first = answers[0]
    out = []
    for a in answers:
        out.append(first)
    return out
""",
    "another answer": """
def program(answers, noise):
    out = []
    for i in range(len(answers)):
        out.append(answers[i - 1])
    return out
""",
    "a place that is assigned": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        i = a
        out.append(i)
    return out
""",
    "a place that is bound in a comprehension": """
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        out.append([i for i in [a]])
    return out
""",
    "enumerate is another function": """
def enumerate(values):
    return [(value, value) for value in values]
def program(answers, noise):
    out = []
    for i, a in enumerate(answers):
        out.append(i)
    return out
""",
    "the list under another name": """
def program(answers, noise):
    out = []
    same = out
    for a in answers:
        same.append(a)
        out.append(0)
    return out
""",
    "a list that was not empty for long": """
def program(answers, noise):
    out = []
    out = [0]
    for a in answers:
        out.append(a)
    return out
""",
    "an else of an inner loop": """
def program(answers, noise):
    out = []
    for a in answers:
        for _ in range(2):
            pass
        else:
            out.append(a)
            break
    return out
""",
    "an iterator that is kept": """
def program(answers, noise):
    steps = iter([0, 0, 0, 0, 1, 1, 1])
    out = []
    for a in answers:
        out.append(a if next(steps) else 0)
    return out
""",
    "an inner function": """
def program(answers, noise):
    out = []
    for a in answers:
        def told():
            return a
        out.append(told())
    return out
""",
    "a counter that is compared much later": """
def program(answers, noise):
    seen = 0
    out = []
    for a in answers:
        seen += 1
        out.append(a if seen > 30 else 0)
    return out
""",
    "a cost of each answer": """
def program(answers, noise):
    out = []
    for a in answers:
        out.append(a + noise.laplace(1))
    return out
""",
    "a draw that is put out twice": """
def program(answers, noise):
    drawn = noise.laplace(1)
    out = []
    for a in answers:
        out.append(a + drawn)
    return out
""",
    "noise under another name": """
def program(answers, noise):
    noise = 0
    out = []
    for a in answers:
        out.append(a)
    return out
""",
    "a loop in a loop": """
def program(answers, noise):
    out = []
    for a in answers:
        for b in answers:
            out.append(a - b)
    return out
""",
    "two loops": """
def program(answers, noise):
    out = []
    for a in answers:
        out.append(0)
    for a in answers:
        out.append(a)
    return out
""",
    "an else of the loop": """
def program(answers, noise):
    out = []
    for a in answers:
        out.append(0)
    else:
        out.append(a)
    return out
""",
    "a filter": """
def program(answers, noise):
    return [0 for a in answers if a > 0]
""",
}  # fmt: skip


@pytest.mark.usefixtures("each_guard")
@pytest.mark.parametrize("leak", LEAKS)
def test_nothing_is_proved_of_what_leaks(leak: str) -> None:
    assert everywhere(written(LEAKS[leak]), epsilon=5) is None


@pytest.mark.parametrize(("state", "plain"), [((1, (True, "a")), True), ((1, [2]), False), ((1, {}), False)])
def test_a_state_holds_nothing_that_two_names_share(state: Any, plain: bool) -> None:
    assert _plain(flatten(state)[0]) == plain


@pytest.mark.usefixtures("each_guard")
@pytest.mark.parametrize("less", ["scale", "scale / 1000"])
def test_a_parameter_that_is_assigned(less: str) -> None:
    """It would have its first value again in each round."""
    text = f"""
def program(answers, noise, scale=1):
    out = []
    for a in answers:
        out.append(a + noise.laplace(scale))
        {"" if less == "scale" else "scale = "}{less}
    return out
"""
    assert (everywhere(written(text), "one") is None) == (less != "scale")


NOTHING = (
    "    return [0 for a in answers]\n",
    "    out = []\n    for i, a in enumerate(answers):\n        out.append((i, 0))\n    return out\n",
    """    out = []
    for a in answers:
        for _ in range(2):
            if _ == 1:
                break
        else:
            out.append(a)
    return out
""",
)


@pytest.mark.parametrize("body", NOTHING)
def test_what_tells_nothing_is_proved_all_the_same(body: str) -> None:
    """So that the leaks above are not refused for their looks alone."""
    proof = everywhere(written(f"def program(answers, noise):\n{body}"), epsilon=Fraction(1, 10**6))
    assert proof is not None
    assert proof.tightness.epsilon == 0
