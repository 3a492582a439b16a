"""Items of its own for each group: a mapping from groups to lists, or a table of pairs of group and item.

Which items a group has is public, as the items are. A row whose group does not have its item is left out, by
itself alone, as is a row whose item nobody lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.domain_columns import column_of, convert
from freegap.tables.domains import OBSERVED, ListedDomain, sized_values
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileTable, is_path, open_connection
from freegap.tables.groups import GroupItems, Places
from freegap.tables.kinds import is_missing
from freegap.tables.readers import column_names, read_columns
from freegap.tables.sources import Frame, TableSource, as_frame, exact_text, frame_of, pick
from freegap.values.labels import order_of_labels

MOST_LISTED = 1 << 26
"""So many items are listed in all groups together at most."""

Lists = dict[Any, list[Any]]


def lists_of_groups(
    domain: Any, column: str | None, group_column: str | None, source: TableSource
) -> Lists | None:
    """The items of each group; None where all groups have the same.

    source: the table, by whose kinds the texts of a file are read.
    """
    if group_column is not None:
        if source.parts:
            raise InvalidArgument(
                "domain_group", group_column, "cannot go with items of several columns", "Leave it out."
            )
        return _from_table(domain, column, group_column, source)
    if not isinstance(domain, Mapping) or source.parts:  # which it lists column by column
        return None
    if column is not None:
        raise InvalidArgument("domain_column", column, "is for tables", "Leave it out with a mapping.")
    for group, items in domain.items():
        if isinstance(items, str | bytes):  # whose letters would be the items
            raise InvalidArgument("domain", group, "must have a list of items", "Pass [item, …] for it.")
    return _checked({group: sized_values(items) for group, items in domain.items()})


def refuse_lists(domain: Any, group_column: str | None) -> None:
    """Where nobody has listed the groups, nobody can have listed the items of each."""
    if group_column is not None or isinstance(domain, Mapping):
        raise InvalidArgument(
            "domain",
            f"<{type(domain).__name__}>",
            "lists the items of each group, and so the groups: they are not unknown",
            "Leave out groups, or pass one list of items.",
        )


def items_of_groups(lists: Lists, groups: ListedDomain, listed: ListedDomain) -> GroupItems:
    """The same as places in the list of all items."""
    missing = [label for label in groups.items if label not in lists]
    if missing:
        raise InvalidArgument(
            "domain", missing[0], "is a group without items", "List the items of every group."
        )
    own = [lists[label] for label in groups.items]
    places = np.fromiter(map(listed.find, chain.from_iterable(own)), dtype=np.int64)
    starts: Places = np.concatenate([[0], np.cumsum([len(items) for items in own])]).astype(np.int64)
    return GroupItems(listed, (starts, places))


def all_items(lists: Lists) -> list[Any]:
    """What any group has, each once."""
    return list(dict.fromkeys(chain.from_iterable(lists.values())))


def _checked(lists: Mapping[Any, Any]) -> Lists:
    if sum(map(len, lists.values())) > MOST_LISTED:
        raise InvalidArgument(
            "domain", "<mapping>", f"must list at most {MOST_LISTED:,} items in all", "Divide the release."
        )
    checked = {group: list(items) for group, items in lists.items()}
    for group, items in checked.items():
        try:
            different = len(set(items))
        except TypeError:
            raise InvalidArgument(
                "domain", group, "must have hashable items", "Use tuples in place of lists."
            ) from None
        if different != len(items):
            raise InvalidArgument(
                "domain",
                group,
                "is a group with an item twice (1, 1.0 and True are equal)",
                "Remove the duplicates.",
            )
    return checked


def _from_table(domain: Any, column: str | None, group_column: str, source: TableSource) -> Lists:
    with ExitStack() as stack:
        if is_path(domain) and domain != OBSERVED:
            files = FileTable(domain, "domain")
            connection = stack.enter_context(open_connection())
            names, shown = column_names(connection, files), files.path
            wanted = _columns(names, column, group_column, source, shown, named=not files.by_header)
            typed, frame = files.typed, frame_of(read_columns(connection, files, list(wanted.values())))
        else:
            known = domain if isinstance(domain, str | list | tuple) else as_frame(domain, "domain")
            if not isinstance(known, nw.DataFrame | nw.LazyFrame):
                raise InvalidArgument(
                    "domain_group",
                    group_column,
                    "is for a domain that is a table or a file with a column of groups",
                    "Leave it out, or pass such a table as the domain.",
                )
            typed, frame, names = True, known, known.collect_schema().names()
            wanted = _columns(names, column, group_column, source, "<table>", named=True)
        pairs = ask_engine(lambda: exact_text(pick(frame, **wanted)))
        for kind in (source.kind, source.group_kind):  # the items; then, exchanged with them, the groups
            pairs = pairs if typed or kind == "text" else convert(pairs, kind)
            pairs = pairs.select(nw.col("cohort").alias("item"), nw.col("item").alias("cohort"))
        return _lists(pairs)


def _columns(
    names: list[str], column: str | None, group_column: str, source: TableSource, shown: str, *, named: bool
) -> dict[str, str]:
    if group_column not in names:
        raise InvalidArgument(
            "domain_group",
            group_column,
            f"is not a column of {shown}",
            f"Its columns are: {', '.join(names[:20])}.",
        )
    others = [name for name in names if name != group_column]
    return {"item": column_of(others, column, source.item, shown, named=named), "cohort": group_column}


def _lists(pairs: Frame) -> Lists:
    """In their own order, which no engine's scheduling changes; what is missing left out."""
    once: Frame = pairs.group_by("cohort", "item").agg(nw.len().alias("rows"))
    here = ask_engine(lambda: once.lazy().collect())
    lists: dict[Any, dict[Any, None]] = {}
    for group, item in zip(here["cohort"].to_list(), here["item"].to_list(), strict=True):
        if not is_missing(group) and not is_missing(item):
            lists.setdefault(group, {})[item] = None
    return _checked({group: _in_order(list(lists[group])) for group in _in_order(list(lists))})


def _in_order(labels: list[Any]) -> list[Any]:
    return [labels[place] for place in order_of_labels("domain", labels)]
