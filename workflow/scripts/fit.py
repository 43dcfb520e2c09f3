"""Factorize one repetition's part of the data."""

from time import process_time

from scoup import results, store
from scoup.fit import fit_repetition
from scoup.job import job
from scoup.specs import FitSpec

with job(snakemake):
    data = results.read_dataset(snakemake.input.data).data.with_weights(snakemake.params.weights)
    sample = results.read_samples(snakemake.input.samples)[int(snakemake.wildcards.rep)]
    started = process_time()
    fitted = fit_repetition(
        data, sample, FitSpec(**snakemake.params.spec), int(snakemake.wildcards.seed)
    )
    # Seconds of this process alone: wall-clock seconds would count the jobs beside it.
    times = {"cpu": process_time() - started, "sweeps": fitted.report.iterations}
    store.write_json(snakemake.output.times, times)
    results.write_fit(snakemake.output.fit, fitted)
