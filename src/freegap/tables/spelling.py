"""Spellings: "Café" in two encodings, "tea" and "Tea ", which no engine calls equal.

A warning looks at the public domain alone. Normalizing maps each row's item, by itself, to the item of the
domain that is spelt alike: what happens to a row depends on that row and on the public domain. It is done
here, in Python, for every distinct item, so that all engines agree.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument, SpellingWarning, frames_of_freegap
from freegap.tables.domains import Domain, HeldDomain, ListedDomain, ObservedDomain, listed_in_order
from freegap.tables.engine_errors import ask_engine
from freegap.tables.fetched import few_rows
from freegap.tables.parts import PartProduct, parts_of, text_of
from freegap.tables.sources import Frame, TableSource, frame_of

_LOOKED_AT = 100_000
_LISTED = 10**7


def spelt_alike(text: str) -> str:
    """What two spellings of one name share: composed (NFC), without case, without blanks too many.

    >>> spelt_alike(" Cafe\\u0301  NOIR") == spelt_alike("caf\\u00e9 noir")
    True
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def _alike(item: str, *, parted: bool) -> str:
    """The same of an item, each part of it by itself where it has several."""
    return text_of([spelt_alike(part) for part in parts_of(item)]) if parted else spelt_alike(item)


def _shown(item: str, *, parted: bool) -> Any:
    """A public item as its owner wrote it."""
    return parts_of(item) if parted else item


def warn_of_spellings(domain: Domain, called: str = "domain") -> None:
    """Say that spellings in a public domain look like slips. Of a long one the first items are looked at."""
    first: dict[str, str] = {}
    parted = not isinstance(domain, ObservedDomain) and domain.parted
    for item in _texts(domain):
        shown = _shown(item, parted=parted)
        other = first.setdefault(_alike(item, parted=parted), item)
        if other != item:
            others = _shown(other, parted=parted)
            _warn(f"{called} has {others!r} and {shown!r}, which differ in case, blanks or encoding only")
            return
        texts = shown if parted else [shown]
        if any(text != unicodedata.normalize("NFC", text) or text != text.strip() for text in texts):
            slip = "with blanks at its ends or in an encoding that is not composed (NFC)"
            _warn(f"{called} has {shown!r}, {slip}")
            return


def _texts(domain: Domain) -> Iterable[str]:
    if isinstance(domain, ListedDomain) and isinstance(domain.items, PartProduct):
        return islice(domain.items.examples(), _LOOKED_AT)
    if isinstance(domain, ListedDomain):
        if domain.kinds != {"text"}:
            return ()
        return domain.items[:_LOOKED_AT]
    if not isinstance(domain, HeldDomain) or domain.frame.collect_schema()["item"] != nw.String:
        return ()
    frame = domain.frame
    return ask_engine(lambda: few_rows(frame.head(_LOOKED_AT))["item"])


def _warn(what: str) -> None:
    warnings.warn(
        f"The {what}. Items are compared byte by byte; normalize=True takes spellings like these for "
        "one item.",
        SpellingWarning,
        stacklevel=frames_of_freegap(),
    )


def normalized(domain: Domain, source: TableSource) -> tuple[ListedDomain, TableSource]:
    """The domain as a list, and the table with each item as the domain spells it, and no others."""
    listed = _listed(domain)
    spelling: dict[str, str] = {}
    for item in listed.items:
        other = spelling.setdefault(_alike(item, parted=listed.parted), item)
        if other != item:
            both = [_shown(text, parted=listed.parted) for text in (other, item)]
            raise InvalidArgument(
                "domain", both, "has two spellings of one item, which normalize=True takes for one",
                "Keep one of them.",
            )  # fmt: skip
    if source.kind != "text" or not (source.connection is not None or _in_process(source.frame)):
        raise InvalidArgument(
            "normalize",
            True,
            "is for columns of text in files, pandas, Polars and PyArrow",
            "Normalize the column with the engine that holds the table.",
        )
    return listed, replace(source, frame=ask_engine(lambda: _respelt(source, spelling, listed.parted)))


def _listed(domain: Domain) -> ListedDomain:
    if isinstance(domain, HeldDomain):
        in_order = listed_in_order(ask_engine(lambda: domain.frame.collect()["item"].to_list()))
        return replace(in_order, parted=domain.parted)
    if isinstance(domain, ListedDomain) and domain.parted and len(domain.items) <= _LISTED:
        return replace(domain, items=list(domain.items))
    if isinstance(domain, ListedDomain) and domain.kinds <= {"text"} and domain.hashed:
        return domain
    raise InvalidArgument(
        "normalize", True, "needs a public list of texts to compare with", "Leave out normalize."
    )


def _in_process(frame: Frame) -> bool:
    engine = frame.implementation
    return engine.is_pandas_like() or engine.is_polars() or engine.is_pyarrow()


def _respelt(source: TableSource, spelling: dict[str, str], parted: bool) -> Frame:
    # PyArrow has several types of text, and joins none of them with another.
    frame: Frame = source.frame.with_columns(nw.col("item").cast(nw.String))
    once = (
        frame.group_by("item").agg(nw.len().alias("rows")).select("item").lazy().collect()["item"].to_list()
    )
    known = {
        item: spelling[key]
        for item in once
        if isinstance(item, str) and (key := _alike(item, parted=parted)) in spelling
    }
    columns = {"item": list(known), "spelt": list(known.values())}
    if source.connection is not None:
        import pyarrow

        types = pyarrow.schema([("item", pyarrow.string()), ("spelt", pyarrow.string())])
        pairs: Any = frame_of(source.connection.from_arrow(pyarrow.table(columns, schema=types)))
    else:
        text = {"item": nw.String(), "spelt": nw.String()}
        pairs = nw.from_dict(columns, schema=text, backend=frame.implementation)
        pairs = pairs.lazy() if isinstance(frame, nw.LazyFrame) else pairs
    others = [column for column in frame.collect_schema().names() if column != "item"]
    joined: Any = frame.join(pairs, on="item", how="inner")
    return joined.select(nw.col("spelt").alias("item"), *others)  # type: ignore[no-any-return]
