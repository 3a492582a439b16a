"""Every public mechanism and every online object, by name, with small arguments, and what charges them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import freegap as fg
from freegap import Ledger, base2

HIGH, LOW = 10**9, -(10**9)


class Untouchable:
    """A source from which nothing may be drawn."""

    private = True

    def bits(self, n: int) -> int:
        raise AssertionError("something was drawn")


def charge(ledger: Ledger, release: Callable[[], Any], epsilon: Any = 1) -> Any:
    return ledger.charge("shop", release, epsilon=epsilon, what="test")


def state(ledger: Ledger) -> tuple[Any, Any]:
    """What is settled, and what is held."""
    account = ledger.account("shop")
    return account.spent, account.reserved


_UNCLAMPED: dict[str, Any] = {"k": 2, "eta": base2.share_epsilon(1, k=2)}
_BASE2: dict[str, Any] = {"k": 2, "eta": base2.share_epsilon(1, k=2), "low": 0, "high": 1000, "width": 100}
_CANDIDATE: dict[str, Any] = {"epsilon": "1/4", "stop": "1/2", "hard_stop": "1/2"}
_COUNTS = [900, 20, 700, 30]


def _candidates() -> list[Callable[[Any], Any]]:
    return [lambda bits: fg.noisy_max(_COUNTS, epsilon="1/4", bits=bits)]


def _gap(release: Any) -> Fraction:
    gap: Fraction = release.gaps[0]
    return gap


RELEASES: dict[str, Callable[..., Any]] = {
    "noisy_top_k": lambda **more: fg.noisy_top_k(_COUNTS, **{"k": 2, "epsilon": 1} | more),
    "noisy_max": lambda **more: fg.noisy_max(_COUNTS, **{"epsilon": 1} | more),
    "sparse_vector": lambda **more: fg.sparse_vector(_COUNTS, 400, **{"k": 3, "epsilon": 1} | more),
    "adaptive_sparse_vector": lambda **more: fg.adaptive_sparse_vector(
        _COUNTS, 400, **{"k": 3, "epsilon": 1} | more
    ),
    "hybrid_top_k": lambda **more: fg.hybrid_top_k(_COUNTS, 400, **{"k": 4, "epsilon": 1} | more),
    "hybrid_sparse_vector": lambda **more: fg.hybrid_sparse_vector(
        _COUNTS, 400, **{"k": 4, "epsilon": 1} | more
    ),
    "exponential_mechanism": lambda **more: fg.exponential_mechanism(_COUNTS, **{"epsilon": 1} | more),
    "measure": lambda **more: fg.measure(_COUNTS, **{"epsilon": 1} | more),
    "noisy_top_k_each": lambda **more: fg.noisy_top_k_each(
        [_COUNTS, _COUNTS], **{"k": 1, "epsilon": 1, "populations_per_person": 1} | more
    ),
    "sparse_vector_each": lambda **more: fg.sparse_vector_each(
        [_COUNTS, _COUNTS], **{"threshold": 5, "k": 1, "epsilon": 1, "populations_per_person": 1} | more
    ),
    "histogram": lambda **more: fg.histogram(_COUNTS, **{"items_per_person": 1, "epsilon": 1} | more),
    "quantiles": lambda **more: fg.quantiles(_COUNTS, **{"q": 0.5, "epsilon": 1} | more),
    "select_and_measure": lambda **more: fg.select_and_measure(
        _COUNTS, **{"k": 3, "epsilon": 1, "threshold": 400} | more
    ),
    "select_private_candidate": lambda **more: fg.select_private_candidate(
        _candidates(), _gap, 20, **_CANDIDATE | more
    ),
    "best_private_candidate": lambda **more: fg.best_private_candidate(
        _candidates(), _gap, **_CANDIDATE | more
    ),
    "base2.sparse_vector": lambda **more: base2.sparse_vector(_COUNTS, 400, **_BASE2 | more),
    "base2.unclamped_sparse_vector": lambda **more: base2.unclamped_sparse_vector(
        _COUNTS, 400, **_UNCLAMPED | more
    ),
    "base2.sparse_vector_with_gap": lambda **more: base2.sparse_vector_with_gap(
        _COUNTS, 400, **_BASE2 | {"gaps": [10, 50]} | more
    ),
}

OBJECTS: dict[str, Callable[..., Any]] = {
    "SparseVector": lambda **more: fg.SparseVector(400, **{"k": 2, "epsilon": 1} | more),
    "AdaptiveSparseVector": lambda **more: fg.AdaptiveSparseVector(400, **{"k": 2, "epsilon": 1} | more),
    "base2.DiscreteSparseVector": lambda **more: base2.DiscreteSparseVector(400, **_BASE2 | more),
    "base2.DiscreteSparseVectorWithGap": lambda **more: base2.DiscreteSparseVectorWithGap(
        400, **_BASE2 | {"gaps": [10, 50]} | more
    ),
}

ALL = RELEASES | OBJECTS
