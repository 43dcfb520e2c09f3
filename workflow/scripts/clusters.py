"""Find components and ask whether the things at their ends belong together."""

from scoup import measures, results, store
from scoup.experiments.clusters.measure import ClustersSpec, find, material, measure
from scoup.job import job
from scoup.specs import FitSpec, MergeSpec, SampleSpec

with job(snakemake):
    at, dataset, specs = (
        snakemake.wildcards,
        results.read_dataset(snakemake.input.data),
        snakemake.params.specs,
    )
    models = SampleSpec(**specs["sample"]), FitSpec(**specs["fit"]), MergeSpec(**specs["merge"])
    spec, mark = (
        ClustersSpec(**snakemake.params.settings, sample=models[0], fit=models[1], merge=models[2]),
        dataset.provenance.mark,
    )
    context = measures.Context(
        "clusters", at.dataset, "whole", snakemake.params.plan, int(at.seed), mark
    )
    merged = find(dataset, spec, context.seed)
    found = measure(merged, dataset, spec, context)
    results.write_metrics(snakemake.output.metrics, found, snakemake.params.settings)
    store.write_archive(
        snakemake.output.material, results.MATERIAL, *material(merged, dataset, spec, context)
    )
