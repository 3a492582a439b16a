"""The order of a dict or a Series may be private: nothing that is released depends on it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freegap as fg
from freegap import base2
from freegap.errors import InvalidArgument
from freegap.values.answers import read_answers
from freegap.values.labels import key_of_label, order_of_labels

COUNTS = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12, "gout": 650}
BASE2: dict[str, Any] = {"k": 2, "eta": base2.share_epsilon(1, k=2), "low": 0, "high": 1000, "width": 200}

Mechanism = Callable[[Any, fg.SeededBits], Any]

MECHANISMS: dict[str, Mechanism] = {
    "noisy_top_k": lambda a, bits: fg.noisy_top_k(a, 2, epsilon=1, bits=bits),
    "noisy_max": lambda a, bits: fg.noisy_max(a, epsilon=1, noise="laplace", bits=bits),
    "sparse_vector": lambda a, bits: fg.sparse_vector(a, 500, k=1, epsilon=1, bits=bits),
    "adaptive": lambda a, bits: fg.adaptive_sparse_vector(a, 500, k=1, epsilon=1, bits=bits),
    "hybrid_top_k": lambda a, bits: fg.hybrid_top_k(a, 500, k=3, epsilon=1, bits=bits),
    "hybrid_sparse_vector": lambda a, bits: fg.hybrid_sparse_vector(a, 500, k=3, epsilon=1, bits=bits),
    "exponential": lambda a, bits: fg.exponential_mechanism(a, epsilon=1, bits=bits),
    "sampler": lambda a, bits: fg.exponential_mechanism(a, epsilon=1, sampler=lambda _: 1, bits=bits),
    "measure": lambda a, bits: fg.measure(a, epsilon=1, bits=bits),
    "select_and_measure": lambda a, bits: fg.select_and_measure(a, 2, epsilon=1, bits=bits),
    "select above": lambda a, bits: fg.select_and_measure(a, 2, epsilon=1, threshold=500, bits=bits),
    "base2": lambda a, bits: base2.sparse_vector(a, 500, bits=bits, **BASE2),
    "base2 with gap": lambda a, bits: base2.sparse_vector_with_gap(
        a, 500, gaps=range(50, 400, 50), bits=bits, **BASE2
    ),
}


def _orders() -> list[dict[str, int]]:
    """As they come, by rank, and by rank from below."""
    by_rank = sorted(COUNTS, key=lambda name: COUNTS[name])
    return [{name: COUNTS[name] for name in names} for names in (COUNTS, by_rank, by_rank[::-1])]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_no_release_depends_on_the_order_of_labelled_answers(name: str, kind: Any) -> None:
    releases = [MECHANISMS[name](kind(order), fg.SeededBits(5)) for order in _orders()]
    for view in (repr, str, lambda r: r.to_json(), lambda r: r._repr_html_()):
        assert len({view(release) for release in releases}) == 1


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_labelled_answers_have_no_positions(name: str, kind: Any) -> None:
    release = MECHANISMS[name](kind(COUNTS), fg.SeededBits(5))
    if isinstance(release, fg.Choice):
        assert release.index is None
        assert release.to_dict()["index"] is None
    else:
        assert getattr(release, "indices", ()) == ()
        assert release.to_dict().get("indices", []) == []
        assert "question" not in [column.title for column in release.columns()]
    listed = MECHANISMS[name](list(COUNTS.values()), fg.SeededBits(5))
    if isinstance(listed, fg.Choice):
        assert listed.index == listed.label
    elif hasattr(listed, "indices"):
        assert listed.indices == listed.labels


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n not in ("sampler",)])
def test_labels_say_what_positions_say(name: str) -> None:
    """A list in the order of the labels gives the same release, by position."""
    names = sorted(COUNTS)
    labelled = MECHANISMS[name](COUNTS, fg.SeededBits(5))
    listed = MECHANISMS[name]([COUNTS[one] for one in names], fg.SeededBits(5))
    if isinstance(labelled, fg.Choice):
        assert (labelled.label, labelled.gap) == (names[listed.label], listed.gap)
        return
    assert labelled.labels == tuple(names[place] for place in listed.labels)
    for field in ("gap_multiples", "above", "gaps", "estimates", "values", "spent"):
        assert getattr(labelled, field, None) == getattr(listed, field, None)


def test_the_questions_of_a_dict_are_asked_by_label() -> None:
    by_rank = {"z": 900, "y": 800, "m": 5, "a": 1}
    release = fg.sparse_vector(by_rank, 400, k=1, epsilon=50, bits=fg.SeededBits(1))
    assert (release.questions, release.above) == (("a", "m", "y"), (False, False, True))
    assert release.gaps[:2] == (None, None)
    assert release.gaps[2] == release.selected_gaps[0]
    assert release.to_dict()["questions"] == ["a", "m", "y"]
    listed = fg.sparse_vector([900, 5], 400, k=1, epsilon=50, bits=fg.SeededBits(1))
    assert (listed.questions, listed.to_dict()["questions"]) == (range(1), None)


def test_a_measurement_of_a_dict_is_in_the_order_of_its_labels() -> None:
    assert fg.measure({"b": 2, "c": 3, "a": 1}, epsilon=1).labels == ("a", "b", "c")


def test_the_sampler_sees_the_exponents_in_the_order_of_the_labels() -> None:
    seen: list[Any] = []

    def first(exponents: Any) -> int:
        seen.append([float(e) for e in exponents])
        return 0

    choice = fg.exponential_mechanism({"b": 4, "a": 2}, epsilon=1, sampler=first, bits=fg.SeededBits(1))
    assert (seen, choice.label) == ([[1.0, 2.0]], "a")


LABELS = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=2),
    st.booleans(),
    st.none(),
    st.binary(max_size=1),
    st.tuples(st.integers(0, 2), st.one_of(st.text(max_size=1), st.integers(0, 1))),
    st.frozensets(st.integers(0, 2), max_size=2),
    st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)),
)


@given(st.lists(LABELS, min_size=1, max_size=5).map(lambda labels: list(dict.fromkeys(labels))), st.data())
def test_the_order_depends_on_the_labels_alone(labels: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(labels))
    texts = {(type(label).__name__, repr(label)) for label in labels}
    if len(texts) < len(labels):  # two NaNs: nothing tells them apart
        for some in (labels, shuffled):
            with pytest.raises(InvalidArgument, match="an order of their own"):
                order_of_labels("answers", some)
        return
    orders = [[some[place] for place in order_of_labels("answers", some)] for some in (labels, shuffled)]
    assert list(map(repr, orders[0])) == list(map(repr, orders[1]))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 1, 2], [1, 2, 3]),
        (["b", 2, "a", 10], [10, 2, "a", "b"]),
        ([2.5, 1, Fraction(2)], [1, Fraction(2), 2.5]),
        ([frozenset({2}), frozenset({1})], [frozenset({1}), frozenset({2})]),
        ([math.nan, 1.0, -1.0], [-1.0, 1.0, math.nan]),
        ([None, "a"], [None, "a"]),
        ([], []),
    ],
)
def test_the_order(labels: list[Any], expected: list[Any]) -> None:
    for some in permutations(labels):
        assert list(map(str, [some[i] for i in order_of_labels("answers", some)])) == list(map(str, expected))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (pd.Series([1, 2, 3], index=["a", "b", "a"]), "must not have a label twice"),
        (pd.Series([1, 2], index=pd.Index([[1], [2]], dtype=object)), "hashable labels"),
        ({object(): 1, object(): 2}, "an order of their own"),
        (pd.Series([1, 2], index=[math.nan, math.nan]), "an order of their own|a label twice"),
    ],
)
def test_labels_that_have_no_order_are_refused(answers: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read_answers(answers, Fraction(1))


def test_a_frame_is_a_sequence_of_positions_where_it_has_no_index() -> None:
    series = pd.Series([3, 1], index=["b", "a"])
    assert read_answers(series, Fraction(1)).names == ["a", "b"]
    assert read_answers(series.to_numpy(), Fraction(1)).names is None


def test_thresholds_go_by_label_too() -> None:
    answers, bars = {"b": 10, "a": 1000}, {"a": 900, "b": 100}
    for threshold in (bars, pd.Series(bars)):
        release = fg.sparse_vector(answers, threshold, k=2, epsilon=50, bits=fg.SeededBits(1))
        assert (release.labels, release.thresholds) == (("a",), (Fraction(900),))
    series = pd.Series([900, 100])  # labelled by position
    listed = fg.sparse_vector([1000, 10], series, k=2, epsilon=50, bits=fg.SeededBits(1))
    assert (listed.indices, listed.thresholds) == ((0,), (Fraction(900),))


@pytest.mark.parametrize(
    ("answers", "threshold"),
    [
        ({"a": 1, "b": 2}, [1, 2]),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ([1, 2], {"a": 1, "b": 2}),
        ([1, 2], pd.Series([1, 2], index=[1, 2])),
    ],
)
def test_thresholds_with_other_labels_are_refused(answers: Any, threshold: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be one for all, or have the labels of the answers"):
        fg.sparse_vector(answers, threshold, k=1, epsilon=1)


def test_candidates_by_label_have_no_position() -> None:
    candidates = {"b": lambda _: 1, "a": lambda _: 1}
    shared: dict[str, Any] = {"epsilon": 1, "stop": "0.5", "bits": fg.SeededBits(1)}
    labelled = fg.best_private_candidate(candidates, float, **shared)
    assert labelled.found
    assert (labelled.index, labelled.label in candidates) == (None, True)
    listed = fg.best_private_candidate(list(candidates.values()), float, **shared)
    assert listed.index == listed.label


@given(st.integers() | st.text())
def test_the_short_way_to_a_key_is_the_long_one(label: int | str) -> None:
    """Of a whole number or a text of a type of its own, and of the same name, the key is the same."""
    kind = type(label)
    key, other = key_of_label(label), key_of_label(type(kind.__name__, (kind,), {})(label))
    assert key is not None
    assert other is not None
    assert key == other
    assert [type(part) for part in key] == [type(part) for part in other]


def test_what_is_written_differently_has_a_key_of_its_own() -> None:
    ones = [1, True, 1.0, np.int64(1), np.int32(1), np.float64(1), np.True_, Fraction(1), Decimal(1), "1"]
    zeros = [0.0, -0.0, np.str_("1"), "\u00e9", "e\u0301"]
    found = [key for key in map(key_of_label, [*ones, *zeros]) if key is not None]
    assert len(set(found)) == len(found) == len(ones) + len(zeros) - 1  # NumPy's truth values are no numbers
