"""Measure what an experiment asks, on one data set with one seed."""

from scoup import experiments
from scoup.evidence.files import write_material, write_metrics
from scoup.experiments._inputs import context_of, read_inputs
from scoup.job import job

with job(snakemake):
    name = snakemake.wildcards.experiment
    spec = experiments.spec_of(name, snakemake.wildcards.dataset, snakemake.params.spec)
    parts = experiments.parts_of(name, spec)
    inputs = read_inputs(snakemake.input, snakemake.params.models, parts, snakemake.threads)
    context = context_of(name, snakemake.wildcards, spec, inputs.dataset)
    outcome = experiments.measuring(name).measure(inputs, spec, context)
    write_metrics(snakemake.output.metrics, outcome.metrics, outcome.notes)
    write_material(snakemake.output.material, outcome.facts, outcome.arrays)
