"""Factorize one repetition's part of the data."""

from time import process_time

from scoup import results
from scoup.fit import fit_repetition
from scoup.job import job
from scoup.specs import FitSpec
from scoup.values import view

with job(snakemake) as facts:
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    sample = results.read_samples(snakemake.input.samples)[int(snakemake.wildcards.rep)]
    started, spec = process_time(), FitSpec(**snakemake.params.spec)
    fit = fit_repetition(data, sample, spec, int(snakemake.wildcards.seed))
    # Seconds of this process alone: wall-clock seconds would count the jobs next to it.
    facts |= {"fit_seconds": process_time() - started, "sweeps": fit.report.iterations}
    results.write_fit(snakemake.output.fit, fit)
