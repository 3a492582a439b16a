"""Sums of people's values: what one person adds to the total of an item, and how each engine computes it.

    row      its value in whole units u = 1/d: ⌊v·d + 1/2⌋, in doubles, after v·d was clipped to ±M/u, where
             M = max(|low|, |high|). A row without a value (null, NaN, a text that is no number) is left out
    person   the sum of the units of their rows for an item, clipped to [low, high]
    item     the sum over its people

Theorem  One person more or less adds or takes away one number in [low, high] for each item that they have,
         and nothing for the others. So each total moves by at most Δ = M; and where 0 is not between low and
         high, or is one of them, all totals move the same way.

The total is a sum of whole numbers, so no order of rows changes it: a sum of doubles depends on the order,
and one person's rows could change how all others' are rounded. What a row becomes depends on that row alone,
and is the same in every engine: a conversion to double, one multiplication, one addition and a rounding down,
each exact or correctly rounded (IEEE 754). Of decimals, whose conversion is not correctly rounded everywhere,
each must be a whole number of units by its type: then an error in the last digit changes nothing.

No sum leaves 64 bits: a row and a person have at most 2^31 units, and so 2^31 rows of one person, or 2^31
people of one item, stay below 2^62.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.behind_ibis import doubles_of, is_number
from freegap.tables.kinds import OFTEN_ALIKE, column_kind
from freegap.tables.sources import Frame, frame_of
from freegap.values.plans import PlainPlan, ReleasePlan
from freegap.values.rationals import positive_rational, rational

MOST_UNITS = 2**31
_USUAL_UNITS = 10**8
"""As many units as the larger of the bounds has at most, where the unit is left out."""


@dataclass(frozen=True)
class ClippedValue:
    """A column of values, and how much of it one person may add to the total of an item.

    low, high: the least and the most that is, both multiples of the unit.
    """

    column: str
    low: Fraction
    high: Fraction
    unit: Fraction

    @classmethod
    def read(cls, value: Any, low: Any, high: Any, unit: Any) -> Self | None:
        """Read the arguments of a release; None where there is no value.

        >>> ClippedValue.read("cost", 0, 100, None)
        ClippedValue(column='cost', low=Fraction(0, 1), high=Fraction(100, 1), unit=Fraction(1, 1000000))
        >>> ClippedValue.read("cost", 0, "99.99", "0.01").sensitivity
        9999
        """
        if value is None:
            for argument, given in (("low", low), ("high", high), ("unit", unit)):
                if given is not None:
                    raise InvalidArgument(
                        argument,
                        given,
                        "bounds the values of a column",
                        "Leave it out, or name one: value='…'.",
                    )
            return None
        if not isinstance(value, str):
            raise InvalidArgument("value", value, "must name a column", "Pass value='…'.")
        for argument, given in (("low", low), ("high", high)):
            if given is None:
                raise InvalidArgument(
                    argument,
                    None,
                    "is missing: without it one person could change a total by any amount",
                    "Pass the least and the most that one person may add to the total of an item, such as "
                    "low=0, high=100. Choose them without looking at the table.",
                )
        least, most = rational("low", low), rational("high", high)
        if not least <= most or least == most == 0:
            raise InvalidArgument(
                "high", high, "must be at least low, and not both 0", "Pass for example low=0, high=100."
            )
        largest = max(-least, most)
        rule = cls(
            value, least, most, _usual_unit(largest) if unit is None else positive_rational("unit", unit)
        )
        rule._require_units(low, high, unit)
        return rule

    def _require_units(self, low: Any, high: Any, unit: Any) -> None:
        if self.unit.numerator != 1 or self.unit.denominator > 10**15:
            raise InvalidArgument(
                "unit",
                unit,
                "must be the reciprocal of a whole number, 10^-15 at the finest",
                'Pass for example unit=1, or "0.01" for cents.',
            )
        for argument, bound, given in (("low", self.low, low), ("high", self.high, high)):
            if (bound / self.unit).denominator != 1:
                raise InvalidArgument(
                    argument,
                    given,
                    f"must be a multiple of the unit, {_written(self.unit)}",
                    "Pass a unit of which both bounds are multiples.",
                )
        if self.sensitivity > MOST_UNITS:
            raise InvalidArgument(
                "high" if self.high >= -self.low else "low",
                high if self.high >= -self.low else low,
                f"must be at most 2^31 units of {_written(self.unit)}, so that no sum leaves 64 bits",
                "Pass a larger unit, or divide the column.",
            )

    @property
    def sensitivity(self) -> int:
        """Δ in units: by how much one person can change the total of an item."""
        return int(max(-self.low, self.high) / self.unit)

    @property
    def monotonic(self) -> bool:
        """Whether one person moves all totals the same way: nobody adds to one and takes from another."""
        return self.low >= 0 or self.high <= 0

    @property
    def range(self) -> tuple[float, float]:
        """What totals can be, whatever the table is: not negative, not positive, or anything."""
        return (0.0 if self.low >= 0 else -math.inf), (0.0 if self.high <= 0 else math.inf)

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record."""
        return {"value": self.column, "low": self.low, "high": self.high, "unit": self.unit}

    def clipped(self, *, grouped: bool = False) -> str:
        """What is clipped, for people."""
        where = " in a group" if grouped else ""
        unit, most = _written(self.unit), _written(self.sensitivity * self.unit)
        return (
            f"the values of the column {self.column!r}: of each row rounded to a multiple of {unit} and to "
            f"at most {most} in size, and the sum of one person's rows for an item{where} to between "
            f"{_written(self.low)} and {_written(self.high)}"
        )

    def neighbours(self, *, by_row: bool = False, touched: int = 0) -> str:
        """Which tables may not be told apart. touched: in how many groups, where there are any."""
        way = ", and all in the same direction" if self.monotonic else ""
        more = "one row more" if by_row else "all rows of one more person"
        most = _written(self.sensitivity * self.unit)
        if touched:
            which = f"totals differ in at most {touched:,} of the groups, each by at most {most}{way}"
        else:
            which = f"each total differs by at most {most}{way}"
        return f"two tables of which one has {more}; {which}"

    def require_items(self, item: str, kind: str) -> None:
        """Where totals may be negative, what an engine tells apart must not be equal to Python.

        Of two such items the larger total is taken (`freegap.tables.tallies`). One that does not occur is not
        among them, though its total is 0: with a negative total beside it, one row would make the difference.
        Only the schema is looked at.
        """
        if self.low < 0 and kind in OFTEN_ALIKE:
            raise InvalidArgument(
                "low",
                _written(self.low),
                f"cannot be negative where items or groups are of the kind of column {item!r}, of which an "
                "engine may tell two apart that are equal",
                "Turn the column into texts or numbers first; in pandas by table.astype({…: 'string'}).",
            )

    def require_exact_items(self, kind: str) -> None:
        """The same of means, for which two numbers of an item must be of the same people."""
        if kind in OFTEN_ALIKE:
            raise InvalidArgument(
                "mean",
                True,
                "cannot go with items of a kind of which an engine may tell two apart that are equal",
                "Turn the column into texts or numbers first; in pandas by table.astype({…: 'string'}).",
            )

    def in_units(self, frame: Frame, *, typed: bool) -> Frame:
        """The frame with its column "value" in whole units, each row by itself; rows without one left out."""
        if not typed:
            others = ", ".join(name for name in frame.collect_schema().names() if name != "value")
            native = nw.to_native(frame).project(f"{others}, TRY_CAST(value AS DOUBLE) AS value")
            frame = frame_of(native)
        dtype = frame.collect_schema()["value"]
        self._require_numbers(frame, dtype)
        number = nw.col("value")
        present = is_number(frame, number) if dtype.is_float() else ~number.is_null()
        frame = frame.filter(present)
        if dtype == nw.Boolean:  # not all engines turn truth values into numbers
            number = nw.when(number).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
        else:
            frame = as_doubles(frame, "value")
        most = float(self.sensitivity)
        scaled = (number * float(self.unit.denominator)).clip(-most, most)
        whole = (scaled + 0.5).floor().cast(nw.Int64)
        units: Frame = frame.with_columns(whole.alias("value"))
        return units

    def of_people(self, rows: Frame, *further: str) -> Frame:
        """What each "person" adds to each "item" of theirs, as "value", once; further: in each of these."""
        low, high = int(self.low / self.unit), int(self.high / self.unit)
        sums: Frame = rows.group_by(*further, "item", "person").agg(nw.col("value").sum())
        # Sums of 64-bit numbers are wider in some engines.
        return sums.with_columns(nw.col("value").cast(nw.Int64).clip(low, high))

    def _require_numbers(self, frame: Frame, dtype: Any) -> None:
        """Only the schema is looked at, which is public, and never a row."""
        kind = "lists or structures" if dtype.is_nested() else column_kind(dtype, self.column)
        objects = frame.implementation.is_pandas_like() and nw.to_native(frame)["value"].dtype == object
        if objects or kind not in ("integer", "number", "float", "decimal", "truth value"):
            raise InvalidArgument(
                "value",
                self.column,
                "must be a column of numbers",
                "Convert the column first; in pandas, table.astype({…: float}).",
            )
        scale = getattr(dtype, "scale", None) if kind == "decimal" else 0
        if scale is None or (self.unit.denominator % 10**scale):
            places = "an unknown number of" if scale is None else str(scale)
            raise InvalidArgument(
                "unit",
                self.unit,
                f"must divide the values of column {self.column!r}, decimals with {places} places",
                "Pass a finer unit, or convert the column to floating point.",
            )


def as_doubles(frame: Frame, column: str) -> Frame:
    """The frame with a column of numbers as doubles, the nearest for whole numbers beyond 2^53: PyArrow alone
    would refuse those, and an error would tell that there is one. Decimals of PostgreSQL may be larger and
    smaller than all doubles; they are clipped and rounded first."""
    native = nw.to_native(frame)
    if frame.implementation.is_pyarrow():
        doubles = native[column].cast("float64", safe=False)
        return frame_of(native.set_column(native.column_names.index(column), column, doubles))
    if frame.implementation.is_pandas_like() and str(native[column].dtype).endswith("[pyarrow]"):
        return frame_of(native.assign(**{column: native[column].to_numpy(dtype=float, na_value=math.nan)}))
    if frame.implementation.is_ibis():
        native = doubles_of(native, [column])
    converted: Frame = frame_of(native).with_columns(nw.col(column).cast(nw.Float64))
    return converted


def how_moved(value: ClippedValue | None) -> dict[str, Any]:
    """What one person does to all counts, or to all totals in their units: `sensitivity` and `monotonic`."""
    if value is None:
        return {"sensitivity": 1, "monotonic": True}
    return {"sensitivity": value.sensitivity, "monotonic": value.monotonic}


def unit_of(value: ClippedValue | None) -> Fraction:
    """In which people are counted, or values added up."""
    return Fraction(1) if value is None else value.unit


def what_is_counted(value: ClippedValue | None, *, by_row: bool = False) -> str:
    """What the numbers of a release are called. by_row: whether each row is protected by itself."""
    counted = "rows" if by_row else "people"
    return counted if value is None else f"total {value.column}"


def in_values(plan: ReleasePlan, value: ClippedValue | None) -> ReleasePlan:
    """The plan of a release in the unit of the values, for the record."""
    if value is None:
        return plan
    parameters = dict(plan.parameters)
    parameters |= {
        name: parameters[name] * value.unit for name in ("scale", "sensitivity") if name in parameters
    }
    return PlainPlan(plan.mechanism, plan.asked, parameters | value.parameters)


def _written(number: Fraction) -> str:
    """A decimal where it is one, as everybody writes it."""
    places = next((places for places in range(16) if not 10**places % number.denominator), None)
    return str(number) if places is None else f"{Decimal(int(number * 10**places)).scaleb(-places):f}"


def _usual_unit(largest: Fraction) -> Fraction:
    """The power of ten, at most 1, of which the larger bound has as many as are usual, or fewer."""
    unit = Fraction(1)
    while largest / (unit / 10) <= _USUAL_UNITS:
        unit /= 10
    return unit
