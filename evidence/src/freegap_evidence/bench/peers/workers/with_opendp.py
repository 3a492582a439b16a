"""OpenDP, as its user guide has it: spaces, a measurement that is made once, and called with the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def _library() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _scores(dp: Any) -> tuple[Any, Any]:
    """Vectors of whole numbers, all of which move the same way between neighbours."""
    return dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)


def noisy_top_k(job: Job) -> Release:
    """`make_noisy_top_k`: permute and flip, k times."""
    dp = _library()
    k = job["k"]
    select = dp.m.make_noisy_top_k(*_scores(dp), dp.max_divergence(), k=k, scale=k / job["epsilon"])
    assert select.map(1) <= job["epsilon"] * (1 + 1e-9)  # noqa: S101
    data = job["data"]
    return lambda: list(select(data))


def noisy_max(job: Job) -> Release:
    """`make_noisy_max`: permute and flip."""
    dp = _library()
    select = dp.m.make_noisy_max(*_scores(dp), dp.max_divergence(), scale=1 / job["epsilon"])
    assert select.map(1) <= job["epsilon"] * (1 + 1e-9)  # noqa: S101
    data = job["data"]
    return lambda: int(select(data))


def laplace(job: Job) -> Release:
    """`make_laplace` on a vector of whole numbers."""
    dp = _library()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    data = job["data"]
    noisy = dp.m.make_laplace(*space, scale=len(data) / job["epsilon"])
    assert noisy.map(len(data)) <= job["epsilon"] * (1 + 1e-9)  # noqa: S101
    return lambda: list(noisy(data))


def laplace_threshold(job: Job) -> Release:
    """`make_laplace_threshold`, with the lowest threshold that δ allows."""
    dp = _library()
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )

    def at(threshold: int) -> Any:
        return dp.m.make_laplace_threshold(*space, scale=1 / job["epsilon"], threshold=threshold)

    wanted = (job["epsilon"] * (1 + 1e-9), job["delta"])
    threshold = dp.binary_search(lambda t: dp_within(at(t).map((1, 1, 1)), wanted), bounds=(1, 10_000))
    release, data = at(threshold), job["data"]
    return lambda: list(release(data))


def dp_within(loss: tuple[float, float], wanted: tuple[float, float]) -> bool:
    """Whether both ε and δ are."""
    return loss[0] <= wanted[0] and loss[1] <= wanted[1]


def private_quantile(job: Job) -> Release:
    """`make_private_quantile`, on a grid of candidates a thousandth of the range apart."""
    dp = _library()
    low, high = job["bounds"]
    candidates = list(range(low, high + 1, (high - low) // 1000))
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def at(scale: float) -> Any:
        return dp.m.make_private_quantile(
            *space, dp.max_divergence(), candidates=candidates, alpha=0.5, scale=scale
        )

    release = dp.binary_search_chain(at, d_in=1, d_out=job["epsilon"], T=float)
    data = job["data"]
    return lambda: float(release(data))


def polars_counts(job: Job) -> Release:
    """A Polars query: the people of each of the public items, of which the largest are taken."""
    import polars as pl

    dp = _library()
    keys = pl.LazyFrame({"item": list(range(job["items"]))}, schema={"item": pl.Int64})

    def release() -> list[int]:
        context = dp.Context.compositor(
            data=pl.scan_csv(job["path"]),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
            privacy_loss=dp.loss_of(epsilon=job["epsilon"]),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=job["rows"])],
        )
        query = (
            context.query()
            .truncate_per_group(1, by=["item"])
            .truncate_num_groups(job["per_person"], by=["item"], keep="first")
            .group_by("item")
            .agg(dp.len(signed=True))
            .with_keys(keys)
        )
        counts = query.release().collect()
        return [int(item) for item in counts.sort("len", descending=True)["item"][: job["k"]]]

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {
    "top-k": {"make_noisy_top_k": noisy_top_k},
    "choice": {"make_noisy_max": noisy_max},
    "histogram": {"make_laplace": laplace},
    "threshold": {"make_laplace_threshold": laplace_threshold},
    "median": {"make_private_quantile": private_quantile},
    "table": {"Polars query": polars_counts},
}
