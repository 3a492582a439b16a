"""`freegap cite`: how to name this version, and the papers behind it, in a text."""

from __future__ import annotations

from dataclasses import dataclass

import typer

import freegap
from freegap.cli.terminal import print_json

TITLE = "freegap: differentially private selection with free gaps"
AUTHORS = "The freegap authors"
YEAR = 2026


@dataclass(frozen=True)
class Paper:
    """A paper that freegap implements. where: the field of BibTeX that says where it appeared, and what."""

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    where: tuple[str, str]
    year: int
    identifier: tuple[str, str]

    def plain(self) -> str:
        """One line for people."""
        return f"{', '.join(self.authors)}: {self.title}. {self.where[1]}, {self.year}."

    def bibtex(self) -> str:
        """One entry."""
        fields = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}"}
        return _entry(
            self.kind, self.key, fields | dict([self.where, ("year", str(self.year)), self.identifier])
        )


PAPERS = (
    Paper(
        "ding2019freegap",
        "article",
        ("Zeyu Ding", "Yuxin Wang", "Danfeng Zhang", "Daniel Kifer"),
        "Free Gap Information from the Differentially Private Sparse Vector and Noisy Max Mechanisms",
        ("journal", "Proceedings of the VLDB Endowment 13(3)"),
        2019,
        ("doi", "10.14778/3368289.3368295"),
    ),
    Paper(
        "ding2023secure",
        "misc",
        (
            *("Zeyu Ding", "John Durrell", "Daniel Kifer", "Prottay Protivash", "Guanhong Wang"),
            *("Yuxin Wang", "Yingtai Xiao", "Danfeng Zhang"),
        ),
        "A Floating-Point Secure Implementation of the Report Noisy Max with Gap Mechanism",
        ("howpublished", "arXiv:2308.08057"),
        2023,
        ("eprint", "2308.08057"),
    ),
)


def cite(
    bibtex: bool = typer.Option(False, "--bibtex", help="BibTeX alone."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say how to cite this version and the papers behind it."""
    plain = [_plain(), *(paper.plain() for paper in PAPERS)]
    entries = [_software(), *(paper.bibtex() for paper in PAPERS)]
    if as_json:
        record = {"title": TITLE, "version": freegap.__version__, "plain": plain, "bibtex": entries}
        print_json(record)
        return
    if not bibtex:
        typer.echo("\n\n".join(plain) + "\n")
    typer.echo("\n\n".join(entries))


def _plain() -> str:
    return f"{AUTHORS}: {TITLE}. Version {freegap.__version__}, {YEAR}."


def _software() -> str:
    fields = {"author": f"{{{AUTHORS}}}", "title": f"{{{TITLE}}}", "year": str(YEAR)}
    return _entry("software", "freegap", fields | {"version": freegap.__version__, "license": "MIT"})


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}}}"
