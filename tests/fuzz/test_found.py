"""What fuzzing found, one test for each kind of defect, smallest first."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import base2, cli
from freegap.auditor.programs import Command
from freegap.errors import FreegapError, InvalidArgument, MechanismFailed
from freegap.report.pictures import svg
from freegap.values.chart import draw
from tests.fuzz.outcome import require_harmless, require_shown_safely, soon
from tests.fuzz.strategies import Unprintable

HUGE = 10**5000  # more digits than Python turns into text
COUNTS = [12, 480, 33, 505]
ABOVE = fg.sparse_vector(COUNTS, 250, k=2, epsilon=1, bits=fg.SeededBits(1))
TABLE = pa.table({"item": ["a", "b", "a"] * 30, "person": list(range(90))})


def noisy(answers: list[float], epsilon: float, rng: Any) -> int:
    return int(answers[0] + rng.laplace(scale=1 / epsilon))


def echo(script: str) -> Command:
    return Command([sys.executable, "-c", script], run_limit=20)


REFUSED: dict[str, Any] = {
    # A megabyte of digits from ten characters; text that Python refuses to write.
    "epsilon with a huge exponent": lambda: fg.noisy_max(COUNTS, epsilon=Decimal("1e999999")),
    "epsilon of 5,000 digits": lambda: fg.noisy_max(COUNTS, epsilon=HUGE),
    "sensitivity of 5,000 digits": lambda: fg.noisy_max(COUNTS, epsilon=1, sensitivity=Fraction(1, HUGE)),
    "threshold of 5,000 digits": lambda: fg.hybrid_top_k(COUNTS, -HUGE, k=2, epsilon=1),
    "answers of 5,000 digits": lambda: fg.noisy_max([HUGE, 1], epsilon=1),
    "noise beyond all doubles": lambda: fg.measure(COUNTS, epsilon="1e-300"),
    # NumPy counts durations among the integers: five nanoseconds were an ε of 5.
    "epsilon that is a duration": lambda: fg.noisy_max(COUNTS, epsilon=np.timedelta64(5, "ns")),  # type: ignore[call-overload]
    "k that is a duration": lambda: fg.noisy_top_k(COUNTS, np.timedelta64(1, "ns"), epsilon=1),  # type: ignore[call-overload]
    "answers that are durations": lambda: fg.noisy_max([np.timedelta64(5, "D"), 1], epsilon=1),
    "answers that are no time": lambda: fg.noisy_max([np.timedelta64("NaT"), 1], epsilon=1),
    "answers within answers": lambda: fg.noisy_max([[1, 2], [3, 4]], epsilon=1),
    # Loops that would not have ended.
    "a thousand million branches": lambda: fg.adaptive_sparse_vector(
        COUNTS, 9, k=1, epsilon=1, branches=10**9
    ),
    "k beyond all doubles": lambda: fg.sparse_vector(COUNTS, 9, k=10**200, epsilon=1),
    "confidence next to nothing": lambda: fg.lower_bounds(ABOVE, confidence="1e-30"),
    "confidence next to one": lambda: fg.lower_bounds(ABOVE, confidence=1 - Fraction(1, 10**30)),
    "eta of endless digits": lambda: base2.Eta(1, 4096, 10**9).base,
    "eta below the smallest charge": lambda: base2.Eta.from_epsilon("1e-300"),
    # Wrong kinds of things.
    "theta that is no number": lambda: fg.expected_gap("x"),
    "bits of no source": lambda: fg.RecordedBits("x"),  # type: ignore[arg-type]
    "a negative number of bits": lambda: fg.SystemBits().bits(-1),
    "counts without values": lambda: fg.Counts(None, [1], name=print),  # type: ignore[arg-type]
    "counts of ragged sizes": lambda: fg.Counts([1, 2], [[1], [2, 3]], name=print),  # type: ignore[list-item]
    "counts that are no mapping": lambda: fg.Counts.over(["a", "b"], "ab"),  # type: ignore[arg-type]
    "a domain that cannot be hashed": lambda: fg.Counts.over([["a"], ["b"]], {"a": 1}),
    "a domain longer than Python can say": lambda: fg.Counts.over(range(10**30), {1: 1}),
    "answers without end": lambda: fg.noisy_max(range(10**30), epsilon=1),
    "weights without end": lambda: base2.normalized_sample(range(10**30)),
    "sums without ends": lambda: base2.get_sum("1/2", "x", 2),  # type: ignore[arg-type]
    "a clamp of nothing": lambda: base2.symmetric_clamp("a", 1, 1),  # type: ignore[arg-type]
    "weights that are no list": lambda: base2.normalized_sample(5),  # type: ignore[arg-type]
    "a signalling NaN": lambda: fg.noisy_max([Decimal("sNaN"), 1], epsilon=1),
    # Tables and files.
    "a table with a range of 10^30 items": lambda: fg.top_k(
        TABLE, item="item", person="person", k=1, epsilon=1, domain=range(10**30)
    ),
    "a domain that is a number": lambda: fg.top_k(
        TABLE, item="item", person="person", k=1, epsilon=1, domain=np.float64(2.5)
    ),
    "a table with two columns of one name": lambda: fg.top_k(
        pa.table([["a"], ["b"]], names=["x", "x"]), item="x", person="x", k=1, epsilon=1, domain=["a", "b"]
    ),
    "a threshold of no people": lambda: fg.above(
        TABLE, item="item", person="person", k=1, epsilon=1, threshold=10**400, domain=["a", "b"]
    ),
    "a path that is too long": lambda: fg.top_k(
        "x" * 3000, item="a", person="b", k=1, epsilon=1, domain=["a", "b"]
    ),
    "an empty path": lambda: fg.top_k("", item="a", person="b", k=1, epsilon=1, domain=["a", "b"]),
    # The ledger.
    "a port that is no number": lambda: fg.Ledger("postgresql://u@host:port/x"),
    "an address with half a character": lambda: fg.Ledger("sqlite:///\ud800"),
    "a file name that is too long": lambda: fg.Ledger("sqlite:////tmp/" + "x" * 3000).account("shop"),
    # Audit and prover.
    "parameters that are not a mapping": lambda: fg.audit(noisy, epsilon=1, parameters=5),  # type: ignore[arg-type]
    "a sensitivity that is not a number": lambda: fg.audit(noisy, epsilon=1, sensitivity="one"),
    "a delta that is not a number": lambda: fg.audit(noisy, epsilon=1, delta="none"),
    "a claim of nothing": lambda: fg.audit(noisy, epsilon=1e300),
    "a seed of 5,000 digits": lambda: fg.audit(noisy, epsilon=1, seed=HUGE),
    "more samples than there is time": lambda: fg.audit(noisy, epsilon=1, samples=2**70),
    "lengths that are no numbers": lambda: fg.audit(noisy, epsilon=1, lengths=["x"]),  # type: ignore[list-item]
    "an open quotation": lambda: Command("'"),
    "words that are no text": lambda: Command([1]),  # type: ignore[list-item]
    "a word with a zero byte": lambda: Command(["a\0b"]),
    "an argument of two lines": lambda: echo("").run_many([1.0], 1, 1, {"epsilon": 1.0, "x": "1\n1 1 1 1 1"}),
    "an argument without text": lambda: Command("false").run_many([1.0], 1, 1, {"epsilon": 1.0, "x": HUGE}),
    "parameters that are no mapping": lambda: fg.prove(noisy, epsilon=1, queries=1, parameters=5),  # type: ignore[arg-type]
    "a neighbours that is a dict": lambda: fg.prove(noisy, epsilon=1, queries=1, neighbours={}),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    with soon(), pytest.raises(FreegapError) as refused:
        REFUSED[case]()
    require_harmless(str(refused.value))


def test_a_negative_number_of_bits_spoils_no_buffer() -> None:
    """It used to: the buffer then counted bits that it did not have, and handed out zeros for them."""
    source = fg.SeededBits(1)
    with pytest.raises(InvalidArgument):
        source.bits(-4000)
    assert source.bits(64) == fg.SeededBits(1).bits(64)


def test_a_clamp_does_not_overflow() -> None:
    least, most = np.int64(-(2**63)), np.int64(2**63 - 1)
    assert base2.symmetric_clamp(least, most, most) == 0  # type: ignore[arg-type]


def test_seeds_of_every_kind() -> None:
    seeds: list[Any] = [HUGE, -HUGE, "\ud800", "", b"", 0]
    assert len({fg.SeededBits(seed).bits(128) for seed in seeds}) == len(seeds)


def test_releases_beyond_doubles_can_be_shown() -> None:
    """They were paid for."""
    answers = [0, 10**400, -(10**400), 10**900]
    for release in (
        fg.noisy_top_k(answers, 2, epsilon=1),
        fg.sparse_vector(answers, 5, k=2, epsilon=1),
        fg.hybrid_top_k(answers, 5, k=2, epsilon=1),
        fg.exponential_mechanism(answers, epsilon=1),
        fg.measure(answers, epsilon=1),
        fg.select_and_measure(answers, 2, epsilon=1),
    ):
        require_shown_safely(release)
    above = fg.sparse_vector([10**900], 5, k=1, epsilon=1)
    assert math.isfinite(fg.lower_bounds(above)[0] or math.inf)  # a lower bound must not be above the truth


def test_labels_without_text_can_be_shown() -> None:
    class Ordered(Unprintable):
        def __lt__(self, other: object) -> bool:
            return not isinstance(other, Ordered)

        def __gt__(self, other: object) -> bool:
            return False

    release = fg.noisy_max({Ordered(): 900, "\ud800\x9b31m\u202e": 1}, epsilon=1)
    require_shown_safely(release)
    assert "<Ordered>" in str(release)


def test_labels_without_text_or_order_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="an order of their own"):
        fg.noisy_max({Unprintable(): 900, "b": 1}, epsilon=1)


def test_json_escapes_what_a_terminal_obeys() -> None:
    release = fg.noisy_max({"\x9b31m naïve": 900, "b": 1}, epsilon=1)
    assert "\\u009b31m naïve" in release.to_json()
    assert json.loads(release.to_json())["labels"] == ["\x9b31m naïve"]


def test_scores_beyond_doubles() -> None:
    chosen = fg.best_private_candidate([lambda bits: 1], lambda output: 10**400, epsilon=1, stop="1/2")
    assert chosen.score == 10**400
    require_shown_safely(chosen)


def test_nothing_is_charged_for_an_epsilon_that_the_mechanism_refuses(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    asked: dict[str, Any] = {
        "item": "item",
        "person": "person",
        "k": 1,
        "domain": ["a", "b"],
        "ledger": (ledger, "shop"),
    }
    for measure in (False, True):
        with pytest.raises(InvalidArgument):
            fg.top_k(TABLE, epsilon=Fraction(1, 10**200), measure=measure, **asked)
    with pytest.raises(InvalidArgument):
        fg.above(TABLE, epsilon=Fraction(1, 10**200), threshold=5, **asked)
    assert ledger.account("shop").remaining == 5


def test_names_in_any_script_are_drawn_without_a_warning() -> None:
    table = pa.table({"item": ["茶", "🦄"] * 30, "person": list(range(60))})
    release = fg.top_k(table, item="item", person="person", k=1, epsilon=9, domain=["茶", "🦄"])
    assert release.labels[0] in svg(draw(release))


def test_a_threshold_of_many_digits_is_drawn_without_a_warning() -> None:
    release = fg.above(
        TABLE,
        item="item",
        person="person",
        k=2,
        epsilon=9,
        threshold=Fraction(10**300, 10**299 - 1),
        domain=["a", "b"],
    )
    assert "threshold" in svg(draw(release))


@pytest.mark.parametrize("reply", ["[" * 100_000, "9" * 5000, "\\x1b[31m", "nan", '{"a": 1e999}'])
def test_strange_answers_of_a_program(reply: str) -> None:
    answer = f"print(chr(10).join(['{reply}'] * int(line.split()[0])), flush=True)"
    script = f"import sys\nfor line in sys.stdin: {answer}"
    report = fg.audit(
        echo(script), epsilon=1, inputs=[([1], [2])], samples=200, search_samples=100, jobs=1, seed=1
    )
    assert not report.violated
    require_harmless(str(report))
    require_harmless(report.to_json())


def test_what_a_failed_program_said_does_not_steer_the_terminal() -> None:
    with pytest.raises(MechanismFailed) as failed:
        echo("import sys; sys.exit('\\x1b[31mred')").run_many([1.0], 1, 1, {"epsilon": 1.0})
    assert "red" in str(failed.value)
    require_harmless(str(failed.value))


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove", "mine:f", "--parameter", "k=1e999999999"],
        ["prove", "..x:y"],
        ["prove", "broken:f"],
        ["audit", "broken:f", "--epsilon", "1"],
        ["audit", ":x", "--epsilon", "1"],
        [
            "top-k",
            "t.csv",
            "--item",
            "a",
            "--person",
            "b",
            "-k",
            "1",
            "--epsilon",
            "1",
            "--domain",
            "0.." + "9" * 5000,
        ],
    ],
)
def test_commands_that_ended_in_a_traceback_or_not_at_all(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "mine.py").write_text("def f(answers, noise, *, k): return k\n")
    with soon():
        done = CliRunner().invoke(cli.app, arguments)
    assert done.exception is None or isinstance(done.exception, FreegapError | SystemExit)


def test_wrong_usage_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """`freegap top-k *` in a folder with a hostile file name."""
    command = [
        sys.executable,
        "-c",
        "from freegap.cli import main; main()",
        "top-k",
        "a",
        "b\x1b[31m\u202e",
        "-k",
        "1",
    ]
    command += ["--epsilon", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603
    assert done.returncode == 2
    assert "unexpected extra argument" in done.stderr
    require_harmless(done.stderr)
