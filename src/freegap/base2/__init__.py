"""Differential privacy in powers of two: every probability is a finite binary number, used exactly.

Ilvento 2020: where privacy is measured as 2^η instead of e^ε, and η is chosen well (`Eta`), the
weights of the noise are finite binary numbers. The precision that they need is *bounded*, and known from
public parameters before any private value is looked at.

>>> from freegap import SeededBits, base2
>>> eta = base2.share_epsilon(1, k=1)
>>> base2.sparse_vector([2, 90], 50, k=1, eta=eta, low=0, high=100, width=50, bits=SeededBits(1)).above
(False, True)
"""

from freegap.base2.clamped import DiscreteSparseVector, sparse_vector
from freegap.base2.clamped_with_gap import DiscreteSparseVectorWithGap, sparse_vector_with_gap
from freegap.base2.draws import normalized_sample
from freegap.base2.eta import Eta
from freegap.base2.plan import share_epsilon
from freegap.base2.samplers import (
    clamped_laplace,
    conditional_lazy_threshold,
    lazy_threshold,
    symmetric_clamp,
)
from freegap.base2.unclamped import unclamped_sparse_vector
from freegap.base2.weights import get_sum

__all__ = [
    "DiscreteSparseVector",
    "DiscreteSparseVectorWithGap",
    "Eta",
    "clamped_laplace",
    "conditional_lazy_threshold",
    "get_sum",
    "lazy_threshold",
    "normalized_sample",
    "share_epsilon",
    "sparse_vector",
    "sparse_vector_with_gap",
    "symmetric_clamp",
    "unclamped_sparse_vector",
]
