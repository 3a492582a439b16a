"""Symbolic execution: all paths of a program on numbers that are not known.

`freegap.symbolic.subset.follow` reads the source and interprets a defined subset of Python, and refuses the
rest: for proofs. `explore` runs the real function on symbols, NumPy included: for searches such as the
audit's, where a path that was missed costs a hint and no soundness.

    >>> from freegap.symbolic import explore, real
    >>> def larger(a, b):
    ...     return a if a > b else b
    >>> [(str(path.conditions[0]), str(path.result)) for path in explore(larger, [real("a"), real("b")])]
    [('-a + b < 0', 'a'), ('a - b <= 0', 'b')]

Both go through the program once a path. A branch on a symbolic truth value asks z3 which sides can
happen; where both can, one is taken now and the other in a later call. What cannot be followed (an
unbounded loop, `exp` of a symbol, a symbol as an index) raises `NotDecided` with the line of the program.
"""

from freegap.errors import MissingExtra

try:
    import z3 as z3
except ImportError:  # the core of freegap works without it
    raise MissingExtra("z3-solver", "prove") from None

from freegap.symbolic.certificate import Certificate, checker_named
from freegap.symbolic.conditions import Condition, both, either
from freegap.symbolic.draws import Draw, SymbolicGenerator, SymbolicNoise
from freegap.symbolic.explore import explore
from freegap.symbolic.given import GivenNoise
from freegap.symbolic.limits import Limits
from freegap.symbolic.paths import BranchTaken, Path
from freegap.symbolic.symbols import Symbol, SymbolicVariable, integer, is_public, public, real, reciprocal
from freegap.symbolic.undecided import NotDecided, OutOfTime

__all__ = [
    "BranchTaken",
    "Certificate",
    "Condition",
    "Draw",
    "GivenNoise",
    "Limits",
    "NotDecided",
    "OutOfTime",
    "Path",
    "Symbol",
    "SymbolicGenerator",
    "SymbolicNoise",
    "SymbolicVariable",
    "both",
    "checker_named",
    "either",
    "explore",
    "integer",
    "is_public",
    "public",
    "real",
    "reciprocal",
]
