"""`audit` and `assert_private`: search, confirm, shrink, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from freegap.auditor.claims import claim_argument
from freegap.auditor.device import Device
from freegap.auditor.device_runs import DeviceSource
from freegap.auditor.device_stages import DeviceStages
from freegap.auditor.inputs import LENGTHS, own_pairs, table_pairs
from freegap.auditor.mechanism import Mechanism, freeze, must_be_given
from freegap.auditor.parameters import MOST_CANDIDATES, Proposals, numbers_found, parameter_grid
from freegap.auditor.plan import Plan, shared_out
from freegap.auditor.programs import positive
from freegap.auditor.report import AuditReport
from freegap.auditor.sampling import OutputSource, Progress, Workers, runs_within
from freegap.auditor.stages import Stages, deviations
from freegap.auditor.trace import trace as trace_mechanism
from freegap.auditor.whole_inputs import Relation
from freegap.errors import InvalidArgument, PrivacyViolated, printable
from freegap.values.neighbours import Neighbours, neighbours_argument
from freegap.values.rationals import Rational, double, proper_fraction, whole

EVENT_KINDS = ("floating-point", "learned")
MOST_RUNS = 10**10
MOST_LENGTH = 10**6
MOST_SEED = 2**128
LEAST_MEMORY, MOST_MEMORY = 2**20, 2**40


def audit(
    mechanism: Callable[..., Any],
    *,
    epsilon: Rational | None = None,
    delta: Rational | None = None,
    rho: Rational | None = None,
    alpha: Rational | None = None,
    renyi: Rational | None = None,
    mu: Rational | None = None,
    tradeoff: Callable[[float], float] | None = None,
    neighbours: Neighbours | Relation = "each",
    sensitivity: Rational = 1,
    parameters: Mapping[str, Any] | None = None,
    inputs: Any = None,
    lengths: Iterable[int] = LENGTHS,
    vectorized: bool | None = None,
    scalar: Callable[..., Any] | None = None,
    samples: int = 500_000,
    search_samples: int = 100_000,
    confidence: Rational = "0.999999",
    stop_early: bool = True,
    patience: int = 16,
    deep: bool = False,
    trace: bool = False,
    shrink: bool = True,
    leave_out: Iterable[str] = (),
    device: Any = None,
    device_memory: int | None = None,
    jobs: int = 0,
    run_limit: Rational | None = 10,
    time_limit: Rational | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> AuditReport:
    """Search for a counterexample to the claim that a mechanism is private, in the measure of its claim.

    mechanism: a callable whose first argument is the list of answers, and whose second is `noise`, as in a
        program for `freegap.prove`, or that has a parameter `rng`; see `freegap.auditor.mechanism`.
    epsilon, delta: the ε that the mechanism claims, and the δ beside it.
    rho: the ρ of zero-concentrated privacy that it claims instead.
    alpha, renyi: or a bound on the Rényi divergence of order α.
    mu: or the μ of Gaussian privacy.
    tradeoff: or a trade-off curve: for the chance of a false alarm, the least chance to miss.
    neighbours: what one person can do to the answers: move "each" by at most the sensitivity, move "one", or
        move all the same way ("monotonic"). Or a function of two inputs that says whether they are
        neighbours: then `inputs` may be pairs of anything that the mechanism takes.
    sensitivity: how much one person can change an answer.
    parameters: of the mechanism, by name; those without a default that are not given are found.
    inputs: your own pairs of neighbouring inputs, a function of an rng, or a hypothesis strategy.
    lengths: of the inputs to try.
    vectorized: the mechanism takes `size` and returns that many outputs; detected by default.
    scalar: the same mechanism as ordinary Python code, one run at a time, whose source is analysed for
        good values of its parameters; by default the mechanism itself, unless it is vectorised.
    samples: runs on each input that confirm a finding.
    search_samples: runs on each input in the last round of the search.
    confidence: of the verdict and of the bound.
    stop_early: stop as soon as a violation is certain; False for the tightest bound.
    patience: up to how many times as many runs confirm a finding that looks like a violation, but is not
        certain after `samples`; 1 for none, as on a device, where `samples` can be as many as are wanted.
    deep: where nothing was found, look again for rarer events, with up to sixteen times the samples.
    trace: record what is drawn on neighbours, and report where control flow, the number or width of draws, or
        what is noised differs by more than the claim allows (`freegap.auditor.trace`).
    shrink: make the counterexample minimal.
    leave_out: kinds of events not to look for: "floating-point" (to see what else there is in a mechanism
        that computes in doubles) or "learned".
    device: where the runs are made: "cuda" (by PyTorch, CuPy or JAX), "cpu" (by NumPy), or an array library;
        for mechanisms that are vectorised in the array API standard, and programs of labelled noise.
    device_memory: bytes that the arrays of a batch may take there.
    jobs: worker processes (threads for vectorised mechanisms); 0 for one per processor.
    run_limit: seconds that a single run may take.
    time_limit: seconds that the audit should take, for slow mechanisms: decides about `samples`,
        `search_samples` and `patience`, and ends the audit when they are over.
    seed: replays an audit of a mechanism that takes an rng.
    progress: a progress bar; by default, on a terminal.

    >>> import freegap as fg
    >>> def no_noise(answers):
    ...     return sum(answers)
    >>> report = fg.audit(no_noise, epsilon=1, samples=2000, search_samples=500, seed=1, jobs=1)
    >>> report.violated, report.deterministic, report.counterexample.event.text
    (True, True, 'output = 1')

    One text for the audit and for the proof:

    >>> def noisy_sum(answers, noise, *, epsilon):
    ...     return sum(answers) + noise.laplace(1 / epsilon)
    >>> settings = {"epsilon": 1, "samples": 2000, "search_samples": 500, "seed": 1, "jobs": 1}
    >>> fg.audit(noisy_sum, neighbours="one", **settings).violated
    False
    """
    claim = claim_argument(
        epsilon=epsilon, delta=delta, rho=rho, alpha=alpha, renyi=renyi, mu=mu, tradeoff=tradeoff
    )
    relation = _relation(neighbours, inputs)
    change = positive("sensitivity", sensitivity)
    step = int(change) if change.is_integer() else change  # whole answers stay whole
    level = 1 - inside("confidence", confidence)
    at_least("samples", samples, 100)
    at_least("search_samples", search_samples, 50)
    at_least("patience", patience, 1)
    at_least("jobs", jobs, 0)
    limit = None if run_limit is None else positive("run_limit", run_limit)
    seconds = None if time_limit is None else positive("time_limit", time_limit)
    left_out = event_kinds("leave_out", leave_out)
    entropy = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if seed is None else seed
    at_least("seed", entropy, 0, MOST_SEED)
    wrapped = Mechanism.of(
        mechanism,
        claimed=claim.claimed,
        sensitivity=step,
        parameters=parameters,
        vectorized=vectorized,
    )
    pairs = (
        table_pairs(relation, lengths=lengths_argument(lengths), sensitivity=step)
        if inputs is None
        else own_pairs(inputs, neighbours=neighbours, sensitivity=step, seed=entropy)
    )
    takes_size = wrapped.vectorized
    longest = max((pair for pair in pairs if not pair.far), key=lambda pair: len(pair.first))
    grid = parameter_grid(wrapped.found, longest, change / claim.scale)
    for name in numbers_found(wrapped.found):
        here = dict(grid[0])
        moved = freeze({**here, name: here[name] + 1.5})
        if wrapped.first_draw(longest.first, grid[0]) != wrapped.first_draw(longest.first, moved):
            raise must_be_given(name, "the scale of the noise depends on it")
    wrapped = wrapped.tried(longest.first, grid[0], limit)
    source = OutputSource(wrapped, entropy, limit)
    candidates = MOST_CANDIDATES
    if seconds is not None and wrapped.one_by_one:
        fitting = runs_within(seconds, source.pace(pairs[0].first, grid[0]), jobs or -1)
        samples, search_samples, patience, candidates = shared_out(fitting, samples, search_samples)
    there = None if device is None else on_device(device, device_memory, wrapped, entropy)
    kind = Stages if there is None else partial(DeviceStages, on=there, seconds=seconds, deep=deep)
    if there is not None:
        patience = 1
    run = kind(
        source=source,
        workers=Workers(jobs or -1, wrapped.vectorized, limit, module=getattr(mechanism, "__module__", None)),
        plan=Plan(
            search_samples,
            samples,
            deviations(level, patience),
            claim,
            patience,
            costly=not wrapped.vectorized,
            tight=not stop_early,
            floating="floating-point" not in left_out and there is None,
            learned="learned" not in left_out and there is None,
        ),
        claim=claim,
        alpha=level,
        neighbours=relation,
        sensitivity=change,
        pairs=pairs,
        stop_early=stop_early,
        proposals=Proposals(
            wrapped, pairs, change / claim.scale, scalar or (None if takes_size else mechanism), candidates
        ),
    )
    with Progress(progress, run.workers, seconds) as shown:
        report = run.report(shown, deep=deep, shrink=shrink)
    if not trace:
        return report
    found = tuple(trace_mechanism(wrapped, pairs, change / claim.scale, claim, limit))
    return replace(report, trace=found)


def assert_private(mechanism: Callable[..., Any], **settings: Any) -> AuditReport:
    """Raise `PrivacyViolated`, an AssertionError, if an audit finds a counterexample. For test suites.

    It takes what `audit` takes.

    >>> import freegap as fg
    >>> def coin(answers, rng):
    ...     return bool(rng.integers(2))
    >>> fg.assert_private(coin, epsilon=1, samples=2000, search_samples=500, seed=1, jobs=1).violated
    False
    """
    report = audit(mechanism, **settings)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.violated:
        raise PrivacyViolated(str(report), report)
    return report


# What a caller passes in: a bad value is refused before anything runs ------------------------------------


def _relation(neighbours: Any, inputs: Any) -> str:
    """The kind of neighbours, or the name of the relation that was given."""
    if not callable(neighbours):
        neighbours_argument(neighbours)
        return str(neighbours)
    if inputs is None:
        raise InvalidArgument(
            "inputs",
            None,
            "is missing where `neighbours` is a relation",
            "Pass pairs of inputs, a function of an rng that returns one, or a hypothesis strategy of pairs.",
        )
    return printable(str(getattr(neighbours, "__name__", type(neighbours).__name__)))


def on_device(device: Any, memory: int | None, mechanism: Mechanism, seed: int) -> DeviceSource:
    """Where the runs are made."""
    if memory is not None:
        at_least("device_memory", memory, LEAST_MEMORY, MOST_MEMORY)
    if not mechanism.vectorized or mechanism.noise is None:
        raise InvalidArgument(
            "device",
            str(device),
            "needs a mechanism that makes many runs at once from noise that it is given",
            "Give it the parameters `rng` and `size`, or write it as a program of labelled noise.",
        )
    return DeviceSource(mechanism, Device.of(device, memory), seed)


def inside(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1, as a double."""
    remedy = "Pass for example 0.999."
    number = double(proper_fraction(argument, value, remedy))
    if not 0 < number < 1:
        raise InvalidArgument(argument, value, "is too near to 0 or 1 for a double", remedy)
    return number


def at_least(argument: str, value: Any, least: int, most: int = MOST_RUNS) -> None:
    """Refuse what is not a whole number, too small a one, or one that cannot be meant."""
    number = None if isinstance(value, bool) else whole(value)
    if number is None or not least <= number <= most:
        raise InvalidArgument(
            argument,
            value,
            f"must be a whole number from {least} to {most}",
            f"Pass {argument}={least} or more.",
        )


def event_kinds(argument: str, value: Any) -> frozenset[str]:
    """Kinds of events that can be left out."""
    given = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    for kind in given:
        if kind not in EVENT_KINDS:
            known = ", ".join(EVENT_KINDS)
            raise InvalidArgument(argument, kind, "is not a kind of event", f"Known: {known}.")
    return frozenset(given)


def lengths_argument(lengths: Any) -> tuple[int, ...]:
    """How long inputs are: whole numbers."""
    if not isinstance(lengths, Iterable) or isinstance(lengths, str | bytes):
        raise InvalidArgument("lengths", lengths, "must be whole numbers", "Pass for example (1, 2, 5).")
    given = tuple(lengths)
    for length in given:
        at_least("lengths", length, 1, MOST_LENGTH)
    return given
