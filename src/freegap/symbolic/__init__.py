"""Symbolic execution of ordinary Python: run a function on symbols and get all of its paths.

    >>> from freegap.symbolic import explore, real
    >>> def larger(a, b):
    ...     return a if a > b else b
    >>> [(str(path.conditions[0]), str(path.result)) for path in explore(larger, [real("a"), real("b")])]
    [('-a + b < 0', 'a'), ('a - b <= 0', 'b')]

`explore` calls the function once a path. A branch on a symbolic truth value asks z3 which sides can
happen; where both can, one is taken now and the other in a later call. Loops unroll, and lists, sorting,
`max`, `min`, `abs`, `np.argmax` and early exit work because they only add, multiply and compare.
What cannot be followed (an unbounded loop, `exp` of a symbol, a symbol as an index) raises `NotDecided`
with the line of the program at which it happened. It never drops a path.
"""

from freegap.errors import MissingExtra

try:
    import z3 as z3
except ImportError:  # the core of freegap works without it
    raise MissingExtra("z3-solver", "prove") from None

from freegap.symbolic.conditions import Condition, both, either
from freegap.symbolic.draws import Draw, SymbolicGenerator, SymbolicNoise
from freegap.symbolic.explore import explore
from freegap.symbolic.given import GivenNoise
from freegap.symbolic.paths import Branch, Limits, Path
from freegap.symbolic.symbols import Symbol, Variable, integer, real
from freegap.symbolic.undecided import NotDecided

__all__ = [
    "Branch",
    "Condition",
    "Draw",
    "GivenNoise",
    "Limits",
    "NotDecided",
    "Path",
    "Symbol",
    "SymbolicGenerator",
    "SymbolicNoise",
    "Variable",
    "both",
    "either",
    "explore",
    "integer",
    "real",
]
