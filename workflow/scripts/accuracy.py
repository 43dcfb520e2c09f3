"""Measure what each further repetition adds to one run."""

from scoup import measures, results
from scoup.experiments.accuracy.measure import AccuracySpec, measure
from scoup.job import job
from scoup.metrics import cost

with job(snakemake):
    at, dataset = snakemake.wildcards, results.read_dataset(snakemake.input.data)
    data = dataset.data.with_weights(snakemake.params.weights)
    samples = results.read_samples(snakemake.input.samples)
    fits = [results.read_fit(path) for path in snakemake.input.fits]
    context = measures.Context(
        "accuracy", at.dataset, "whole", at.plan, int(at.seed), dataset.provenance.mark
    )
    full = cost(data, results.read_merged(snakemake.input.full).factors)
    found = measure(data, fits, samples, full, AccuracySpec(**snakemake.params.settings), context)
    results.write_metrics(snakemake.output.metrics, found, snakemake.params.settings)
