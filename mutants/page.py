"""docs/mutants.md: what became of the mutants, and why those that survive do."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from mutants.generate import PACKAGES, Mutant, files, mutants

SURVIVORS = Path(__file__).with_name("survivors.toml")
Results = dict[str, dict[str, str]]

_HEAD = """# Mutants

A test suite is as good as the mistakes that it notices. Here the mistakes are made by a program:
Cosmic Ray and some operators of our own (`mutants/operators.py`) change
one place at a time: a constant by one, a comparison to its neighbour or its opposite, `and` to `or`, `+` to
`-`, `min` to `max`; or they drop a check, a condition, a term, a factor, an argument, a lock, a decorator, a
`from None`. Each mutant is tried on those tests of `make test` that belong to the packages below and reach
the changed line; the ones that need Spark are left out. It is *killed* where a test fails or does not end.
`make test` also runs a linter and a type checker, which notice some more (a dropped `from None`, an argument
that is missing); they are not counted here.

    make mutants-generated                          # all of them: many hours; what is stopped goes on
    make mutants-generated SAMPLE=100 ONLY="exact"  # at most 100 of a package, drawn with a fixed seed

Beside these there are the mutants that people wrote, one wrong line each with the test that must notice it
(`tests/mutation/mutants.toml`, `make mutants`): all of those are killed.

"""


def explained() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Why a mutant may survive: by file, old line and new line, the kind of reason and the reason."""
    table = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))
    return {(row["file"], *row["change"]): (row["kind"], row["why"]) for row in table.get("survivor", ())}


def page(source: Path, known: Results) -> str:
    """The text, from the results for the sources as they are now."""
    reasons = explained()
    rows, open_ones = [], []
    whole: Counter[str] = Counter()
    for package in PACKAGES:
        those = [mutant for file in files(source, (package,)) for mutant in mutants(source, file)]
        tally = Counter[str](all=len(those))
        for mutant in those:
            tally.update(_verdict(mutant, known, reasons))
            result = known.get(mutant.key)
            if result is not None and "open" in _verdict(mutant, known, reasons):
                open_ones.append(result)
        whole.update(tally)
        rows.append(_row(f"`{package}`", tally))
    rows.append(_row("**all**", whole))
    lines = [
        _HEAD + "| package | mutants | tried | killed | killed since | same behaviour | not noticed yet "
        "| score, first | score, now |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "*Tried*: the first of an order that a seed fixes, so that they are a random sample of a package's.",
        "*Killed since*: they survived that run, and a test that was added since notices them.",
        "*Same behaviour*: each with its reason below. *Score*: killed, of the others that were tried:",
        "first, by the tests of that run, which is what to expect of mutants that nobody has looked at;",
        "now, with those that were added since.",
        "",
        "## Survivors that change no behaviour",
        "",
        *(
            f"- `{file}`: `{old}` → `{new or '(dropped)'}`. {why}"
            for (file, old, new), (kind, why) in sorted(reasons.items())
            if kind != "since"
        ),
        "",
        "## Survivors that tests notice since",
        "",
        *(
            f"- `{file}`: `{old}` → `{new or '(dropped)'}`. {why}"
            for (file, old, new), (kind, why) in sorted(reasons.items())
            if kind == "since"
        ),
        "",
        "## Survivors that no test notices yet",
        "",
        *([f"- `{r['file']}`: `{r['old']}` → `{r['new'] or '(dropped)'}`" for r in open_ones] or ["None."]),
    ]
    return "\n".join(lines) + "\n"


def _verdict(
    mutant: Mutant, known: Results, reasons: dict[tuple[str, str, str], tuple[str, str]]
) -> list[str]:
    result = known.get(mutant.key)
    if result is None or result["outcome"] not in ("killed", "survived"):
        return []
    if result["outcome"] == "killed":
        return ["tried", "killed"]
    kind, _ = reasons.get((result["file"], result["old"], result["new"]), ("open", ""))
    return ["tried", kind if kind in ("since", "open") else "same"]


def _row(name: str, tally: Counter[str]) -> str:
    changing = tally["tried"] - tally["same"]
    counts = (tally["killed"], tally["killed"] + tally["since"])
    scores = [f"{100 * count / changing:.1f} %" if changing else "–" for count in counts]
    cells = (tally[kind] for kind in ("all", "tried", "killed", "since", "same", "open"))
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {' | '.join(scores)} |"


def written(root: Path, known: Results) -> None:
    """Write the page."""
    (root / "docs" / "mutants.md").write_text(page(root / "src", known), encoding="utf-8")
