"""How near the audit on a device comes to the truth: the bound it reaches in a given time, as a share of the
true loss, for every entry of the catalogue that has a finite one; and leaks that happen once in ten million
runs."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from freegap.auditor import audit
from freegap_evidence.catalogue import CATALOGUE

EPSILONS = (0.2, 0.7, 1.5)
WANTED = 0.97
SEARCH_SAMPLES = 3_000  # proposals alone: what they come to is seen on the device
LEAK = 1e-7

Task = tuple[str, float]
Row = dict[str, Any]


def names() -> list[str]:
    """The entries whose true loss is finite, over inputs of any length."""
    return [name for name, entry in CATALOGUE.items() if entry.true_epsilon(1.0) is not None]


def measure(
    name: str, epsilon: float, *, device: Any, seconds: float, memory: int | None = None, seed: int = 1
) -> dict[str, Any]:
    """One entry at one ε."""
    entry = CATALOGUE[name]
    started = time.perf_counter()
    report = audit(
        entry.batch,
        epsilon=epsilon,
        neighbours=entry.neighbours,
        parameters={"bound": 1} if takes_bound(entry.mechanism) else None,
        search_samples=SEARCH_SAMPLES,
        stop_early=False,
        shrink=False,
        device=device,
        device_memory=memory,
        time_limit=seconds,
        seed=seed,
    )
    loss = entry.loss(epsilon, 10**9, {"bound": 1})
    closest = report.closest
    share = report.lower_bound / loss
    return {
        "name": name,
        "epsilon": epsilon,
        "true_loss": loss,
        "lower_bound": report.lower_bound,
        "share": round(share, 5),
        "runs": report.runs,
        "seconds": round(time.perf_counter() - started, 2),
        "found": None if closest is None else closest.to_dict(),
        "notes": list(report.notes),
        "enough": share >= WANTED,
    }


def takes_bound(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism has a bound on the number of answers; its loss is known for a bound of 1."""
    return "bound" in (mechanism.__kwdefaults__ or {}) or "bound" in mechanism.__code__.co_varnames


def leaks() -> dict[str, Callable[..., Any]]:
    """Mechanisms that give something away once in ten million runs, in different ways."""

    def marked(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
        leaked = rng.random(size) < LEAK
        noisy = sum(answers) + rng.laplace(scale=1 / epsilon, size=size)
        return xp.where(leaked, 1e6 + sum(answers), noisy)

    def exact(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
        leaked = rng.random(size) < LEAK
        noisy = sum(answers) + rng.laplace(scale=1 / epsilon, size=size)
        return xp.where(leaked, float(sum(answers)), noisy)

    def place(answers: Any, noise: Any, *, epsilon: float) -> Any:
        noisy = [answer + noise.laplace(2 / epsilon) for answer in answers]
        if answers[0] > 1 and noise.uniform(1) < LEAK:
            return -1
        return max(range(len(noisy)), key=lambda i: noisy[i])

    return {"marked": marked, "exact": exact, "place": place}


def measure_leak(
    name: str, *, device: Any, seconds: float, memory: int | None = None, seed: int = 1
) -> dict[str, Any]:
    """One planted leak, at ε = 1."""
    started = time.perf_counter()
    report = audit(
        leaks()[name],
        epsilon=1,
        neighbours="one" if name != "place" else "each",
        search_samples=SEARCH_SAMPLES,
        shrink=False,
        deep=True,
        device=device,
        device_memory=memory,
        time_limit=seconds,
        seed=seed,
    )
    return {
        "name": f"leak_{name}",
        "epsilon": 1.0,
        "share": None,
        "lower_bound": report.lower_bound,
        "runs": report.runs,
        "seconds": round(time.perf_counter() - started, 2),
        "found": None if report.closest is None else report.closest.to_dict(),
        "notes": list(report.notes),
        "enough": report.violated,
    }


def chosen(only: Iterable[str], epsilons: Iterable[float], part: tuple[int, int] = (1, 1)) -> list[Task]:
    """The audits to make: those named, or all; of these every n-th, from the i-th on."""
    wanted = list(only) or [*names(), *(f"leak_{name}" for name in leaks())]
    tasks: list[Task] = []
    for name in wanted:
        tasks += [(name, 1.0)] if name.startswith("leak_") else [(name, epsilon) for epsilon in epsilons]
    return tasks[part[0] - 1 :: part[1]]


def rows(tasks: Iterable[Task], *, device: Any, seconds: float, memory: int | None = None) -> Iterator[Row]:
    """What each of these audits came to."""
    for name, epsilon in tasks:
        if name.startswith("leak_"):
            yield measure_leak(name.removeprefix("leak_"), device=device, seconds=seconds, memory=memory)
        else:
            yield measure(name, epsilon, device=device, seconds=seconds, memory=memory)


def main() -> None:
    """On a machine with an accelerator and little else: a line of JSON for each audit."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("device")
    given.add_argument("seconds", type=float)
    given.add_argument("--only", action="append", default=[])
    given.add_argument("--epsilon", action="append", type=float, default=[])
    given.add_argument("--part", default="1/1")
    given.add_argument("--memory", type=int)
    options = given.parse_args()
    first, of = map(int, options.part.split("/"))
    tasks = chosen(options.only, options.epsilon or EPSILONS, (first, of))
    for row in rows(tasks, device=options.device, seconds=options.seconds, memory=options.memory):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
