"""Put what all plans found into one table and score it."""

from scoup import measures, results, store
from scoup.experiments.anomaly.measure import material, measure, read_planted
from scoup.job import job
from scoup.simulate.truth import read_truth

with job(snakemake):
    at, dataset = snakemake.wildcards, results.read_dataset(snakemake.input.data)
    tables = dict(
        zip(snakemake.params.plans, map(store.read_json, snakemake.input.found), strict=True)
    )
    truth = read_truth(snakemake.input.raw)
    planted = read_planted(truth, dataset.label("wall").ids) if truth else None
    context = measures.Context(
        "anomaly", at.dataset, "whole", "all", int(at.seed), dataset.provenance.mark
    )
    found = measure(tables, dataset.data.blocks[0].values, planted, context)
    results.write_metrics(snakemake.output.metrics, found, {"plans": snakemake.params.plans})
    store.write_archive(
        snakemake.output.material, results.MATERIAL, *material(tables, dataset, context)
    )
