"""Put the parts of all noun pairs together and measure."""

from scoup import measures, results, store
from scoup.experiments._images import flattened
from scoup.experiments.leave_two_out.measure import PART, LeaveTwoOutSpec, measure, unpack
from scoup.job import job

with job(snakemake):
    at, dataset = snakemake.wildcards, flattened(results.read_dataset(snakemake.input.data))
    parts = [unpack(store.read_archive(path, PART)[1]) for path in snakemake.input.parts]
    spec, mark = LeaveTwoOutSpec(**snakemake.params.settings), dataset.provenance.mark
    context = measures.Context(
        "leave_two_out", at.dataset, "whole", snakemake.params.plan, int(at.seed), mark
    )
    found = measure(parts, spec, [str(name) for name in dataset.labels[2].ids], context)
    found += results.read_metrics(*snakemake.input.pairs)
    results.write_metrics(snakemake.output.metrics, found, snakemake.params.settings)
