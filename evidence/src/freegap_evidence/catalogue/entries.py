"""The list: each mechanism with its source, its true ε and its mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from freegap.values.neighbours import Neighbours
from freegap_evidence.catalogue import batches, broken, correct
from freegap_evidence.catalogue.entry import GRID, CatalogueEntry, Loss


def _times(factor: float) -> Loss:
    return lambda epsilon, length, parameters: factor * epsilon


def _each(factor: float) -> Loss:
    """Every answer costs so many ε."""
    return lambda epsilon, length, parameters: factor * length * epsilon


def _never(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    return math.inf


def _with_bound(loss: Callable[[int, int], float]) -> Loss:
    """So many ε, given the length and the bound on the number of Trues (1 where it was not chosen)."""
    return lambda epsilon, length, parameters: loss(length, int(parameters.get("bound", 1))) * epsilon


def _inverted(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    return 1 / epsilon


def _leaked(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    """On the grid cell of the exact answer: the leak and the noise, against the noise one unit off."""
    leak, cell = 0.0005, -math.expm1(-epsilon / GRID) / 2
    return math.log((leak + (1 - leak) * cell) / ((1 - leak) * cell * math.exp(-epsilon)))


def _renormalised(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    """A count of 0 comes out e^ε times as often as with a count of 1, and the weights of 0 have the smaller
    sum: 1 + x + … + x^5 against that with x in the place of x^5, for x = e^−ε."""
    x = math.exp(-epsilon)
    weights = sum(x**i for i in range(correct.LARGEST + 1))
    return epsilon + math.log((weights + x - x**correct.LARGEST) / weights)


def _one_report(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    """Four bits, each the one that is kept for ever, of odds e^(ε/4), or with chance 1/4 the other."""
    odds, kept = math.exp(epsilon / 4), correct.REPORT_KEEPS
    return 4 * math.log((odds * kept + 1 - kept) / (odds * (1 - kept) + kept))


def _report_alone(epsilon: float, length: int, parameters: Mapping[str, Any]) -> float:
    return 4 * math.log(correct.REPORT_KEEPS / (1 - correct.REPORT_KEEPS))


# Where the noisy answer itself is released, its own noise alone hides it: with all noise moved against the
# answers, nothing else moves, and where the answers released are very low, no other way is cheaper.
_RELEASED = _with_bound(lambda length, bound: length / (2 * bound))
_RELEASED_PLAIN = _with_bound(lambda length, bound: 3 * length / (8 * bound))
_IGNORED = _with_bound(lambda length, bound: (1 + 6 * bound) / 4)
_TOO_MANY = _with_bound(lambda length, bound: 1 / 2 + (bound + 1) / (2 * bound))


def _second_try_free(length: int, bound: int) -> float:
    """In ε: a loss that grows with every answer, since nothing stops the run.

    In units of ε/(8·bound): an answer that rises by 1 and is far above the threshold loses 3, by the noise
    of both tries, and one that falls and is far below it 2, by that of the second, as long as the threshold
    stays where it is. It may move along with those that rise, or with those that fall, for 4·bound: then
    only the others lose, twice as much. The loss is that of the cheapest of these three ways, at the number
    of rising answers for which that is dearest; the third way is never the cheapest there.
    """
    most = min(length, (4 * bound + 2 * length) // 5)
    rising = {most, min(length, most + 1)}
    ways = (min(3 * u + 2 * (length - u), 4 * bound + 4 * (length - u)) for u in rising)
    return max(ways) / (8 * bound)


_LYU = "Lyu, Su and Li 2017"
_VALUE = "the value instead of the place"

_ENTRIES: list[tuple[str, str, Neighbours, Loss, str | None]] = [
    # name, source, neighbours, largest loss, mistake
    ("laplace", "Dwork et al. 2006, on a grid", "one", _times(1), None),
    ("laplace_clamped", "Dwork et al. 2006, clamped", "one", _times(1), None),
    ("histogram", "Ding 2020 algorithm 9", "one", _times(1), None),
    ("partial_sum", "Dwork et al. 2006", "one", _times(1), None),
    ("smart_sum", "Chan, Shi and Song 2011", "one", _times(1), None),
    ("noisy_max_laplace", "Ding 2020 algorithm 5", "each", _times(1), None),
    ("noisy_max_exponential", "Ding 2020 algorithm 6", "each", _times(1), None),
    ("exponential_mechanism", "McSherry and Talwar 2007", "each", _times(1), None),
    ("noisy_max_with_gap", "Ding 2020 algorithm 18", "each", _times(1), None),
    ("sparse_vector", f"Ding 2020 algorithm 11; {_LYU}, algorithm 1", "each", _times(1), None),
    ("sparse_vector_fresh_threshold", f"{_LYU}, algorithm 2", "each", _times(1), None),
    ("gap_sparse_vector", "Ding 2020 algorithm 17", "each", _times(1), None),
    ("adaptive_sparse_vector", "Ding 2020 algorithm 16", "each", _times(1), None),
    ("prefix_sum", "LightDP, CheckDP, DP-Sniper: PrefixSum", "one", _times(1), None),
    ("laplace_parallel", "DP-Sniper: LaplaceParallel", "one", _times(1), None),
    ("sum_and_count", "DP-Auditorium: means", "one", _times(1), None),
    ("truncated_geometric", "Balcer and Vadhan 2019; DP-Sniper", "one", _times(1), None),
    ("one_time_rappor", "Erlingsson, Pihur and Korolova 2014; DP-Sniper", "one", _times(1), None),
    ("rappor", "Erlingsson, Pihur and Korolova 2014; DP-Sniper", "one", _one_report, None),
    ("numerical_sparse_vector", "LightDP, ShadowDP, DP-Sniper: NumericalSVT", "each", _times(1), None),
    ("laplace_floating_point", "Mironov 2012", "one", _never, "the textbook mechanism in doubles"),
    ("laplace_half_noise", "a common slip", "one", _times(2), "half of the noise"),
    ("laplace_rare_leak", "a rare slip", "one", _leaked, "no noise once in two thousand runs"),
    ("histogram_inverted_scale", "Ding 2020 algorithm 10", "one", _inverted, "the scale is ε instead of 1/ε"),
    ("histogram_drops_empty_bins", "a common slip", "one", _never, "empty bins get no noise"),
    (
        "partial_sum_noise_per_answer",
        "a common slip",
        "one",
        _each(1),
        "the noise is shared out over the answers",
    ),
    ("smart_sum_exact_blocks", "after Chan, Shi and Song 2011", "one", _never, "block totals without noise"),
    (
        "prefix_sum_noise_per_total",
        "after LightDP: PrefixSum",
        "one",
        _each(1),
        "every sum is charged as if the others were not",
    ),
    (
        "laplace_parallel_each_alone",
        "after DP-Sniper: LaplaceParallel",
        "one",
        _times(correct.RELEASES),
        "each release is charged as if it were the only one",
    ),
    ("mean_exact_count", "after DP-Auditorium: means", "one", _never, "the scale tells the count"),
    (
        "truncated_geometric_renormalised",
        "after Balcer and Vadhan 2019",
        "one",
        _renormalised,
        "what lies outside is drawn again instead of clamped",
    ),
    (
        "one_time_rappor_bits_alone",
        "after Erlingsson, Pihur and Korolova 2014",
        "one",
        _times(4),
        "every bit is charged as if the others were not",
    ),
    (
        "rappor_without_memory",
        "after Erlingsson, Pihur and Korolova 2014",
        "one",
        _report_alone,
        "the permanent bits are left out",
    ),
    ("noisy_max_value_laplace", "Ding 2020 algorithm 7", "each", _each(1 / 2), _VALUE),
    ("noisy_max_value_exponential", "Ding 2020 algorithm 8", "each", _never, _VALUE),
    ("noisy_max_half_noise", "a common slip", "each", _times(2), "the noise for monotonic answers"),
    (
        "noisy_max_with_value",
        "after Ding 2020 algorithm 18",
        "each",
        _each(1 / 2),
        "the value with the place, instead of the gap",
    ),
    (
        "sparse_vector_no_query_noise",
        f"Ding 2020 algorithm 12; {_LYU}, algorithm 5",
        "each",
        _never,
        "no query noise",
    ),
    (
        "sparse_vector_no_bound",
        f"Ding 2020 algorithm 13; {_LYU}, algorithm 6",
        "each",
        _each(1 / 2),
        "no bound on the number of Trues",
    ),
    (
        "sparse_vector_noise_ignores_bound",
        f"Ding 2020 algorithm 14; {_LYU}, algorithm 4",
        "each",
        _IGNORED,
        "the noise does not grow with the bound",
    ),
    (
        "sparse_vector_releases_answers",
        f"Ding 2020 algorithm 15; {_LYU}, algorithm 3",
        "each",
        _RELEASED,
        "the noisy answer instead of True",
    ),
    ("sparse_vector_one_true_too_many", "a common slip", "each", _TOO_MANY, "stops one True too late"),
    (
        "numerical_sparse_vector_numbers_free",
        "after LightDP: NumericalSVT",
        "each",
        _times(2),
        "the numbers are not charged",
    ),
    (
        "gap_sparse_vector_plain_threshold",
        "after Ding 2020 algorithm 17",
        "each",
        _RELEASED_PLAIN,
        "the gap to the threshold without its noise",
    ),
    (
        "adaptive_sparse_vector_second_try_free",
        "after Ding 2020 algorithm 16",
        "each",
        _with_bound(_second_try_free),
        "the second try is never charged",
    ),
]

CATALOGUE: Mapping[str, CatalogueEntry] = {
    name: CatalogueEntry(
        name=name,
        mechanism=getattr(correct if mistake is None else broken, name),
        batch=getattr(batches, name, getattr(correct if mistake is None else broken, name)),
        source=source,
        neighbours=neighbours,
        loss=loss,
        mistake=mistake,
    )
    for name, source, neighbours, loss, mistake in _ENTRIES
}
