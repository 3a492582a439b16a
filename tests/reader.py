"""What a reader of the README has: a shop with a table, mechanisms of their own, and a program."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

MECHANISMS = '''
"""First above a threshold: for the prover, with its alignment, and a sum for the auditor."""


def mechanism(answers, noise, *, epsilon):
    bar = noise.laplace(2 / epsilon, label="threshold")
    for i, answer in enumerate(answers):
        gap = answer + noise.laplace(4 / epsilon, label=i) - bar
        if gap >= 0:
            return i, gap
    return None


def alignment(answers, neighbour, output, noise):
    moved = {"threshold": noise["threshold"] + 1}
    if output is not None:
        i = output[0]
        moved[i] = noise[i] + 1 + answers[i] - neighbour[i]
    return moved


def release(answers, epsilon, rng):
    return round(answers[0] + rng.laplace(scale=1 / epsilon))
'''
PROGRAM = """#!{python}
import random, sys
for line in sys.stdin:
    runs, seed, epsilon, n, *answers = line.split()
    for _ in range(int(runs)):
        print(round(float(answers[0]) + (random.expovariate(1) - random.expovariate(1)) / float(epsilon)))
    sys.stdout.flush()
"""


def settle(directory: Path) -> None:
    """Write it all there."""
    products = [f"product {i}" for i in range(25)]
    (directory / "products.csv").write_text("product\n" + "".join(f"{name}\n" for name in products))
    rows = {"product": [products[i % 25] for i in range(5000)], "customer": list(range(5000))}
    pl.DataFrame(rows).write_parquet(directory / "baskets.parquet")
    (directory / "shop").mkdir()
    (directory / "shop" / "dp.py").write_text(MECHANISMS)
    program = directory / "my-program"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
