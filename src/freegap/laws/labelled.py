"""The noise interface that a mechanism's program draws from.

The same program text runs on exact reals (`freegap.exact.reals`), on symbols and on given values
(`freegap.symbolic`), and on doubles in an experiment. Each draw may carry a label, which names it in proofs.
Whoever provides noise inherits from `LabelledNoise` and says in `draw` what a draw is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from freegap.laws.exponential import EXPONENTIAL, GEOMETRIC
from freegap.laws.further import NORMAL, STAIRCASE, UNIFORM
from freegap.laws.gumbel import GUMBEL
from freegap.laws.laplace import DISCRETE_LAPLACE, LAPLACE
from freegap.laws.law import Law
from freegap.laws.logistic import LOGISTIC

Drawn = TypeVar("Drawn", covariant=True)


class LabelledNoise(Protocol[Drawn]):
    """Independent noise, one method for each law; a draw is of the type that the program calculates with."""

    @abstractmethod
    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Drawn:
        """Noise of this law and scale, with the resolution or the step that the law needs."""

    def laplace(self, scale: Any, label: Any = None) -> Drawn:
        """Density e^(−|x|/scale)/(2·scale)."""
        return self.draw(LAPLACE, scale, label)

    def exponential(self, scale: Any, label: Any = None) -> Drawn:
        """Density e^(−x/scale)/scale on x ≥ 0."""
        return self.draw(EXPONENTIAL, scale, label)

    def geometric(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Drawn:
        """Mass proportional to e^(−x/scale) on x = 0, γ, 2γ, … for the resolution γ."""
        return self.draw(GEOMETRIC, scale, label, resolution=resolution)

    def discrete_laplace(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Drawn:
        """Mass proportional to e^(−|x|/scale) on the multiples of the resolution."""
        return self.draw(DISCRETE_LAPLACE, scale, label, resolution=resolution)

    def staircase(self, scale: Any, label: Any = None, *, step: Any) -> Drawn:
        """Density constant on stairs, that falls by e^(−step/scale) from x to x + step and not faster."""
        return self.draw(STAIRCASE, scale, label, step=step)

    def gumbel(self, scale: Any, label: Any = None) -> Drawn:
        """Distribution function exp(−e^(−x/scale))."""
        return self.draw(GUMBEL, scale, label)

    def logistic(self, scale: Any, label: Any = None) -> Drawn:
        """Distribution function 1/(1 + e^(−x/scale))."""
        return self.draw(LOGISTIC, scale, label)

    def uniform(self, scale: Any = 1, label: Any = None) -> Drawn:
        """Uniform on (0, scale)."""
        return self.draw(UNIFORM, scale, label)

    def normal(self, scale: Any, label: Any = None) -> Drawn:
        """Mean 0, standard deviation scale."""
        return self.draw(NORMAL, scale, label)

    # What is made of one draw: the chances do not depend on the answers, except for an exponent.

    def coin(self, probability: Any, label: Any = None) -> Any:
        """True with this probability: uniform noise that is smaller."""
        drawn: Any = self.uniform(1, label)
        return drawn < probability

    def exponential_coin(self, exponent: Any, label: Any = None) -> Any:
        """True with the probability e^(−exponent), and always if that is negative: exponential noise that is
        not smaller. The exponent may depend on the answers."""
        drawn: Any = self.exponential(1, label)
        return drawn >= exponent

    def exponential_choice(self, exponents: Sequence[Any], label: Any = None) -> int:
        """The place of one of these exponents x, with a probability that is proportional to e^x: the largest
        with Gumbel noise, labelled (label, place). The exponents may depend on the answers."""
        best, largest = 0, exponents[0] + self.gumbel(1, (label, 0))
        for place in range(1, len(exponents)):
            value = exponents[place] + self.gumbel(1, (label, place))
            if value > largest:
                best, largest = place, value
        return best

    def choice(self, weights: Sequence[Any], label: Any = None) -> int:
        """The place of one of these weights, with a probability that is proportional to it."""
        drawn: Any = self.uniform(sum(weights), label)
        below = 0
        for place, weight in enumerate(weights[:-1]):
            below = below + weight
            if drawn < below:
                return place
        return len(weights) - 1
