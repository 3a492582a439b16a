"""Every public mechanism, with some of its arguments replaced by what it does not expect."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap import base2
from freegap.values.results import Release
from tests.fuzz.outcome import FEW, FEWER, attempt, require_shown_safely
from tests.fuzz.strategies import answers, anything, numbers, spoiled
from tests.test_public_surface import RECORDS

COUNTS = {"a": 12, "b": 480, "c": 33, "d": 505}
SELECT = {
    "answers": COUNTS,
    "k": 2,
    "epsilon": 1,
    "rho": None,
    "sensitivity": 1,
    "monotonic": True,
    "noise": "exponential",
    "resolution": "1/1024",
    "ledger": None,
    "bits": None,
}
ABOVE = SELECT | {"threshold": 250}
SHARED = ABOVE | {"share": None}
ETA = base2.share_epsilon(1, k=2)
BASE2: dict[str, Any] = {
    "answers": [12, 480, 33],
    "threshold": 250,
    "k": 2,
    "eta": ETA,
    "low": 0,
    "high": 1000,
    "width": 300,
    "sensitivity": 1,
    "resolution": 1,
    "ledger": None,
    "bits": None,
}
HALF = base2.Eta(1, 1, 1)
RELEASE = fg.sparse_vector(COUNTS, 250, k=2, epsilon=1, bits=fg.SeededBits(1))


def without(good: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in good.items() if name not in names}


CALLS: dict[str, dict[str, Any]] = {
    "noisy_top_k": SELECT | {"gap": True, "last_gap": True, "size": None},
    "noisy_top_k_each": without(SELECT, "answers")
    | {
        "populations": {"a": COUNTS, "b": COUNTS},
        "populations_per_person": 1,
        "offsets": None,
        "gap": True,
        "last_gap": True,
    },
    "sparse_vector_each": without(SHARED, "answers")
    | {"populations": [COUNTS], "populations_per_person": 1, "offsets": None, "gap": True},
    "noisy_max": without(SELECT, "k") | {"gap": True, "last_gap": False, "size": 2},
    "sparse_vector": SHARED | {"gap": True, "size": 2},
    "adaptive_sparse_vector": SHARED | {"branches": 1, "margin": 2, "stop_after": None, "size": None},
    "hybrid_top_k": ABOVE,
    "hybrid_sparse_vector": SHARED,
    "exponential_mechanism": without(SELECT, "k", "noise", "answers")
    | {"utilities": COUNTS, "gap": True, "sampler": None},
    "measure": without(SELECT, "k", "noise", "monotonic"),
    "histogram": without(SELECT, "k", "noise", "monotonic", "answers")
    | {"table": COUNTS, "items_per_person": 1, "item": None, "person": None, "domain": None, "value": None}
    | {"domain_column": None, "observed_keys_are_public": False, "normalize": False}
    | {"low": None, "high": None, "unit": None, "mean": False, "protect": None, "where": None},
    "select_and_measure": SELECT | {"threshold": None, "split": "1/2"},
    "unknown_top_k": without(SELECT, "answers", "sensitivity", "monotonic", "rho")
    | {"counts": COUNTS, "delta": "1e-7", "people": None, "pool": None, "items_per_person": None},
    "unknown_counts": without(
        SELECT, "answers", "k", "sensitivity", "monotonic", "noise", "resolution", "rho"
    )
    | {"counts": COUNTS, "delta": "1e-7", "people": None, "items_per_person": 2},
    "quantiles": {"table": [12, 480, 33], "value": None, "person": None, "q": [0.5], "low": 0, "high": 500}
    | {"resolution": 1, "per_person": "median", "intervals": False, "protect": None, "where": None}
    | {"epsilon": 1, "rho": None, "ledger": None, "bits": None, "group": None, "groups": None}
    | {"groups_per_person": None, "one_group_per_person": False},
    "lower_bounds": {"release": RELEASE, "confidence": 0.95},
    "confidence_intervals": {"release": RELEASE, "confidence": 0.95},
    "gap_variances": {"release": RELEASE},
    "expected_gap": {"theta": 0.5},
    "threshold_shift": without(SHARED, "answers", "threshold", "resolution", "ledger", "bits")
    | {"questions": 100, "false_alarms": 1},
}
PLAN: dict[str, Any] = (
    {"counts": [480, 33, 12, 0], "k": 1, "threshold": None, "measure": False, "goal": None}
    | {"target": None, "epsilon": 1, "rho": None, "delta": None, "budget": "epsilon", "domain": None}
    | {"noise": None, "items": None, "public": False, "item": None, "person": None, "count": None}
)
ONLINE: dict[str, dict[str, Any]] = {
    "SparseVector": without(SHARED, "answers") | {"gap": True},
    "AdaptiveSparseVector": without(SHARED, "answers") | {"branches": 1, "margin": 2, "stop_after": None},
}
BASE2_CALLS: dict[str, dict[str, Any]] = {
    "sparse_vector": BASE2,
    "sparse_vector_with_gap": BASE2 | {"gaps": range(25, 500, 25)},
    "unclamped_sparse_vector": without(BASE2, "low", "high", "width"),
    "share_epsilon": {"epsilon": 1, "k": 3, "sensitivity": 1, "resolution": "1/4", "share": "1/2"},
    "Eta": {"x": 3, "y": 2, "z": 4},
    "get_sum": {"base": "1/2", "low": -1, "high": 2},
    "clamped_laplace": {"eta": HALF, "low": -4, "high": 4, "resolution": 1, "bits": None},
    "lazy_threshold": {"eta": HALF, "threshold": 2, "reach": 10, "resolution": 1, "bits": None},
    "conditional_lazy_threshold": {
        "eta": HALF,
        "threshold": 2,
        "condition": 1,
        "reach": 10,
        "resolution": 1,
        "bits": None,
    },
    "normalized_sample": {"weights": ["1/2", "1/4", "1/4"], "bits": None},
    "symmetric_clamp": {"rho": 9, "x": 10, "w": 2},
}
BASE2_ONLINE = {
    "DiscreteSparseVector": without(BASE2, "answers"),
    "DiscreteSparseVectorWithGap": without(BASE2, "answers") | {"gaps": range(25, 500, 25)},
}
VISITS = {"a": 40, "b": 90, "c": 35}
CANDIDATES = [lambda bits: fg.noisy_max(VISITS, epsilon=1, bits=bits)]
CANDIDATE = {
    "candidates": CANDIDATES,
    "score": lambda release: release.gaps[0],
    "epsilon": 1,
    "rho": None,
    "stop": "1/4",
    "hard_stop": "1/2",
    "ledger": None,
    "bits": None,
}
STREAM = fg.Stream(len, len, len, len)  # type: ignore[arg-type]
OTHERS: dict[str, dict[str, Any]] = {
    "select_private_candidate": CANDIDATE | {"threshold": 20},
    "best_private_candidate": CANDIDATE | {"tries": "geometric"},
    "NoisyScore": {
        "function": len,
        "epsilon": "1/2",
        "low": 0,
        "high": 100,
        "sensitivity": 1,
        "resolution": 1,
    },
    "Counts": {"values": [5, 0], "sizes": [1, 100], "name": lambda group, member: (group, member)},
    "PowerLaw": {"items": 100, "largest": 500, "exponent": "0.7"},
    "SeededBits": {"seed": 1},
    "pad_to": {"seconds": "1/1000", "release": lambda: fg.noisy_max(VISITS, epsilon=1)},
    "ReplayedBits": {"record": "0101"},
    "RecordedBits": {"source": fg.SeededBits(1)},
    "Selection": {"k": 1, "law": "laplace", "scale": 2, "release": len, "shift": len, "last_shift": len}
    | {"threshold": None, "item_charge": None, "last": True},
    "Stream": {name: len for name in ("start", "step", "start_shifts", "step_shifts")}
    | {"direction": "each", "place_alone": False, "start_charge": None, "entry_charge": None}
    | {"both_states": False, "finish": None, "finish_shifts": None},
    "Ranking": {"k": 1, "law": "laplace", "scale": 2, "shift": len, "item_charge": 1, "threshold": None}
    | {"threshold_scale": None, "lift": len, "start_charge": 0, "direction": "each"},
    "Composition": {"first": STREAM, "second": STREAM, "budgets": (1, 1), "chosen": True},
}
OVER = {"domain": ["a", "b", "c"], "counts": {"a": 3}, "items": None, "values": None}

OWN = {
    "answers": answers,
    "utilities": answers,
    "counts": answers,
    "table": answers,
    "threshold": st.one_of(numbers, answers),
    # It waits as long as it is told to.
    "seconds": st.sampled_from(["1/1000", 0.001, 0, -1, None, "x", float("nan"), float("inf"), [], True]),
    # 1/stop draws are expected, so that a tiny one takes as long as it says.
    "stop": st.one_of(st.fractions(Fraction(1, 20)), st.sampled_from([0, -1, 2, None, "x", float("nan")])),
}


def check(function: Any, arguments: dict[str, Any]) -> Any:
    """Call it; a release that comes of it can be shown."""
    result, _ = attempt(function, **arguments)
    if isinstance(result, Release):
        assert 0 <= result.spent <= result.asked.spent
        require_shown_safely(result)
    return result


def offline(function: Any, good: dict[str, Any], often: settings = FEW) -> Callable[[], None]:
    """A function that answers at once."""
    assert set(inspect.signature(function).parameters) == set(good)

    @often
    @given(spoiled(good, **{key: OWN[key] for key in OWN if key in good}))
    def run(arguments: dict[str, Any]) -> None:
        check(function, arguments)

    return run


def online(cls: Any, good: dict[str, Any]) -> Callable[[], None]:
    """An object that is asked: a question that is refused is neither counted nor charged."""
    question = st.tuples(st.one_of(numbers, anything), st.one_of(st.none(), numbers))

    @FEW
    @given(st.one_of(st.just(good), spoiled(good)), st.lists(question, max_size=3))
    def run(arguments: dict[str, Any], questions: list[Any]) -> None:
        asked, _ = attempt(cls, **arguments)
        for answer, threshold in questions if asked is not None else ():
            before = asked.spent
            alone = threshold is None or cls in (
                base2.DiscreteSparseVector,
                base2.DiscreteSparseVectorWithGap,
            )
            _, error = attempt(asked.ask, answer, *(() if alone else (threshold,)))
            assert error is None or asked.spent == before
            assert before <= asked.spent <= 10**500

    return run


@FEW
@given(spoiled(OVER), st.integers(1, 3))
def counts_over(arguments: dict[str, Any], k: int) -> None:
    """A domain, and what occurs in it."""
    counts, _ = attempt(fg.Counts.over, **arguments)
    if counts is not None:
        check(fg.noisy_top_k, {"answers": counts, "k": k, "epsilon": 1})


@FEW
@given(st.one_of(numbers, anything), st.sampled_from(["system", "seeded", "recorded", "replayed"]))
def bits(n: Any, kind: str) -> None:
    """A source that is asked for an impossible number of bits stays as it was."""
    sources: dict[str, Any] = {
        "system": fg.SystemBits(),
        "seeded": fg.SeededBits(1),
        "recorded": fg.RecordedBits(fg.SeededBits(1)),
        "replayed": fg.ReplayedBits("01" * 500),
    }
    if isinstance(n, int) and n > 10**6:
        return  # that many bits are fetched, if the memory suffices
    source = sources[kind]
    taken, _ = attempt(source.bits, n)
    assert taken is None or 0 <= taken < 2 ** int(n)
    if kind == "seeded" and taken is None:
        assert source.bits(64) == fg.SeededBits(1).bits(64)


RHO: dict[str, Any] = {"epsilon": None, "rho": 1}
IN_RHO = {
    "noisy_top_k": CALLS["noisy_top_k"] | RHO | {"noise": None},
    "measure": CALLS["measure"] | RHO,
    "sparse_vector": CALLS["sparse_vector"] | RHO,
    "exponential_mechanism": CALLS["exponential_mechanism"] | RHO,
    "select_and_measure": CALLS["select_and_measure"] | RHO | {"noise": "gumbel"},
}

TARGETS: dict[str, Callable[[], None]] = {
    **{name: offline(getattr(fg, name), good) for name, good in (CALLS | OTHERS).items()},
    **{f"{name}, rho": offline(getattr(fg, name), good) for name, good in IN_RHO.items()},
    **{f"base2.{name}": offline(getattr(base2, name), good) for name, good in BASE2_CALLS.items()},
    **{name: online(getattr(fg, name), good) for name, good in ONLINE.items()},
    **{f"base2.{name}": online(getattr(base2, name), good) for name, good in BASE2_ONLINE.items()},
    "plan": offline(fg.plan, PLAN, FEWER),
    "Counts.over": counts_over,
    "bits": bits,
}


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_freegap(name: str) -> None:
    TARGETS[name]()


def test_every_public_name_is_tried() -> None:
    elsewhere = {
        "above",
        "top_k",
        "source",
        "audit",
        "assert_private",
        "prove",
        "lower_bound",
        "Command",
        "Ledger",
        "base2",
    }
    given_out = RECORDS | {"SystemBits"}
    errors = {
        name
        for name in fg.__all__
        if isinstance(getattr(fg, name), type) and issubclass(getattr(fg, name), Exception)
    }
    assert set(fg.__all__) <= set(TARGETS) | elsewhere | given_out | errors
    assert {f"base2.{name}" for name in base2.__all__} <= set(TARGETS)
