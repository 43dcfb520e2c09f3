"""Measure output size against cost for a range of sampling factors."""

import numpy as np

from scoup import measures, results
from scoup.experiments.sparsity.measure import measure
from scoup.job import job
from scoup.simulate.truth import read_truth

with job(snakemake):
    at, dataset = snakemake.wildcards, results.read_dataset(snakemake.input.data)
    data = dataset.data.with_weights(snakemake.params.weights)
    settings, fits = snakemake.params.settings, iter(snakemake.input.fits)
    runs = {}
    for plan, path in zip(settings["plans"], snakemake.input.samples, strict=True):
        samples = results.read_samples(path)
        runs[plan] = ([results.read_fit(next(fits)) for _ in samples], samples)
    context = measures.Context(
        "sparsity", at.dataset, "whole", "", int(at.seed), dataset.provenance.mark
    )
    # Only data that was made of factors says which; no fit ever reads this.
    planted = [np.array(factor) for factor in read_truth(snakemake.input.raw).get("factors", [])]
    full = results.read_merged(snakemake.input.full).factors
    found = measure(data, runs, full, settings["finishes"], context, planted)
    results.write_metrics(snakemake.output.metrics, found, settings)
