"""Put what all plans found into one table and score it."""

from pathlib import Path

from scoup import results, store
from scoup.experiments.anomaly import material, measure, read_planted
from scoup.job import job

with job(snakemake):
    at, dataset = snakemake.wildcards, store.read_data(snakemake.input.data)
    tables = dict(zip(snakemake.params.plans, map(store.read_json, snakemake.input.found), strict=True))
    truth, mark = Path(snakemake.input.raw) / "truth.json", dataset.provenance.mark
    planted = read_planted(store.read_json(truth), dataset.label("wall").ids) if truth.exists() else None
    context = results.Context("anomaly", at.dataset, "whole", "all", int(at.seed), mark)
    found = measure(tables, dataset.data.blocks[0].values, planted, context)
    results.write_metrics(snakemake.output.metrics, found, {"plans": snakemake.params.plans})
    store.write_archive(snakemake.output.material, results.MATERIAL, *material(tables, dataset, context))
