"""`--out`: a release as a file, in the form that the ending of its name says."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

import freegap
from freegap.errors import InvalidArgument, printable

OUT: Any = typer.Option(
    None,
    "--out",
    help="Write it here: .csv, .parquet, .xlsx or .json, a page as .html, a chart as .svg, .png or .pdf. "
    "May be repeated.",
    show_default=False,
)

_PICTURES = (".svg", ".png", ".pdf")


def _json(release: Any, path: Path) -> None:
    path.write_text(release.to_json(indent=2) + "\n", encoding="utf-8")


def _page(release: Any, path: Path) -> None:
    from freegap.values.page import page

    path.write_text(page(release, version=freegap.__version__), encoding="utf-8")


_WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    ".csv": lambda release, path: release.to_csv(path),
    ".parquet": lambda release, path: release.to_parquet(path),
    ".xlsx": lambda release, path: release.to_excel(path),
    ".json": _json,
    ".html": _page,
    **dict.fromkeys(_PICTURES, lambda release, path: release.plot(path)),
}


def require_writable(paths: Sequence[Path]) -> None:
    """Whatever could prevent writing is looked for first, because a release that was made is paid for."""
    from freegap.report.pictures import require_drawable
    from freegap.values.export import writer_for

    for path in paths:
        ending = path.suffix.lower()
        if ending not in _WRITERS:
            known = " ".join(_WRITERS)
            raise InvalidArgument("out", str(path), f"must end with one of {known}", "Pass release.csv.")
        if ending in (*_PICTURES, ".html"):
            require_drawable()
        elif ending != ".json":
            writer_for(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab"):
                pass
        except OSError as error:
            raise InvalidArgument(
                "out", str(path), f"cannot be written ({error.strerror})", "Choose another place."
            ) from None


def write(release: Any, paths: Sequence[Path]) -> None:
    """Write a release into files, and say so."""
    for path in paths:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            _WRITERS[path.suffix.lower()](release, path)
        for line in (*(str(remark.message) for remark in remarks), f"Written: {path}"):
            typer.echo(printable(line), err=True)
