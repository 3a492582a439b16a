"""No program that leaks is proved, however it hides the leak; nor by an alignment that cheats."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.forms import Change, Composition, Selection, Stream
from freegap.prover.registry import LibraryEntry, PrivacyClaim
from freegap.prover.routes import prove_claim
from freegap.prover.schema import Composed
from freegap.symbolic import real
from freegap.symbolic.subset import Trusted

from .attacks import ATTACKS
from .more_attacks import MORE_ATTACKS
from .stranger_attacks import STRANGER_ATTACKS

pytestmark = pytest.mark.usefixtures("without_search")

TINY = Fraction(1, 10**6)


def stay(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {}


def name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


@pytest.mark.parametrize("program", ATTACKS, ids=name_of)
def test_attacks(program: Callable[..., Any]) -> None:
    proof = fg.prove(program, stay, epsilon=TINY, queries=1, growth=False, tightness=False)
    assert proof.holds is not True, str(proof)
    assert proof.refutation is not None or proof.reason


@pytest.mark.parametrize("program", ATTACKS, ids=name_of)
def test_attacks_without_an_alignment(program: Callable[..., Any]) -> None:
    assert fg.prove(program, epsilon=TINY, queries=1, growth=False, tightness=False).holds is not True


@pytest.mark.parametrize("program", MORE_ATTACKS, ids=name_of)
def test_more_attacks(program: Callable[..., Any]) -> None:
    """What one of them tells is certain, or has too little noise for ε = 1."""
    assert fg.prove(program, stay, epsilon=TINY, queries=1, growth=False, tightness=False).holds is not True
    found = fg.prove(program, epsilon=1, queries=1, growth=False, tightness=False)
    assert found.holds is not True
    assert found.refutation is not None or found.reason


@pytest.mark.usefixtures("each_guard")
@pytest.mark.parametrize("program", STRANGER_ATTACKS, ids=name_of)
def test_stranger_attacks(program: Callable[..., Any]) -> None:
    """At a size, and for all n first, where the text is that of a loop."""
    for alignment in (stay, None):
        growth = alignment is None
        proof = fg.prove(
            program, alignment, epsilon=TINY, queries=1, neighbours="one", tightness=False, growth=growth
        )
        assert proof.holds is not True, str(proof)
        assert proof.refutation is not None or proof.reason


def test_a_parameter_that_is_put_out() -> None:
    """Whoever passed a list can tell it from a copy."""

    def given_back(answers: Any, noise: Any, *, weights: Any) -> Any:
        return weights if answers[0] > 0 else list(weights)

    proof = fg.prove(given_back, epsilon=TINY, queries=1, parameters={"weights": [1, 2]})
    assert proof.holds is not True


def noisy(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.laplace(1, label="x")


def verdict(program: Any, alignment: Any, **arguments: Any) -> Any:
    """What came out, or the argument that was refused."""
    try:
        return fg.prove(program, alignment, queries=1, **arguments).holds
    except InvalidArgument as error:
        return error.argument


FOREIGN = real("answers[0]")


@pytest.mark.parametrize(
    "alignment",
    [
        lambda answers, neighbour, output, noise: {"x": FOREIGN},
        lambda answers, neighbour, output, noise: {"x": noise["x"] + real("aligned['x']")},
        lambda answers, neighbour, output, noise: {"x": SimpleNamespace(value=0)},
        lambda answers, neighbour, output, noise: {"x": noise["x"] + float("inf")},
        lambda answers, neighbour, output, noise: {"x": str(noise["x"])},
        lambda answers, neighbour, output, noise: {**noise, "x": None},
        lambda answers, neighbour, output, noise: noise.setdefault("x", 0),
        lambda answers, neighbour, output, noise: (
            {"x": noise["x"] + answers[0] - neighbour[0]} if id(noise) else {}
        ),
    ],
)
def test_alignments_that_name_what_they_may_not(alignment: Any) -> None:
    assert verdict(noisy, alignment, epsilon=TINY) in ("alignment", None, False)


CHARGES: list[Any] = []


def growing(output: Any) -> Any:
    CHARGES.append(1)
    return len(CHARGES)


@pytest.mark.parametrize(
    "charge", [growing, lambda output: float(str(output)), lambda output: "1", lambda output: None]
)
def test_charges_that_are_none(charge: Any) -> None:
    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {"x": noise["x"] + answers[0] - neighbour[0]}

    assert verdict(noisy, alignment, epsilon=1, charge=charge) in ("charge", None, False)


class Tricky(int):
    def __gt__(self, other: Any) -> bool:
        return True


class Sneaky(Fraction):
    pass


@pytest.mark.parametrize(
    "value",
    [Tricky(1), Sneaky(1), [1], {"a": 1}, {1}, object(), lambda: 0, FOREIGN, float("nan"), bytearray(1), 1j],
)
def test_parameters_that_can_change_or_hide_something(value: Any) -> None:
    def program(answers: Any, noise: Any, *, extra: Any) -> Any:
        return answers[0] if extra else 0

    proof = fg.prove(program, stay, epsilon=TINY, queries=1, parameters={"extra": value})
    assert proof.holds is not True


def test_a_file_that_was_changed_after_its_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "changed_later.py"
    file.write_text("def program(answers, noise):\n    return answers[0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import changed_later  # type: ignore[import-not-found]

    file.write_text("def program(answers, noise):\n    return 0\n")
    linecache.checkcache()
    proof = fg.prove(changed_later.program, stay, epsilon=TINY, queries=1)
    assert proof.holds is None
    assert "is not what runs" in str(proof.reason)


def test_what_has_no_source() -> None:
    space: dict[str, Any] = {}
    exec("def program(answers, noise):\n    return 0\n", space)  # noqa: S102
    proof = fg.prove(space["program"], stay, epsilon=TINY, queries=1)
    assert "source" in str(proof.reason)


# Forms ---------------------------------------------------------------------------------------------


def test_pieces_of_the_prover() -> None:
    """What one of them means is what it says, and not what it does."""
    program = Trusted(lambda machine, answers, noise: 0, lambda answers, noise: int(answers[0] > 10**6))
    assert verdict(program, None, epsilon=TINY) == "mechanism"
    assert verdict(noisy, program, epsilon=TINY) == "alignment"
    assert verdict(noisy, None, epsilon=TINY, charge=program) == "charge"
    released = Trusted(lambda machine, value, following: 0, lambda value, following: int(value > 10**6))
    taken = Trusted(lambda machine, *given: (0, 0, False), lambda state, answer, noise: (0, answer, False))
    for form in (stream(taken), Selection(1, "laplace", 2, released, lambda *given: 0)):
        with pytest.raises(InvalidArgument, match="another thing to its program"):
            fg.prove(form, epsilon=1)


def test_a_stream_that_releases_the_previous_answer() -> None:
    last = [Fraction(0)]

    def step(state: Any, answer: Any, noise: Any) -> Any:
        before = last[0]
        last[0] = answer
        return state, before, False

    form = Stream(lambda noise: 0, step, lambda direction: {}, lambda *given: {})
    proof = fg.prove(form, epsilon=TINY)
    assert proof.holds is None
    assert "the outer name last" in str(proof.reason)


def stream(step: Any, shifts: Any = lambda *given: {}) -> Stream:
    return Stream(lambda noise: 0, step, lambda direction: {}, shifts)


@pytest.mark.parametrize(
    "step",
    [
        lambda state, answer, noise: (state, str(answer), False),
        lambda state, answer, noise: (state, True if answer > 0 else 1, False),
        lambda state, answer, noise: (answer, None, False),
        lambda state, answer, noise: (state, None, answer > 0),
        lambda state, answer, noise: (state, None, "stop"),
        lambda state, answer, noise: (
            state,
            Fraction(3) if answer > 0 else noise.geometric(1, label="x") * 1,
            False,
        ),
        lambda state, answer, noise: (1 if answer > 0 else 1.0, None, False),
        lambda state, answer, noise: ((answer > 0) == True, None, False),  # noqa: E712
    ],
)
def test_streams_that_leak(step: Any) -> None:
    assert fg.prove(stream(step), epsilon=TINY).holds is not True


@pytest.mark.parametrize(
    "release",
    [
        lambda value, following: value,
        lambda value, following: round(value),
        lambda value, following: value / following,
        lambda value, following: str(value),
        lambda value, following: 1 if value > 1 else True,
        lambda value, following: 1 if value > 1 else 1.0,
        lambda value, following: SimpleNamespace(value=value),
        lambda value, following: type(value).__name__ + str(value > 0),
    ],
)
def test_selections_that_leak(release: Any) -> None:
    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        return item.answer - item.neighbour + best - (runner_up.answer + runner_up.noise)

    assert fg.prove(Selection(1, "laplace", 2, release, shift), epsilon=1).holds is not True


def nothing(entry: Any) -> int:
    return 0


def raw(state: Any, answer: Any, noise: Any) -> Any:
    return state, answer, False


def test_a_schema_of_another_text() -> None:
    """What is proved for all parameters is what is released, or nothing is: the same code, on symbols."""
    named = {entry.name: entry for entry in LIBRARY}
    others: dict[str, dict[str, Any]] = {
        "sparse vector": {"step": raw},
        "measure": {"entry_charge": lambda entry: 0},
        "hybrid sparse vector": {"lift": lambda direction: 0},
        "noisy top-k, ties broken by place": {"law": "laplace"},
        "base-2 sparse vector with gap": {"place_alone": False},
    }
    for name, changes in {**others, "sparse vector, then measure": {"second": raw_measure()}}.items():
        entry = named[name]
        other = replace(entry, form=partial(changed_form, entry, changes))
        proof = prove_claim(other, entry.claims[0])
        assert proof.holds is None
        assert "is not the text of its form" in str(proof.reason)


def test_a_schema_that_is_closed_over_something_else() -> None:
    """The code is the same; what it calls is not."""
    (entry,) = (entry for entry in LIBRARY if entry.name == "measure")
    claim = entry.claims[0]
    assert entry.schema is not None
    schema: Any = entry.schema(**claim.parameters)
    honest = replace(schema.form, step=passed_on(schema.form.step))
    for step in (passed_on(raw), partial(passed_to, raw)):
        other = replace(
            entry,
            form=partial(changed_form, entry, {"step": step}),
            schema=lambda **given: replace(schema, form=honest),
        )
        assert prove_claim(other, claim).holds is None
    same = passed_on(entry.form(**claim.parameters).step)  # type: ignore[union-attr]
    other = replace(
        entry,
        form=partial(changed_form, entry, {"step": same}),
        schema=lambda **given: replace(schema, form=honest),
    )
    assert prove_claim(other, claim).holds


class Raw(Stream):
    """A form in all its fields; its program is another."""

    def program(self, answers: Any, noise: Any) -> list[Any]:
        return list(answers)


def test_a_form_whose_program_is_another() -> None:
    (entry,) = (entry for entry in LIBRARY if entry.name == "measure")
    claim = next(claim for claim in entry.claims if claim.every_parameter)
    form: Any = entry.form(**claim.parameters)
    hidden = Raw(**{field.name: getattr(form, field.name) for field in fields(form)})
    for mechanism in (hidden, Composition(hidden, form, budgets=(1, 1))):
        with pytest.raises(InvalidArgument, match="a subclass of a form"):
            fg.prove(mechanism, epsilon=2)
    changed: Any = entry.form(**claim.parameters)
    object.__setattr__(changed, "program", lambda answers, noise: list(answers))
    with pytest.raises(InvalidArgument, match="has more attributes"):
        fg.prove(changed, epsilon=2)
    assert prove_claim(replace(entry, form=lambda **given: changed), claim).holds is None
    assert entry.schema is not None
    schema: Any = entry.schema(**claim.parameters)
    other = replace(
        entry,
        form=lambda **given: hidden,
        schema=lambda **given: replace(
            schema, form=Raw(**{field.name: getattr(schema.form, field.name) for field in fields(form)})
        ),
    )
    assert prove_claim(other, claim).holds is None


def passed_on(inner: Any) -> Any:
    return lambda state, answer, noise: inner(state, answer, noise)


def passed_to(inner: Any, state: Any, answer: Any, noise: Any) -> Any:
    return inner(state, answer, noise)


def changed_form(entry: LibraryEntry, changes: dict[str, Any], **given: Any) -> Any:
    form: Any = entry.form(**given)
    return replace(form, **changes)


def raw_measure() -> Stream:
    return Stream(lambda noise: None, raw, lambda direction: {}, lambda *context: {})


FOR_ALL = [(entry, claim) for entry in LIBRARY for claim in entry.claims if claim.queries is None]


@pytest.mark.parametrize(
    ("entry", "claim"), FOR_ALL[::3], ids=[entry.title(claim) for entry, claim in FOR_ALL[::3]]
)
def test_a_charge_of_nothing_for_all_n(entry: LibraryEntry, claim: PrivacyClaim) -> None:
    """Every claim for all n is at the charge of each output: with that charge gone, or cut, it is none."""

    def cheaper(form: Any) -> Any:
        if isinstance(form, Selection):
            return replace(form, item_charge=Fraction(9, 10) * claim.epsilon / form.k)
        free = {"entry_charge": nothing} if isinstance(form, Stream) else {"item_charge": 0}
        return replace(form, start_charge=0, **free)

    def made(**given: Any) -> Any:
        assert entry.schema is not None
        schema = entry.schema(**given)
        if isinstance(schema, Composed):
            *parts, last = schema.parts
            return replace(schema, parts=(*parts, replace(last, form=cheaper(last.form))))
        return replace(schema, form=cheaper(schema.form))

    def cheap(**given: Any) -> Any:
        form = entry.form(**given)
        return replace(form, second=cheaper(form.second)) if isinstance(form, Composition) else cheaper(form)

    changed = replace(entry, form=cheap)
    if entry.schema is not None:
        changed = replace(changed, schema=made)
    proof = prove_claim(changed, claim)
    assert proof.holds is not True
    assert "the text of its form" not in str(proof.reason)


class Liar(int):
    """One, and ten million to whoever asks."""

    numerator = 10**7


class LiarLaw(str):
    """Another law than the one that is found by its name."""

    def __hash__(self) -> int:
        return hash("laplace")

    def __eq__(self, other: object) -> bool:
        return other == "laplace"


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": Liar(1)},
        {"law": LiarLaw("uniform")},
        {"threshold": float("nan"), "item_charge": 1},
        {"threshold": "5", "item_charge": 1},
        {"last": 3},  # tells how far what was not selected is apart
    ],
    ids=str,
)
def test_a_form_of_things_that_are_not_what_they_seem(changes: dict[str, Any]) -> None:
    def gap(value: Any, following: Any) -> Any:
        return value - following

    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        return item.answer - item.neighbour + best - (runner_up.answer + runner_up.noise)

    honest = Selection(1, "laplace", 2, gap, shift)
    assert fg.prove(honest, epsilon=1).holds
    assert form_verdict(honest, changes) in ("mechanism", "last", None)


def form_verdict(form: Selection, changes: dict[str, Any]) -> Any:
    try:
        return fg.prove(replace(form, **changes), epsilon=1).holds
    except InvalidArgument as error:
        return error.argument


def test_a_resolution_that_leaves_no_neighbours() -> None:
    """Then everything would be proved; and what answers are multiples of is part of the claim."""

    def told(answers: Any, noise: Any) -> Any:
        return answers[0]

    def measured(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.discrete_laplace(1, label="x")

    assert verdict(told, None, epsilon=TINY, sensitivity="1/2", resolution=1) == "resolution"
    proof = fg.prove(measured, epsilon=1, queries=1, sensitivity="3/2", resolution=1, growth=False)
    assert proof.holds
    assert proof.claim.endswith("(3/2), for whole multiples of 1")
