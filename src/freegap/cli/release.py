"""What `freegap top-k` and `freegap above` share: options, where the release goes, and the ledger."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.progress import TaskProgressColumn

import freegap
from freegap.cli.files import require_writable, write
from freegap.cli.terminal import print_json, print_release, progress_bar
from freegap.errors import FreegapError, InvalidArgument

TABLE = typer.Argument(
    help="CSV, Parquet, JSON, Arrow, Excel or FIMI .dat: a file, a glob or a directory, or - for standard "
    "input. The folder of a Delta or Iceberg table. Or a database: .duckdb, .sqlite or postgresql://…, with "
    "--table or --query."
)
NAME = typer.Option(None, "--table", help="The table of a database.", show_default=False)
QUERY = typer.Option(
    None, help="In its place: SELECT columns FROM table WHERE condition, no more.", show_default=False
)
FORMAT = typer.Option(
    None, "--format", help="csv, parquet, …, where the name does not say it.", show_default=False
)
DELIMITER = typer.Option(None, help="Of CSV, where it is not a comma.", show_default=False)
ENCODING = typer.Option(None, help="Of text files, where it is not UTF-8.", show_default=False)
SHEET = typer.Option(None, help="Of an Excel file with several sheets.", show_default=False)
PARTITIONS = typer.Option(
    None, "--partition", help="A column that folders state (year=2026). May be repeated.", show_default=False
)
ITEM = typer.Option(
    None,
    help="The column of items. May be repeated: items of several columns. Left out for a .dat file.",
    show_default=False,
)
PERSON = typer.Option(
    None, help="The column of persons: ε protects one value of it. Left out for .dat.", show_default=False
)
PROTECT = typer.Option(
    None,
    help="'rows' where there is no column of persons: each row is protected by itself. With --every, "
    "'windows': what one person does in one of them is.",
    show_default=False,
)
WHERE = typer.Option(
    None,
    help="Which rows, by a condition on one row: \"age >= 18 AND ward IN ('A', 'B')\". It is public.",
    show_default=False,
)
DOMAIN = typer.Option(
    None,
    help="The public items: a file with a column of them, or A..B for the whole numbers from A to B, or "
    "'observed'. Where nobody has a list: 'unknown', with --delta. Once for each --item: all combinations.",
    show_default=False,
)
DOMAIN_COLUMN = typer.Option(None, help="The domain's column, if not named as --item.", show_default=False)
OBSERVED = typer.Option(
    False, "--observed-keys-are-public", help="With --domain observed: the set of items may be known."
)
DELTA = typer.Option(
    None,
    help="With --domain or --groups unknown: the chance with which privacy may fail.",
    show_default=False,
)
PEOPLE = typer.Option(None, help="A public number of people: --delta may be one over it.", show_default=False)
ITEMS_PER_PERSON = typer.Option(
    None,
    help="With --domain unknown: count each person for so many items at most.",
    show_default=False,
)
VALUE = typer.Option(
    None,
    help="A column of numbers: totals of it, in place of the number of people, with --low and --high.",
    show_default=False,
)
LOW = typer.Option(None, help="The least that a person adds to the total of an item.", show_default=False)
HIGH = typer.Option(None, help="The most that a person adds to the total of an item.", show_default=False)
UNIT = typer.Option(None, help="Values are rounded to multiples of it, such as 0.01.", show_default=False)
GROUP = typer.Option(None, help="A column of groups: release the same in each group.", show_default=False)
GROUPS = typer.Option(
    None,
    help="The public groups: a file with a column of them, or A..B. Or 'unknown', with --delta.",
    show_default=False,
)
LISTED_GROUPS = typer.Option(
    None, help="The public groups: a file with a column of them, or A..B.", show_default=False
)
DOMAIN_GROUP = typer.Option(
    None,
    help="The domain's column of groups, where each group has items of its own. --groups may then be left "
    "out.",
    show_default=False,
)
GROUPS_PER_PERSON = typer.Option(
    None,
    help="Count each person in so many groups at most; each group has that part of the budget.",
    show_default=False,
)
ONE_GROUP = typer.Option(
    False, "--one-group-per-person", help="Declare, unchecked, that nobody is in two groups."
)
NORMALIZE = typer.Option(
    False, "--normalize", help="Items that differ in case, blanks or encoding (NFC) only are one."
)
EPSILON = typer.Option(None, help="The privacy budget in ε, such as 1, 0.5 or 1/3.", show_default=False)
RHO = typer.Option(
    None, help="The privacy budget in ρ (zero-concentrated), instead of --epsilon.", show_default=False
)
NOISE = typer.Option(None, help="exponential (the default) or laplace.", show_default=False)
LEDGER = typer.Option(None, help="Charge this data set of the budget ledger.", show_default=False)
JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")
DRY_RUN = typer.Option(False, "--dry-run", help="Show charge and error bars; touch nothing.")
SEED = typer.Option(
    None, help="For tests only: seeded noise. The release is NOT PRIVATE.", show_default=False
)

_RANGE = re.compile(r"(-?\d{1,30})\.\.(-?\d{1,30})")


EVERY = typer.Option(None, help="Windows of time: day, month, quarter or year.", show_default=False)
TIME = typer.Option(None, help="With --every: the column of times.", show_default=False)
SINCE = typer.Option(None, help="With --every: the first day, such as 2026-01-01.", show_default=False)
UNTIL = typer.Option(None, help="With --every: the first day after the range.", show_default=False)


def source_of(
    table: str,
    name: str | None,
    query: str | None,
    format_: str | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    partitions: list[str] | None,
    **windows: Any,
) -> Any:
    """The table, with what was said of how to read it."""
    return freegap.source(
        table,
        name=name,
        query=query,
        format=format_,
        delimiter=delimiter,
        encoding=encoding,
        sheet=sheet,
        partitions=partitions or (),
        **windows,
    )


def in_windows(grouping: dict[str, Any], windows: dict[str, Any], protect: str | None) -> dict[str, Any]:
    """The groups of a dry run: those that were named, or the windows of time."""
    from freegap.tables.windows import TimeWindows

    read = TimeWindows.read(**windows)
    if read is None:
        return grouping
    alone = grouping["one_group_per_person"] or protect == "windows"
    return grouping | {"group": read.title, "groups": read.labels, "one_group_per_person": alone}


def options_of(
    *,
    item: list[str] | None,
    person: str | None,
    protect: str | None,
    where: str | None,
    domain: list[str] | None,
    domain_column: str | None,
    observed: bool,
    normalize: bool,
    ledger: str | None,
    seed: int | None,
    noise: str | None,
    epsilon: str | None,
    rho: str | None,
) -> dict[str, Any]:
    """The options of a command as arguments of the function behind it."""
    return {
        "item": item_of(item),
        "person": person,
        "protect": protect,
        "where": where,
        "domain": domain_of(domain, item),
        "domain_column": domain_column,
        "observed_keys_are_public": observed,
        "normalize": normalize,
        **({} if noise is None else {"noise": noise}),
        "epsilon": epsilon,
        "rho": rho,
        "ledger": None if ledger is None else (freegap.Ledger(), ledger),
        "bits": None if seed is None else freegap.SeededBits(seed),
    }


def groups_of(
    group: str | None, groups: str | None, groups_per_person: int | None, one_group_per_person: bool
) -> dict[str, Any]:
    """The options of groups as arguments."""
    return {
        "group": group,
        "groups": _range(groups, "groups"),
        "groups_per_person": groups_per_person,
        "one_group_per_person": one_group_per_person,
    }


def deliver(run: Callable[[], Any], *, as_json: bool, out: Sequence[Path] | None) -> None:
    """Make a release; show it, and write it into files."""
    require_writable(out or ())
    with progress_bar(as_json, TaskProgressColumn()) as bar:
        task = bar.add_task("counting people", total=None)
        from freegap.tables.progress import watched

        with watched(lambda done: bar.update(task, total=1, completed=done)):
            release = run()
    try:
        print_release(release, as_json=as_json)
        write(release, out or ())
    except OSError as error:
        raise FreegapError(
            f"The release was made and paid for, but cannot be written ({error.strerror}). With --ledger it "
            "is there: `freegap budget show` has its line, `freegap budget release LINE` prints it again."
        ) from None


def forecast(made: Any, *, as_json: bool) -> None:
    """Show what a release would cost."""
    if as_json:
        print_json(made.to_dict())
    else:
        typer.echo("\n".join(made.lines()))


def item_of(item: Sequence[str] | None) -> str | list[str] | None:
    """One column of items, or several."""
    columns = list(item or ())
    return columns if len(columns) > 1 else columns[0] if columns else None


def domain_of(domain: Sequence[str] | None, item: Sequence[str] | None) -> Any:
    """The public items; or of several columns a list for each."""
    given, columns = list(domain or ()), list(item or ())
    if len(given) < 2:
        return _range(given[0] if given else None)
    if len(given) != len(columns):
        raise InvalidArgument(
            "domain",
            given,
            f"must be given once, or once for each of the {len(columns)} columns of --item",
            "Give each --item a --domain of its own, in the same order.",
        )
    return dict(zip(columns, map(_range, given), strict=True))


def _range(text: str | None, argument: str = "domain") -> Any:
    matched = _RANGE.fullmatch(text or "")
    if matched is None:
        return text
    low, high = int(matched[1]), int(matched[2])
    if high < low:
        raise InvalidArgument(argument, text, "ends before it begins", "Pass for example 0..999.")
    return range(low, high + 1)
