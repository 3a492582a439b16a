"""An old release as an assumption: its estimates, or how far its gaps say that the counts are apart.

It is paid for already, and what is computed from it is post-processing: a plan from it costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from freegap.errors import InvalidArgument
from freegap.planner.assumed import DECLARE, Assumed, crowd_of, ranks_from
from freegap.planner.crowds import Crowd
from freegap.values.rationals import count_argument, rational

_SAYS = {"spent", "private"}  # what every release says of itself
_COUNTS = ("estimates", "values", "counts")  # under which a release has them
_GAPS_TO_THE_NEXT = ("noisy_top_k", "unknown_top_k", "top_k")
_NOISY = "The old release is noisy itself: by chance its counts look further apart, or closer, than they are."
_NO_OTHERS = (
    "Items that it does not name are left out, as if they never came near: chances are at most these. "
    "With items, the size of the domain, they go on as a power law."
)


def is_release(record: Any) -> bool:
    """Whether this is what a release writes as JSON."""
    return isinstance(record, Mapping) and set(record) >= _SAYS


def release_in_file(path: Path) -> Any:
    """The release that a file holds as JSON; other JSON is refused."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            "counts", str(path), f"cannot be read as JSON ({type(error).__name__})", "Pass a release's JSON."
        ) from None
    if not is_release(read):
        raise InvalidArgument(
            "counts", str(path), "is not a release of freegap", "Pass what `--json` or `to_json` wrote."
        )
    return read


def released_counts(release: Mapping[str, Any], items: Any, *, public: bool) -> Assumed:
    """Estimates as counts, with the runner-up where the last gap tells of it; else what the gaps tell."""
    if release["private"] is not True and not public:
        raise InvalidArgument(
            "public", public, "the release was made with seeded noise, and protects nobody", DECLARE
        )
    selection = release.get("selection")
    selected = selection if isinstance(selection, Mapping) else release
    gaps = _numbers(selected.get("gaps"))
    estimates = next(filter(None, (_numbers(release.get(name)) for name in _COUNTS)), [])
    if not estimates:
        lines = _numbers(selected.get("thresholds"))  # to which the gaps are
        estimates = [line + gap for line, gap in zip(lines, gaps, strict=False)]
    to_next = gaps if selected.get("mechanism", selected.get("release")) in _GAPS_TO_THE_NEXT else []
    if estimates:
        return _estimated(estimates, to_next[len(estimates) - 1 :], items)
    if not to_next:
        raise InvalidArgument(
            "counts", "<a release>", "tells of no counts", "Pass a release with gaps or estimates."
        )
    if items is not None:
        raise InvalidArgument(
            "items", items, "is of no use: gaps alone do not tell how counts go on", "Leave it out."
        )
    falling = np.cumsum([0.0, *to_next])
    what = f"how far the {len(falling)} items of an old release are apart"
    return Assumed(crowd_of(falling[-1] - falling), what, relative=True, remarks=(_NOISY, _NO_OTHERS))


def _estimated(estimates: list[float], last_gap: list[float], items: Any) -> Assumed:
    counts = sorted(estimates, reverse=True)
    counts += [counts[-1] - gap for gap in last_gap[:1]]  # the runner-up
    counts = [max(count, 0.0) for count in counts]
    what = f"the {len(counts)} counts that an old release tells of"
    if items is None:
        return Assumed(crowd_of(counts), what, remarks=(_NOISY, _NO_OTHERS))
    return _continued(
        Assumed(crowd_of(counts), what, remarks=(_NOISY,)), counts, count_argument("items", items)
    )


def _continued(made: Assumed, counts: list[float], items: int) -> Assumed:
    """The items that are not named go on by the power law that fits those that are."""
    known = np.array([(rank, value) for rank, value in enumerate(counts, 1) if value > 0])
    if items <= len(counts) or len(known) < 2:
        return made
    ranks, values = np.log(known).T
    exponent = max(-float(np.polyfit(ranks, values, 1)[0]), 0.0)
    ranks, sizes = ranks_from(len(counts) + 1, items)
    tail = known[-1, 1] * (ranks / known[-1, 0]) ** -exponent
    values = np.append(made.counts.values, np.minimum(tail, counts[-1]))
    both = Crowd(values, np.append(made.counts.sizes, sizes))
    what = f"{made.what}, then a power law of exponent {exponent:.2f} up to item {items:,}"
    return replace(made, counts=both, what=what)


def _numbers(values: Any) -> list[float]:
    """Numbers as a release writes them: floats, or texts such as "1/3"."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        return []
    return [float(rational("counts", value)) for value in values if value is not None]
