"""What `fg.prove` does with its arguments: a given alignment, a search for one, or a form for all n."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from math import isfinite
from time import monotonic
from types import FunctionType, MethodType
from typing import Any, get_args

from freegap.errors import InvalidArgument
from freegap.forms import Aligned, Composition, Ranking, Selection, Stream
from freegap.laws import Law
from freegap.prover.apart import prove_apart
from freegap.prover.check import ROUNDED, ROUNDING, Progress, problem_of, prove_alignment
from freegap.prover.classes import classes_of
from freegap.prover.composition import composed, prove_composition
from freegap.prover.concentrated import prove_concentrated
from freegap.prover.counterexample import find_counterexample
from freegap.prover.flips import prove_flips
from freegap.prover.loop_ties import draws_apart
from freegap.prover.maxima import prove_maximum
from freegap.prover.problem import Problem
from freegap.prover.ranking import prove_ranking
from freegap.prover.registry import LibraryEntry, PrivacyClaim
from freegap.prover.report import Proof, Refutation
from freegap.prover.rounds import rounds_of
from freegap.prover.sampled import sample_alignment
from freegap.prover.schema import Composed, Schema, prove_schema
from freegap.prover.selection import prove_selection
from freegap.prover.softmax import prove_softmax
from freegap.prover.steps import established
from freegap.prover.stopping import find_in_rounds, prove_rounds
from freegap.prover.stream import prove_stream
from freegap.prover.stream_labels import with_own_labels
from freegap.prover.synthesis import synthesise
from freegap.prover.totals import prove_totals
from freegap.prover.unbounded import prove_loop
from freegap.symbolic import Certificate, Limits, NotDecided, OutOfTime, Symbol
from freegap.symbolic.subset.door import NotReadable, read
from freegap.symbolic.symbols import constant
from freegap.values.neighbours import directions_of
from freegap.values.rationals import count_argument

_LIBRARY_SECONDS = 600
_LOOP_SECONDS = 20


def prove_any(
    mechanism: Any,
    alignment: Any,
    *,
    epsilon: Any,
    queries: int | None,
    sensitivity: Any,
    neighbours: str,
    parameters: Any,
    charge: Any,
    resolution: Any,
    tightness: bool,
    growth: bool,
    counterexample: bool,
    seconds: Any,
    certificate: Certificate | None,
    samples: int | None,
    progress: Any,
    rho: Any = None,
) -> Proof:
    """See `freegap.prove`."""
    for_all = isinstance(mechanism, Composition | Selection | Ranking | Stream)
    mechanism = _own_form(mechanism) if for_all else mechanism
    if for_all and queries is not None:
        raise InvalidArgument(
            "queries", queries, "must be left out for a form", "Leave it out: the proof is for every number."
        )
    if for_all and (alignment is not None or charge is not None or parameters):
        raise InvalidArgument(
            "mechanism", mechanism, "is a form, which carries its alignment", "Pass the form alone."
        )
    if progress is not None and not callable(progress):
        raise InvalidArgument("progress", progress, "must be a function", "Leave it out.")
    if not for_all and queries is None:
        raise InvalidArgument("queries", None, "is missing", "Pass for example queries=3.")
    problem = problem_of(
        mechanism.program if for_all else mechanism,
        epsilon=epsilon,
        rho=rho,
        queries=1 if queries is None else queries,
        sensitivity=sensitivity,
        neighbours=neighbours,
        parameters=parameters,
        charge=charge,
        resolution=resolution,
        seconds=seconds,
        certificate=certificate,
    )
    if problem.rho is not None:
        if for_all or not (alignment is charge is samples is None):
            raise InvalidArgument(
                "rho", rho, "is for programs without alignment, charge or samples", "Pass epsilon."
            )
        return _in_rho(problem, problem.rho, growth)
    if isinstance(mechanism, Composition | Selection | Ranking | Stream):
        return _prove_form(problem, mechanism, counterexample=counterexample)
    if alignment is not None:
        problem.require_callable("alignment", alignment, "answers", "neighbour", "output", "noise")
    if samples is not None:
        if alignment is None:
            raise InvalidArgument(
                "samples", samples, "needs an alignment", "Pass the alignment to be tested."
            )
        return sample_alignment(problem, alignment, samples=count_argument("samples", samples))

    def attempt(at: Problem) -> Proof:
        if alignment is None:
            return _without_alignment(at, tightness, progress)
        return prove_alignment(at, alignment, tightness=tightness, progress=progress)

    start = monotonic()
    if growth and alignment is None:
        everywhere = _for_every_size(problem)
        if everywhere is not None:
            return everywhere
    proof = attempt(problem)
    if proof.holds is None and proof.refutation is not None and _is_rounded(problem):
        more = replace(problem, limits=replace(problem.limits, certificate=None))
        if attempt(replace(more, epsilon=problem.epsilon * (1 + ROUNDING))).holds:
            reason = f"with a billionth more of ε it is proved, and not without it: {ROUNDED}"
            proof = replace(proof, reason=reason)
    if not proof.holds and counterexample and proof.counterexample is None:
        return _searched(problem, proof)
    if not (proof.holds and growth):
        return proof
    if alignment is not None:
        everywhere = _for_every_size(replace(problem, limits=replace(problem.limits, certificate=None)))
        if everywhere is not None and everywhere.tightness is None:
            return replace(proof, growth="for all n as well: the rest as one maximum")
        if everywhere is not None and everywhere.tightness is not None:
            smallest = everywhere.tightness.epsilon
            how = "by induction over the loop, with shifts that were found"
            return replace(proof, growth=f"for all n as well, at a smallest ε of {smallest}: {how}")
    within = replace(problem.limits, certificate=None).within(5 + 4 * (monotonic() - start))
    larger = replace(problem, queries=problem.queries + 1, limits=within)
    return replace(proof, growth=_growth(proof, attempt(larger)))


def _in_rho(problem: Problem, rho: Fraction, growth: bool) -> Proof:
    """At this size, and with a warning where one answer more costs more."""
    proof = prove_concentrated(problem, rho)
    if not (proof.holds and growth):
        return proof
    more = prove_concentrated(replace(problem, queries=problem.queries + 1), rho)
    size = f"{more.queries} answers"
    if more.rho is None or proof.rho is None:
        return replace(proof, growth=f"warning: not proved for {size}: {more.reason}")
    if more.rho > proof.rho:
        grows = f"the smallest ρ grows with n, from {proof.rho} to {more.rho} for {size}"
        return replace(proof, growth=f"warning: {grows}")
    return replace(proof, growth=f"for {size} as well, at the same smallest ρ")


def _for_every_size(problem: Problem) -> Proof | None:
    """A proof for all n, where the text is a loop over the answers or a maximum, and one is found soon."""
    soon = replace(problem, limits=problem.limits.within(_LOOP_SECONDS))
    return prove_maximum(soon) or prove_loop(soon)


def _without_alignment(problem: Problem, tightness: bool, progress: Any) -> Proof:
    """By the probabilities themselves, where these are a finite table; else by an alignment that is found."""
    rounds = rounds_of(problem) if problem.charge is None else None
    if rounds is not None:
        return prove_rounds(problem, rounds, lambda one: _without_alignment(one, tightness, progress))
    try:
        classes = classes_of(problem)
        proof = prove_apart(problem, classes)
        proof = prove_softmax(problem, classes) if proof is None else proof
        proof = prove_flips(problem, classes) if proof is None else proof
        if proof is None:
            proof = prove_totals(problem, classes, tightness=tightness, progress=progress)
    except NotDecided:  # the search for an alignment says why
        proof = None
    return synthesise(problem, tightness=tightness, progress=progress) if proof is None else proof


def _searched(problem: Problem, proof: Proof) -> Proof:
    """With a violation of privacy, if one is found: then the mechanism is refuted, not only an alignment."""
    point = proof.refutation if proof.holds is False else None  # of an alignment that was given
    try:
        quiet = replace(problem, limits=replace(problem.limits, certificate=None))
        rounds = rounds_of(quiet) if problem.charge is None else None
        if rounds is not None:
            found = find_in_rounds(quiet, rounds)
        else:
            found = find_counterexample(quiet, classes_of(quiet), proof.refutation)
    except OutOfTime:
        found_none = "no violation of privacy was found when the time limit was reached"
        return replace(proof, searched=f"{found_none}: it is neither proved nor refuted")
    except NotDecided as undecided:
        if str(undecided) == proof.reason:
            return proof
        why = str(undecided).removeprefix("not decided: ")
        return replace(proof, searched=f"a violation of privacy was not looked for: {why}")
    if found is None:
        return replace(proof, searched="no violation of privacy was found: it is neither proved nor refuted")
    point = point or Refutation("privacy", found.answers, found.neighbour, {}, None)
    return replace(proof, holds=False, reason=None, refutation=replace(point, counterexample=found))


def _is_rounded(problem: Problem) -> bool:
    """Whether a parameter looks like a float that was rounded, such as 1/0.3."""
    numbers = [constant(value) for value in problem.parameters.values()]
    return any(number is not None and number.denominator * ROUNDING > 1 for number in numbers)


def _growth(proof: Proof, more: Proof) -> str:
    """What one answer more says: the trap of a bounded size is a mechanism that leaks a little by each."""
    size = f"{more.queries} answers"
    if not more.holds:
        broken = more.refutation.condition if more.refutation is not None else "proof"
        reason = (more.reason or f"the {broken} fails").removeprefix("not decided: ")
        return f"warning: not proved for {size}: {reason}"
    if proof.tightness is None or more.tightness is None:
        return f"proved for {size} as well; whether the smallest ε grows is not known"
    here, there = proof.tightness.epsilon, more.tightness.epsilon
    if there > here:
        return f"warning: the smallest ε grows with n, from {here} to {there} for {size}"
    return f"for {size} as well, at the same smallest ε; for all n, write a Selection or a Stream"


ForAll = Composition | Selection | Ranking | Stream


def _prove_form(problem: Problem, form: ForAll, *, counterexample: bool = False) -> Proof:
    """For all n; where that fails, a bounded size may give a refutation, which is more than a reason."""
    proof = _prove_for_all(problem, form)
    if proof.holds and not draws_apart(form.program, problem.resolution):
        reason = "not decided: two draws of its program have one label, or it fails where it is run"
        return Proof(None, proof.claim, established({}, reason), reason=reason)
    if proof.holds:
        return proof
    first = form.first if isinstance(form, Composition) else form
    sizes = [1, 2, 3] if isinstance(first, Stream) else [first.k + 1, first.k + 2]
    for queries in sizes:
        for direction in directions_of(problem.neighbours):
            at = _towards(form, "each" if direction == "one" else direction)
            local = replace(problem, queries=queries, neighbours=direction, charge=at.charge)
            bounded = prove_alignment(local, at.alignment, tightness=False)
            if bounded.holds is False:
                return _searched(local, bounded) if counterexample else bounded
    return proof


def _own_form(form: Any) -> Any:
    """A form of our own: made anew, and so checked anew, of what Python itself calculates with and of
    functions; that means the same to its program and to a proof."""
    if type(form) not in get_args(ForAll) or vars(form).keys() - {field.name for field in fields(form)}:
        constraint = "is a subclass of a form, or has more attributes: its program may be another"
        raise InvalidArgument("mechanism", form, constraint, "Pass the form itself.")
    given = {}
    for name in (field.name for field in fields(form)):
        value = getattr(form, name)
        try:
            given[name] = _own_form(value) if isinstance(value, ForAll) else _own_part(value)
        except NotReadable:
            constraint = f"has for {name} a {type(value).__name__} that may mean another thing to its program"
            remedy = "Pass functions, whole numbers, finite floats and Fractions."
            raise InvalidArgument("mechanism", form, constraint, remedy) from None
    return type(form)(**given)


def _own_part(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_own_part, value))
    if type(value) in (FunctionType, MethodType, partial) or (type(value) is float and isfinite(value)):
        return value  # read when it is called; a float is the number that its program has
    if type(value) not in (type(None), bool, int, Fraction, str):
        raise NotReadable
    return read(value)


def _prove_for_all(problem: Problem, form: ForAll) -> Proof:
    if isinstance(form, Selection):
        return prove_selection(problem, form)
    if isinstance(form, Stream):
        return prove_stream(problem, with_own_labels(form))
    if isinstance(form, Ranking):
        return prove_ranking(_schema_of(problem, form), problem.neighbours, problem.limits)
    return prove_composition(problem, form, _prove_for_all)


def _towards(form: ForAll, direction: str) -> ForAll:
    """The form with the alignment for one direction of the neighbours."""
    if isinstance(form, Composition):
        first, second = (_towards(part, direction) for part in (form.first, form.second))
        return replace(form, first=first, second=second)  # type: ignore[arg-type]
    return form if isinstance(form, Selection) else replace(form, direction=direction)


def _schema_of(problem: Problem, form: Ranking) -> Schema[Ranking]:
    """The form with its own numbers."""
    count_argument("k", form.k)
    claim = (
        f"the {form.k} largest of n, {form.law} noise, are private at their charge, at most ε = "
        f"{problem.epsilon}, for all n and Δ = {problem.sensitivity}"
    )
    epsilon, delta = Symbol.of(problem.epsilon), Symbol.of(problem.sensitivity)
    return Schema(form, epsilon, delta, (), claim, problem.resolution)


def _prove_schema(schema: Schema[Any] | Composed, neighbours: str, limits: Limits) -> Proof:
    """For all parameters; a `Selection` is proved for all of them whatever its own are."""
    if isinstance(schema, Composed):
        return composed(schema.claim, [_prove_schema(part, neighbours, limits) for part in schema.parts])
    if isinstance(schema.form, Selection):
        epsilon, delta = schema.epsilon.as_constant(), schema.sensitivity.as_constant()
        if epsilon is None or delta is None:
            raise NotDecided("a selection has numbers of its own, and is proved for all others with them")
        problem = Problem(
            schema.form.program, epsilon, 1, delta, neighbours=neighbours, charge=None, limits=limits
        )
        return prove_selection(problem, schema.form)
    prover = prove_ranking if isinstance(schema.form, Ranking) else prove_schema
    return prover(schema, neighbours, limits)


def _same_text(form: Any, schema: Schema[Any] | Composed) -> bool:
    """Whether what is proved for all parameters is what is released: the same functions, on other numbers."""
    if isinstance(schema, Composed):
        parts = [form.first, form.second] if type(form) is Composition else []
        return len(parts) == len(schema.parts) and all(map(_same_text, parts, schema.parts))
    own = all(vars(one).keys() <= {part.name for part in fields(one)} for one in (form, schema.form))
    return (
        own
        and type(form) is type(schema.form) in get_args(ForAll)
        and all(
            _text(getattr(form, part.name)) == _text(getattr(schema.form, part.name)) for part in fields(form)
        )
    )


def _text(part: Any, within: tuple[Any, ...] = ()) -> Any:
    """The code of a function, its module and what it is closed over, a word or a flag; nothing of a number,
    which may be a symbol. What is none of these is equal to nothing."""
    if any(part is outer for outer in within):
        return "itself"
    again = partial(_text, within=(*within, part))
    if isinstance(part, partial):
        return again(part.func), again(part.args), again(tuple(part.keywords.items()))
    if isinstance(part, FunctionType):
        closed = tuple(cell.cell_contents for cell in part.__closure__ or ())
        given = (part.__defaults__, *(part.__kwdefaults__ or {}).items())
        # The same text in another module may read other constants.
        return part.__code__, id(part.__globals__), again(given), again(closed)
    if isinstance(part, tuple):
        return tuple(map(again, part))
    if isinstance(part, Law | bool | str) or part is None:
        return part
    if is_dataclass(part) and not isinstance(part, type):
        return type(part), again(tuple(getattr(part, field.name) for field in fields(part)))
    return "a number" if isinstance(part, Symbol) or constant(part) is not None else object()


def prove_claim(
    entry: LibraryEntry,
    claim: PrivacyClaim,
    *,
    certificate: Certificate | None = None,
    progress: Progress | None = None,
) -> Proof:
    """The proof of one claim of a library."""
    if claim.every_parameter and entry.schema is not None:
        limits = Limits(certificate=certificate).within(_LIBRARY_SECONDS)
        schema = entry.schema(**claim.parameters)
        if not _same_text(entry.form(**claim.parameters), schema):
            reason = f"the schema of {entry.name} is not the text of its form"
            return Proof(None, schema.claim, established({}, reason), reason=reason)
        return _prove_schema(schema, claim.neighbours, limits)
    form = entry.form(**claim.parameters)
    form = form if isinstance(form, Aligned) else _own_form(form)
    problem = problem_of(
        form.program,
        epsilon=claim.epsilon,
        queries=1 if claim.queries is None else claim.queries,
        sensitivity=claim.sensitivity,
        neighbours=claim.neighbours,
        charge=form.charge,
        resolution=claim.resolution,
        seconds=_LIBRARY_SECONDS,
        certificate=certificate,
    )
    if claim.queries is not None:
        return prove_alignment(problem, form.alignment, progress=progress)
    if isinstance(form, Aligned):
        raise InvalidArgument(
            "queries", None, f"is missing, and {entry.name} has no form for all n", "Pass a number."
        )
    return _prove_form(problem, form)
