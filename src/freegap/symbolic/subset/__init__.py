"""A defined subset of Python, with its own meaning: programs are read as text and never run to be proved.

`follow` takes a function, reads its source as a tree, and goes through it on symbols. Every construct has a
meaning here, or is refused with its line and the reason; docs/prove.md has the table. What there is:

    source        the tree of a function, and that it is the tree of what runs
    plain         what may be nowhere in it
    values        what a program can hold
    door          what it may read from outside, and in which terms
    frames        names
    arithmetic, order    numbers, comparisons: each decided at once
    floats        what Python's floats may lose of them
    expressions, statements, matching, calls, attributes, methods, builtins    the constructs
    machine       the state of one run
    follow        all paths
    confirmation  the real function does the same on each
"""

from freegap.symbolic.subset.confirmation import agree
from freegap.symbolic.subset.door import fresh, parameter
from freegap.symbolic.subset.follow import follow
from freegap.symbolic.subset.source import remember_source
from freegap.symbolic.subset.values import (
    MODELS,
    RECORDS,
    KnownNoise,
    NoiseInterface,
    Trusted,
    is_ours,
)

__all__ = [
    "MODELS",
    "RECORDS",
    "KnownNoise",
    "NoiseInterface",
    "Trusted",
    "agree",
    "follow",
    "fresh",
    "is_ours",
    "parameter",
    "remember_source",
]
