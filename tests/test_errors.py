from __future__ import annotations

import pickle

from freegap.errors import REDACTED, FreegapError, InvalidArgument, MissingExtra


def test_the_message_has_argument_value_constraint_and_remedy() -> None:
    error = InvalidArgument("k", 0, "must be at least 1", "Pass k=1.")
    assert str(error) == "k = 0: must be at least 1. Pass k=1."
    assert isinstance(error, FreegapError)
    assert isinstance(error, ValueError)


def test_private_values_are_not_shown() -> None:
    error = InvalidArgument("answers", REDACTED, "must not contain NaN", "Fill them.")
    assert str(error) == "answers: must not contain NaN. Fill them."


def test_errors_survive_pickling() -> None:
    for error in (
        InvalidArgument("k", 0, "must be at least 1", "Pass k=1."),
        InvalidArgument("answers", REDACTED, "must not be so", "Do this."),
        MissingExtra("z3", "prove"),
    ):
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert str(copy) == str(error)
        assert type(copy) is type(error)
    assert pickle.loads(pickle.dumps(REDACTED)) is REDACTED  # noqa: S301


def test_a_broken_or_long_repr_does_not_hide_the_error() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "k = <Broken>" in str(InvalidArgument("k", Broken(), "is bad", "Fix it."))
    assert len(str(InvalidArgument("k", "x" * 1000, "is bad", "Fix it."))) < 120
