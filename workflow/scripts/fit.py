"""Factorize one repetition's part of the data."""

from time import process_time

from scoup import results
from scoup.extract import gather
from scoup.fit import fit_part
from scoup.job import job
from scoup.specs import FitSpec
from scoup.values import view

with job(snakemake) as facts:
    data = view(results.read_dataset(snakemake.input.data).data, **snakemake.params.view)
    rep, seed = int(snakemake.wildcards.rep), int(snakemake.wildcards.seed)
    sample = results.read_samples(snakemake.input.samples)[rep]
    started, spec = process_time(), FitSpec(**snakemake.params.spec)
    cells = [results.read_extracted(path, rep) for path in snakemake.input.cells]
    fit = fit_part(gather(data, sample, cells), rep, spec, seed)
    # Seconds of this process alone: wall-clock seconds would count the jobs next to it.
    facts |= {"fit_seconds": process_time() - started, "sweeps": fit.report.iterations}
    results.write_fit(snakemake.output.fit, fit)
