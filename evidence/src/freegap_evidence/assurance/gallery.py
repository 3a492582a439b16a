"""The benchmark programs of LightDP, ShadowDP and CheckDP, right and broken, each with its verdict.

`freegap prove --gallery` goes through all of them. A right one that has a form is proved for every number of
answers, any other for the number that it says. A broken one is refuted by an exact counterexample, at the
number of answers at which one was found; fewer may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Any

from freegap.forms import Selection, Stream
from freegap.mechanisms import sparse_vector, top_k
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover import prove
from freegap.values.neighbours import Neighbours
from freegap_evidence.assurance.library import plan
from freegap_evidence.catalogue import broken, correct, sums

if TYPE_CHECKING:
    from freegap.prover.report import Proof


@dataclass(frozen=True)
class GalleryEntry:
    """A program, or a form for every number of answers, at ε = 1 unless it says otherwise."""

    name: str
    source: str
    mechanism: Any
    private: bool
    """What is known of it."""
    queries: int | None = None
    neighbours: Neighbours = "each"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    epsilon: Fraction = Fraction(1)

    def prove(self) -> Proof:
        """What `freegap.prove` makes of it."""
        return prove(
            self.mechanism,
            epsilon=self.epsilon,
            queries=self.queries,
            neighbours=self.neighbours,
            parameters=self.parameters,
            growth=False,
            seconds=60,
        )


@dataclass(frozen=True)
class Shown:
    """A verdict and how long it took."""

    entry: GalleryEntry
    proof: Proof
    seconds: float

    @staticmethod
    def of(entry: GalleryEntry) -> Shown:
        """Try it."""
        start = monotonic()
        proof = entry.prove()
        return Shown(entry, proof, monotonic() - start)

    @property
    def verdict(self) -> str:
        """Proved, refuted by a counterexample, or not decided."""
        if self.proof.holds:
            return "proved"
        return "not decided" if self.proof.counterexample is None else "refuted"

    @property
    def right(self) -> bool:
        """Whether it was decided, and rightly."""
        return self.verdict == ("proved" if self.entry.private else "refuted")

    @property
    def row(self) -> tuple[str, ...]:
        """Name, source, number of answers, verdict, what shows it, and seconds."""
        found = self.proof.counterexample
        if found is not None:
            ratio = "∞" if found.ratio is None else f"{float(found.ratio):.3f}"
            shown = f"{_row(found.answers)} and {_row(found.neighbour)}, {found.event}: ratio {ratio}"
        else:
            shown = (self.proof.reason or "").removeprefix("not decided: ")
        size = "any" if self.entry.queries is None else str(self.entry.queries)
        verdict = f"**{self.verdict}**" if self.right else self.verdict
        return (
            self.entry.name,
            self.entry.source,
            size,
            str(self.entry.epsilon),
            verdict,
            shown,
            f"{self.seconds:.1f}",
        )


def _row(values: tuple[Fraction, ...]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def page(results: list[Shown]) -> str:
    """The page of the documentation, in Markdown."""
    head = ("program", "source", "answers", "ε", "verdict", "shown by", "seconds")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(result.row) + " |" for result in results]
    decided = sum(result.right for result in results)
    return _HEAD.format(decided=decided, count=len(results)) + "\n".join(lines) + "\n"


_HEAD = """# A gallery of proofs and counterexamples

Made by `freegap prove --gallery --page docs/gallery.md`: the benchmark programs of LightDP, ShadowDP and
CheckDP, right and broken, and what `freegap.prove` says of each. Their texts are in
`freegap_evidence.assurance.gallery` and `freegap_evidence.catalogue`; the wrong line carries the reason.

A program for any number of answers is a form, with its alignment; for the others nothing is given but the
program. A refuted one is shown by two lists of answers and an event, whose probabilities are computed in ball
arithmetic; the ratio is a lower bound, and e^ε is what it may be at most. {decided} of {count} are decided,
and rightly. The seconds are those of one run on a machine that did other work as well.

"""


# Forms that the catalogue does not have ---------------------------------------------------


def _numeric_sparse_vector(k: int) -> Stream:
    """Sparse vector that answers what is above with fresh noise: thirds of ε for the threshold, the
    comparisons and the answers."""

    def start(noise: Any) -> Any:
        return k, noise.laplace(3, label="threshold")

    def step(state: Any, answer: Any, noise: Any) -> Any:
        left, bar = state
        if answer + noise.laplace(6 * k, label="comparison") >= bar:
            return (left - 1, bar), answer + noise.laplace(3 * k, label="answer"), left == 1
        return (left, bar), None, False

    def start_shifts(direction: str) -> Any:
        return {"threshold": 1}

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
        change = answer - neighbour
        return {} if entry is None else {"comparison": 1 + change, "answer": change}

    return Stream(start, step, start_shifts, step_shifts)


def _reuses_the_comparison(answers: Any, noise: Any, *, bound: int, epsilon: Any) -> list[Any]:
    bar = noise.laplace(3 / epsilon, label="threshold")
    out: list[Any] = []
    left = bound
    for i, answer in enumerate(answers):
        noisy = answer + noise.laplace(6 * bound / epsilon, label=i)
        out.append(noisy if noisy >= bar else None)  # WRONG: an answer that is released needs fresh noise
        if noisy >= bar:
            left -= 1
            if left == 0:
                break
    return out


def _second_try_is_free(answers: Any, noise: Any, *, epsilon: Any) -> list[Any]:
    bar = noise.laplace(4 / epsilon, label="threshold")
    each = 3 * epsilon / 4
    out: list[Any] = []
    for i, answer in enumerate(answers):
        first = answer + noise.laplace(4 / each, label=(i, "first")) - bar
        second = answer + noise.laplace(2 / each, label=(i, "second")) - bar
        if first >= 8 / each:
            return [*out, first]
        out.append(second if second >= 0 else None)  # WRONG: this branch costs `each` whenever it is taken
    return out


def _prefix_sum_without_noise(answers: Any, noise: Any, *, epsilon: Any) -> list[Any]:
    out: list[Any] = []
    total = 0
    for i, answer in enumerate(answers):
        total = total + answer
        out.append(total + noise.laplace(1 / epsilon, label=i))  # WRONG: one answer is in every later sum
    return out


def _randomised_response(answers: Any, noise: Any, *, honesty: Any) -> list[bool]:
    return [(a >= Fraction(1, 2)) == noise.coin(honesty, label=i) for i, a in enumerate(answers)]


def _permute_and_flip(answers: Any, noise: Any, *, epsilon: Any, permuted: bool = True) -> int | None:
    best, left = max(answers), list(range(len(answers)))
    for turn in range(len(answers)):
        # Not permuted, the last one is put out only where all others were not.
        place = noise.choice([1] * len(left), label=("item", turn)) if permuted else 0
        item = left.pop(place)
        if noise.exponential_coin(epsilon * (best - answers[item]) / 2, label=("flip", turn)):
            return item
    return None


def _selection(gap: bool) -> Selection:
    return top_k.form(TopKPlan.read("noisy_top_k", k=1, epsilon=1, noise="laplace", gap=gap))


_THRESHOLD = {"threshold": 0, "bound": 1}

GALLERY = (
    GalleryEntry("NoisyMax", "LightDP, ShadowDP, CheckDP", _selection(False), True),
    GalleryEntry("NoisyMax with gap", "Ding et al. 2019", _selection(True), True),
    GalleryEntry("BadNoisyMax, half the noise", "CheckDP", broken.noisy_max_half_noise, False, 2),
    GalleryEntry("BadNoisyMax, the value", "CheckDP", broken.noisy_max_value_laplace, False, 3),
    GalleryEntry("BadNoisyMax, place and value", "StatDP", broken.noisy_max_with_value, False, 3),
    GalleryEntry("SVT", "LightDP, CheckDP", sparse_vector.form(plan(2, "laplace", False, gap=False)), True),
    GalleryEntry("GapSVT", "ShadowDP, CheckDP", sparse_vector.form(plan(2, "laplace", False)), True),
    GalleryEntry("NumSparseVector", "LightDP, CheckDP", _numeric_sparse_vector(2), True),
    GalleryEntry(
        "AdaptiveSVT", "ShadowDP, CheckDP", sparse_vector.form(plan(1, "laplace", False, halvings=1)), True
    ),
    GalleryEntry(
        "BadSVT1, no noise on answers",
        "Stoddard et al. 2014",
        broken.sparse_vector_no_query_noise,
        False,
        2,
        parameters={"threshold": 0},
    ),
    GalleryEntry(
        "BadSVT2, no bound",
        "Chen et al. 2015",
        broken.sparse_vector_no_bound,
        False,
        5,
        parameters={"threshold": 0},
    ),
    GalleryEntry(
        "BadSVT3, noise without the bound",
        "Lee and Clifton 2014",
        broken.sparse_vector_noise_ignores_bound,
        False,
        3,
        parameters={"threshold": 0, "bound": 2},
    ),
    GalleryEntry(
        "BadSVT, noisy answers",
        "Roth 2011",
        broken.sparse_vector_releases_answers,
        False,
        4,
        parameters=_THRESHOLD,
    ),
    GalleryEntry(
        "BadSVT, one more",
        "after CheckDP",
        broken.sparse_vector_one_true_too_many,
        False,
        5,
        parameters=_THRESHOLD,
    ),
    GalleryEntry(
        "BadGapSVT", "CheckDP", broken.gap_sparse_vector_plain_threshold, False, 4, parameters=_THRESHOLD
    ),
    GalleryEntry("BadNumSparseVector", "CheckDP", _reuses_the_comparison, False, 8, parameters={"bound": 1}),
    GalleryEntry("BadAdaptiveSVT", "CheckDP", _second_try_is_free, False, 3),
    GalleryEntry("Histogram", "Dwork et al. 2006", sums.histogram(1), True, neighbours="one"),
    GalleryEntry(
        "BadHistogram", "StatDP", broken.histogram_inverted_scale, False, 1, "one", {}, Fraction(1, 2)
    ),
    GalleryEntry("PartialSum", "LightDP, CheckDP", sums.partial_sum(1), True, neighbours="one"),
    GalleryEntry("BadPartialSum", "CheckDP", broken.partial_sum_noise_per_answer, False, 2, "one"),
    GalleryEntry("PrefixSum", "LightDP, CheckDP", sums.prefix_sum(1), True, neighbours="one"),
    GalleryEntry("BadPrefixSum", "after LightDP", _prefix_sum_without_noise, False, 2, "one"),
    GalleryEntry("SmartSum", "LightDP, CheckDP", sums.smart_sum(2, 3), True, neighbours="one"),
    GalleryEntry("BadSmartSum", "CheckDP", broken.smart_sum_exact_blocks, False, 2, "one"),
    GalleryEntry("Laplace, one answer", "Dwork et al. 2006", correct.laplace, True, 1, "one"),
    GalleryEntry(
        "Randomised response",
        "Warner 1965",
        _randomised_response,
        True,
        3,
        "one",
        {"honesty": Fraction(3, 4)},
        Fraction(11, 10),
    ),
    GalleryEntry(
        "Randomised response, ε too small",
        "Warner 1965",
        _randomised_response,
        False,
        1,
        "one",
        {"honesty": Fraction(3, 4)},
    ),
    GalleryEntry("Permute-and-flip", "McKenna and Sheldon 2020", _permute_and_flip, True, 3),
    GalleryEntry(
        "Flips in order",
        "after McKenna and Sheldon",
        _permute_and_flip,
        False,
        2,
        parameters={"permuted": False},
    ),
)
