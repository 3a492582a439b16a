"""A record whose fields are written down when somebody looks is the one that had them from the beginning."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.exact.ranking import NoisyRanking
from freegap.values.ranking import TopK

ANSWERS = np.random.default_rng(1).permutation(20_000 // np.arange(1, 301))
FIELDS = ("indices", "labels", "gap_multiples")
WAYS: dict[str, dict[str, Any]] = {
    "gaps": {"epsilon": 1},
    "no gaps": {"epsilon": 1, "gap": False},
    "no last gap": {"epsilon": 1, "last_gap": False},
    "rho": {"rho": 1},
    "gaps beyond int64": {"epsilon": 1, "resolution": "1/10000000000000000000000"},
}


def drawn(way: str = "gaps", k: int = 20) -> TopK:
    release: TopK = fg.noisy_top_k(ANSWERS, k, monotonic=True, bits=fg.SeededBits(3), **WAYS[way])
    return release


def eager(release: TopK) -> TopK:
    """The same, made in the plain way."""
    return dataclasses.replace(release)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_record_that_had_its_fields_from_the_beginning(way: str) -> None:
    whole = eager(drawn(way))
    assert set(FIELDS) <= vars(whole).keys()
    assert "_noted" in vars(drawn(way))
    assert drawn(way) == whole
    assert whole == drawn(way)
    assert drawn(way) != eager(drawn(way, 19))
    assert hash(drawn(way)) == hash(whole)
    assert repr(drawn(way)) == repr(whole)
    assert str(drawn(way)) == str(whole)
    assert drawn(way).to_json() == whole.to_json()
    assert dataclasses.astuple(drawn(way))[3:] == dataclasses.astuple(whole)[3:]
    assert drawn(way).gaps == whole.gaps
    assert len(drawn(way)) == 20


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])  # noqa: S301
def test_a_copy_has_the_fields_and_nothing_else(way: str, again: Any) -> None:
    copied = again(drawn(way))
    assert copied == eager(drawn(way))
    assert "_noted" not in vars(copied)
    assert set(FIELDS) <= vars(copied).keys()


@pytest.mark.parametrize("name", FIELDS)
def test_one_look_writes_all_of_them_down(name: str) -> None:
    release, whole = drawn(), eager(drawn())
    found = getattr(release, name)
    assert type(found) is tuple
    assert all(type(number) is int for number in found)
    assert found == getattr(whole, name)
    assert getattr(release, name) is found
    assert "_noted" not in vars(release)
    assert release.labels is release.indices
    assert vars(release).keys() == vars(whole).keys()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [300, 30_000])
def test_it_holds_what_was_released_and_nothing_beside_it(way: str, n: int) -> None:
    """An array that is a part of another keeps all of it: the place of the first that was not selected."""
    answers = np.random.default_rng(1).permutation(600_000 // np.arange(1, n + 1))
    release = fg.noisy_top_k(answers, 20, monotonic=True, bits=fg.SeededBits(3), **WAYS[way])
    places, steps = vars(release)["_noted"]
    assert places.base is None
    assert len(places) == 20
    if steps is not None and way != "gaps beyond int64":
        assert steps.base is None
    assert (None if steps is None else len(steps)) == {"no gaps": None, "no last gap": 19}.get(way, 20)


@pytest.mark.parametrize("k", [7, 8, 9, 20])
def test_how_the_places_were_found_is_not_seen(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether doubles could decide depends on the answers and the noise, and nobody paid for it."""

    def looks(release: TopK) -> Any:
        noted = vars(release).get("_noted")
        return noted and [(type(part), part.dtype, part.base, part.tolist()) for part in noted]

    usual = looks(drawn(k=k))
    monkeypatch.setattr(NoisyRanking, "_usual", lambda self, top: None)
    assert looks(drawn(k=k)) == usual
    assert (usual is not None) == (k >= 8)


def test_it_is_frozen_and_shows_its_fields() -> None:
    release = drawn()
    assert set(FIELDS) <= set(dir(release))
    for name in FIELDS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(release, name, ())
        with pytest.raises(AttributeError):
            getattr(TopK, name)
        with pytest.raises(AttributeError, match=name):
            getattr(object.__new__(TopK), name)
    assert "_noted" in vars(release)
    assert all(field.default is dataclasses.MISSING for field in dataclasses.fields(TopK))
    with pytest.raises(TypeError, match="indices"):
        TopK(plan=release.plan, spent=release.spent, private=False)  # type: ignore[call-arg]


def test_threads_that_look_at_once_see_the_same() -> None:
    whole = eager(drawn(k=200))
    for _ in range(50):
        release = drawn(k=200)
        seen: list[Any] = []
        barrier = threading.Barrier(3)

        def look(release: TopK = release, barrier: Any = barrier, seen: list[Any] = seen) -> None:
            barrier.wait()
            seen.append((release.gap_multiples, release.labels, release.indices))

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [(whole.gap_multiples, whole.labels, whole.indices)] * 3


def test_few_places_names_and_counts_are_written_at_once() -> None:
    for answers, k in (([5, 3, 9], 1), (dict(enumerate(ANSWERS.tolist())), 20)):
        release = fg.noisy_top_k(answers, k, epsilon=1, bits=fg.SeededBits(3))
        assert set(FIELDS) <= vars(release).keys()
    counts = fg.Counts.over(range(10**6), {7: 10**6})
    assert set(FIELDS) <= vars(fg.noisy_top_k(counts, 20, epsilon=1, bits=fg.SeededBits(3))).keys()
