"""A remark on a budget that promises little. It depends on what is asked for alone, which is public."""

from __future__ import annotations

from fractions import Fraction

from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated, converted

_LARGE = 10
_DELTA = Fraction(1, 10**6)  # by which a ρ is compared with an ε, here as everywhere


def remarks_on(asked: Measure) -> list[str]:
    """What to say of an ε above 10, or of a ρ that is as much with δ = 10⁻⁶; of less, nothing.

    >>> remarks_on(Pure(Fraction(1)))
    []
    >>> print(*remarks_on(Pure(Fraction(12))))
    ε = 12 is above 10: it lets what comes out be e^12 times as likely with a person's data as without...
    """
    if isinstance(asked, ZeroConcentrated):
        epsilon = converted(asked, Approximate, delta=_DELTA).epsilon
        what = f"{_short(asked)} is as much as ε = {float(epsilon):.4g} with δ = 10^-6, which"
    else:
        epsilon, what = asked.spent, _short(asked)
    if epsilon <= _LARGE:
        return []
    rarely = "" if isinstance(asked, Pure) else " (rarely more)"
    return [
        f"{what} is above {_LARGE}: it lets what comes out be e^{float(epsilon):.4g} times as likely{rarely} "
        "with a person's data as without, which hides hardly anybody. `freegap plan` shows what less does."
    ]


def _short(asked: Measure) -> str:
    return f"{asked.symbol} = {float(asked.spent):.6g}"
