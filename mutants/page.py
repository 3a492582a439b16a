"""docs/mutants.md: what became of the mutants of each sample, and why those that survive do.

samples.json keeps each sample, since sources move on; its `sources`, what was sampled, is written by hand.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from mutants.generate import PACKAGES, files, mutants

SURVIVORS = Path(__file__).with_name("survivors.toml")
SAMPLES = Path(__file__).with_name("samples.json")
Results = dict[str, dict[str, Any]]
Change = tuple[str, str, str, str]  # file, class or function, old lines, new lines

_HEAD = """# Mutants

A test suite is as good as the mistakes that it notices. Here the mistakes are made by a program:
Cosmic Ray and some operators of our own (`mutants/operators.py`) change
one place at a time: a constant by one, a comparison to its neighbour or its opposite, `and` to `or`, `+` to
`-`, `min` to `max`; or they drop a check, a condition, a term, a factor, an argument, a lock, a decorator, a
`from None`. Each mutant is tried on those tests of `make test` that belong to the packages below and reach
the changed line, up to a minute of them, the quickest first. It is *killed* where a test fails or does not
end. Those that survive are then tried on the rest of `make test`: the linter, the type checker, and all other
tests that reach the line. What is left out of both: the tests that need Spark; the formatter and the rules
about spaces and the length of lines, since a program writes the mutants and `[ -1]` is no mistake of anybody;
the linter and the types where an `except` catches nothing, which is written as a name that nobody defined;
and the test that the list of our own mutants fits the sources, which fails on any change.

    make mutants-generated                          # all of them: many hours; what is stopped goes on
    make mutants-generated SAMPLE=100 ONLY="exact"  # at most 100 of a package, drawn with a fixed seed
    make mutants-generated SAMPLE=100 SEED=20       # others, that nobody has looked at

Beside these there are the mutants that people wrote, one wrong line each with the test that must notice it
(`tests/mutation/mutants.toml`, `make mutants`): all of those are killed. That is no score, since each has got
its test. This is one: on 2026-11-18 people who had written none of it put subtle mistakes into the sources
(an error bound without one of its terms, a limit off by one, δ divided wrongly, a person counted twice), in
rounds, each in other places, and tried each on the tests that could notice it before anything was added. Then
those that changed an output got a test, if possible one for all of their kind.

| round | where | mistakes | change nothing | noticed | score |
|---|---|---|---|---|---|
| 1 | the newest code | 46 | not told apart | 21 | 46 % |
| 2 | the newest code | 29 | not told apart | 15 | 52 % |
| 3 | batches, unknown domains, quantiles, intervals, ledger | 24 | 4 | 16 of 20 | 80 % |
| 4 | screens, base 2, measures, tables, ledger | 24 | 1 | 23 of 23 | 100 % |
| 5 | reading answers, plans, candidates, journal, watch, groups | 24 | 0 | 23 of 24 | 96 % |
| 6 | items of several columns, dates, groups, laws, bits, reservations | 24 | 2 | 19 of 22 | 86 % |
| 7 | sparse vectors, hybrids, scores, filters, engines, estimates | 24 | 1 | 20 of 23 | 87 % |
| terms | each term of the error bounds of batches and thresholds | 30 | not told apart | 14 | 47 % |

Of rounds 4 to 7 together 85 of 92 were noticed: a stranger's mistake is noticed nine times in ten, not
nineteen times in twenty. Most of what was not noticed was of a few kinds, for which there are tests now:
limits of whole numbers on either side and of either sign; digits that chance never draws; terms of proved
bounds, which are many times what doubles err by, so that no output shows a missing one (the last row: each is
now driven to where it decides); streams of digits that two releases share; what is missing in each kind of
column in each engine.

A sample is drawn by a seed, and measures mutants that nobody has looked at. Once its survivors have got
tests, it says nothing of the others any more, and the next sample does. So each has a table of its own.

*Tried*: the first of an order that a seed fixes, so that they are a random sample of a package's.
*Killed*: by the quick tests as they were when the sample was drawn. *By the rest*: of `make test` of then.
*Killed since*: they survived that, and tests that were added then notice them, as a second run showed.
*Same behaviour*: each with its reason below. *Score*: of the others that were tried; first, those killed by
the quick tests of that time; whole, by `make test` of that time, which is what to expect of mutants that
nobody has looked at (–: the rest was not tried); now, with the tests that were added then.
"""
_COLUMNS = (
    "| package | mutants | tried | killed | by the rest | killed since | same behaviour | not noticed yet "
    "| score, first | score, whole | score, now |"
)
_TITLES = {"whole": "Killed by the rest", "since": "Killed since", "open": "Not noticed yet"}


def explained() -> dict[Change, tuple[str, str]]:
    """Why a mutant may survive: by its file, class or function and change, the kind and the reason."""
    table = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))
    return {
        (row["file"], row["within"], *row["change"]): (row["kind"], row["why"])
        for row in table.get("survivor", ())
    }


def named(result: dict[str, Any]) -> Change:
    """What the reason of a result is kept under."""
    return result["file"], result.get("within", ""), result["old"], result["new"]


def written(root: Path, known: Results) -> None:
    """Bring the samples up to date with the results, and write the page."""
    samples = _samples(root / "src", known)
    SAMPLES.write_text(json.dumps(samples, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (root / "docs" / "mutants.md").write_text(page(samples), encoding="utf-8")


def _samples(source: Path, known: Results) -> list[dict[str, Any]]:
    """The samples that were kept, with those that there are results of in their place."""
    reasons = explained()
    kept = {sample["seed"]: sample for sample in json.loads(SAMPLES.read_text(encoding="utf-8"))}
    for seed in sorted({result["seed"] for result in known.values()}):
        of_seed = [result for result in known.values() if result["seed"] == seed]
        rows = {}
        for package in PACKAGES:
            those = [result for result in of_seed if result["package"] == package]
            tally = Counter(kind for result in those for kind in _verdict(result, reasons))
            if tally:
                all_of_them = sum(len(mutants(source, file)) for file in files(source, (package,)))
                rows[package] = dict(sorted(tally.items())) | {"all": all_of_them}
        shown = [(r, _verdict(r, reasons)[-1:]) for r in of_seed]
        kept[seed] = {"sources": ""} | kept.get(seed, {}) | {"seed": seed, "rows": rows}
        for kind in ("whole", "since", "open"):
            kept[seed][kind] = _changes(result for result, verdict in shown if verdict == [kind])
    return [kept[seed] for seed in sorted(kept)]


def _changes(results: Any) -> list[list[str]]:
    return sorted([result["file"], result["old"], result["new"], _by(result)] for result in results)


def _by(result: dict[str, Any]) -> str:
    """What noticed it."""
    return str((result if result["outcome"] == "killed" else result.get("whole", result))["by"])


def _verdict(result: dict[str, Any], reasons: dict[Change, tuple[str, str]]) -> list[str]:
    """What it counts as; the last of them says what became of it."""
    if result["outcome"] not in ("killed", "survived"):
        return []
    if result["first"] == "killed":
        return ["tried", "killed"]
    if result["outcome"] == "survived" and named(result) in reasons:
        return ["tried", "same"]
    whole = result.get("whole", {"tests": None, "first": "", "outcome": ""})
    asked = ["asked"] if "whole" in result and whole["tests"] == result["tests"] else []
    if asked and whole["first"] == "killed":
        return ["tried", *asked, "whole"]
    return ["tried", *asked, "since" if "killed" in (result["outcome"], whole["outcome"]) else "open"]


def page(samples: list[dict[str, Any]]) -> str:
    """The text."""
    lines = [_HEAD]
    for sample in reversed(samples):
        whole: Counter[str] = Counter()
        rows: list[tuple[str, Counter[str]]] = []
        for package, tally in sample["rows"].items():
            whole.update(tally)
            rows.append((f"`{package}`", Counter(tally)))
        rows.append(("**all**", whole))
        lines += [f"## Seed {sample['seed']}", "", sample["sources"], "", _COLUMNS, "|---" * 11 + "|"]
        asked = whole["asked"] > 0 or not whole["since"] + whole["open"]
        lines += [*(_row(*row, asked=asked) for row in rows), ""]
        for kind, title in _TITLES.items():
            changes = sample.get(kind)
            lines += [f"{title}:", "", *map(_item, changes), ""] if changes else []
    reasons = sorted(explained().items())
    lines += ["## Survivors that change no behaviour", ""]
    lines += [
        _item([f"{file}, {within}" if within else file, old, new, why])
        for (file, within, old, new), (_, why) in reasons
    ]
    return "\n".join(lines) + "\n"


def _item(change: list[str]) -> str:
    file, old, new, why = change
    return f"- `{file}`: `{old}` → `{new or '(dropped)'}`" + (f". {_end(why)}" if why else "")


def _end(why: str) -> str:
    """A reason as it is; of a test that failed, its file."""
    return f"`{why.split()[-1].partition('::')[0]}`." if why.startswith(("FAILED", "ERROR")) else why


def _row(name: str, tally: Counter[str], *, asked: bool) -> str:
    changing = tally["tried"] - tally["same"]
    first = tally["killed"]
    whole = first + tally["whole"]
    scores = [
        f"{100 * count / changing:.1f} %" if changing and count is not None else "–"
        for count in (first, whole if asked else None, whole + tally["since"])
    ]
    cells = (tally[kind] for kind in ("all", "tried", "killed", "whole", "since", "same", "open"))
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {' | '.join(scores)} |"
