"""Measure how well a plan does as more and more cells are hidden."""

from scoup import measures, results, store
from scoup.experiments.missing.measure import Fitted, measure
from scoup.job import job

with job(snakemake):
    at, dataset = snakemake.wildcards, results.read_dataset(snakemake.input.data)
    models = [results.read_merged(path).factors for path in snakemake.input.merged]
    times = [store.read_json(path) for path in snakemake.input.times]
    truths = map(results.read_truth, snakemake.input.truth)
    variants = {}
    for n, (variant, fraction) in enumerate(snakemake.params.fractions.items()):
        mine = times[n * len(times) // len(models) : (n + 1) * len(times) // len(models)]
        variants[variant] = Fitted(fraction, models[n], mine, *(next(truths) if fraction else ()))
    context = measures.Context(
        "missing", at.dataset, "whole", at.plan, int(at.seed), dataset.provenance.mark
    )
    found = measure(dataset.data, variants, context)
    results.write_metrics(
        snakemake.output.metrics, found, {"fractions": snakemake.params.fractions}
    )
