"""Correct and broken mechanisms, named by their mistake: what an audit must find, and what it must not.

>>> from freegap_evidence.catalogue import CATALOGUE
>>> entry = CATALOGUE["histogram_inverted_scale"]
>>> entry.true_epsilon(0.5), entry.broken_at(0.5), entry.broken_at(1.5)
(2.0, True, False)
>>> entry.wrong_line
'noisy.append(answer + noise.laplace(epsilon))'
"""

from freegap_evidence.catalogue.entries import CATALOGUE
from freegap_evidence.catalogue.entry import CatalogueEntry

__all__ = ["CATALOGUE", "CatalogueEntry"]
