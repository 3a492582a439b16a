"""Records are frozen: what was released, planned or written down is not changed afterwards."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import freegap

# What is filled while it is being used, and never given to anybody as a result.
CHANGING = {"freegap.exact.doubles.Candidates", "freegap.mechanisms.reference.Counters"}
# What searches and proves keeps its state where it is handy.
WITH_STATE = ("freegap.auditor", "freegap.prover", "freegap.symbolic")


def records() -> dict[str, type]:
    """Every dataclass of the package, by its full name."""
    found = {}
    for module in pkgutil.walk_packages(freegap.__path__, "freegap."):
        if module.name.startswith(WITH_STATE):
            continue
        loaded = importlib.import_module(module.name)
        for _, thing in inspect.getmembers(loaded, inspect.isclass):
            if dataclasses.is_dataclass(thing) and thing.__module__ == module.name:
                found[f"{module.name}.{thing.__qualname__}"] = thing
    return found


def test_records_are_frozen() -> None:
    found = records()
    assert len(found) > 30
    thawed = {name for name, kind in found.items() if not kind.__dataclass_params__.frozen}  # type: ignore[attr-defined]
    assert thawed == CHANGING


# Whose fields are given by name alone: there are many of them, or more may come before others.
BY_NAME = """
budget.chain.Line estimate.selection.Estimates laws.law.ExactLaw laws.law.Law mechanisms.exponential.Choice
mechanisms.histogram.HistogramPlan mechanisms.measurement.Measurement mechanisms.private_candidates.Candidate
mechanisms.threshold_plan.ThresholdPlan mechanisms.top_k_plan.TopKPlan mechanisms.unknown_counts.UnknownCounts
mechanisms.unknown_counts.UnknownCountsPlan mechanisms.unknown_domain.UnknownPlan
mechanisms.unknown_domain.UnknownTopK planner.budget_plan.BudgetPlan planner.designs.Design
planner.questions.PlannedQuestion planner.questions.PlannedRelease tables.histograms.NoisyHistogram
tables.means.NoisyMeans tables.quantiles_result.Quantiles tables.results.ItemsAbove
tables.results.TableRelease tables.results.TopItems tables.watch.WatchReport values.above.AboveThreshold
values.batches.AboveBatch values.batches.ReleaseBatch values.batches.TopKBatch values.kept.KeptRelease
values.ranking.HybridTopK values.ranking.TopK values.results.Release
""".split()
# Made so often that they have no dictionary each.
SLOTTED = """
exact.batched_threshold.BatchAbove exact.batched_threshold.Stops exact.doubles.Candidates
exact.noisy_threshold.Branch exact.parts.Batch exact.screening.Top mechanisms.batched_hybrid.DrawnLargest
mechanisms.batches.DrawnAbove mechanisms.batches.DrawnTopK mechanisms.online.Above mechanisms.online.Below
mechanisms.population.Population mechanisms.populations.Populations mechanisms.sparse_vector.RunAbove
mechanisms.unknown_populations.DrawnUnknown mechanisms.unknown_slots.Slots values.answers.Answers
values.thresholds.Offsets
""".split()
# Equal to themselves alone, or in a way of their own: arrays do not say yes or no, and a law is one record.
BY_IDENTITY = """
base2.eta.Eta charges._Opened laws.law.ExactLaw laws.law.Law values.batches.AboveBatch
values.batches.ReleaseBatch values.batches.TopKBatch
""".split()
SHOWN_BY_NAME = ["laws.law.ExactLaw", "laws.law.Law"]
# Fields that equality, a hash, a text or whoever makes the record leaves out.
LEFT_OUT = {
    "mechanisms.private_candidates.Candidate.output": "hash",  # any object, which may have none
    "mechanisms.top_k_plan.TopKPlan.mechanism": "compare",  # noisy max is noisy top-k with k = 1
    "mechanisms.unknown_counts.UnknownCountsPlan.mechanism": "compare",
    "mechanisms.unknown_domain.UnknownPlan.mechanism": "compare",
    "tables.described.SourceTable.table": "repr",  # private rows
    "tables.grouping.Grouping.labels": "hash",
    "tables.grouping.Grouping.sizes": "repr",
    "values.above.AboveThreshold.questions": "hash",
    "values.batches.ReleaseBatch.plan": "hash",
    "values.kept.KeptRelease.record": "hash",
    "values.measures.Pure.delta": "init repr",
    "values.measures.ZeroConcentrated.delta": "init repr",
    "values.results.Release.plan": "hash",
}


def test_how_records_are_made_compared_and_shown() -> None:
    found = {name.removeprefix("freegap."): kind for name, kind in records().items()}
    own = {
        name: [f for f in dataclasses.fields(kind) if f.name in kind.__annotations__]
        for name, kind in found.items()
    }
    options = {name: kind.__dataclass_params__ for name, kind in found.items()}  # type: ignore[attr-defined]
    assert [name for name in sorted(found) if own[name] and all(f.kw_only for f in own[name])] == BY_NAME
    assert [name for name in sorted(found) if "__slots__" in vars(found[name])] == SLOTTED
    assert [name for name in sorted(found) if not options[name].eq] == BY_IDENTITY
    assert [name for name in sorted(found) if not options[name].repr] == SHOWN_BY_NAME
    left_out = {
        f"{name}.{field.name}": " ".join(
            part for part in ("init", "repr", "compare", "hash") if getattr(field, part) is False
        )
        for name, fields in sorted(own.items())
        for field in fields
    }
    assert {name: parts for name, parts in left_out.items() if parts} == LEFT_OUT
