"""Time every contender in one process, alone on the machine."""

from scoup import measures, results
from scoup.experiments.speedup.measure import SpeedupSpec, measure
from scoup.job import job

with job(snakemake):
    at, dataset = snakemake.wildcards, results.read_dataset(snakemake.input.data)
    plan = snakemake.params.plan
    data = dataset.data.with_weights(plan["weights"])
    spec = SpeedupSpec(**snakemake.params.settings, rank=plan["rank"], shared=plan["shared"])
    context = measures.Context(
        "speedup", at.dataset, "whole", "full", int(at.seed), dataset.provenance.mark
    )
    results.write_metrics(
        snakemake.output.metrics, measure(data, spec, context), snakemake.params.settings
    )
