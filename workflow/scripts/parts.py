"""Compute one independent part of an experiment."""

from scoup import experiments
from scoup.evidence.files import write_part
from scoup.experiments._inputs import read_inputs
from scoup.job import job

with job(snakemake):
    name, seed = snakemake.wildcards.experiment, int(snakemake.wildcards.seed)
    spec = experiments.spec_of(name, snakemake.wildcards.dataset, snakemake.params.spec)
    inputs = read_inputs(snakemake.input, snakemake.params.models)
    arrays = experiments.measuring(name).measure_part(inputs, spec, snakemake.wildcards.part, seed)
    write_part(snakemake.output.part, arrays)
