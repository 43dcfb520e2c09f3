"""Leave one of the paper's noun pairs out of many runs of SCOUP."""

from scoup import measures, results
from scoup.experiments._images import flattened
from scoup.experiments.leave_two_out.pairs import PairsSpec, measure
from scoup.job import job
from scoup.specs import FitSpec, MergeSpec, SampleSpec

with job(snakemake):
    at, dataset = snakemake.wildcards, flattened(results.read_dataset(snakemake.input.data))
    specs = snakemake.params.specs
    asked = snakemake.params.settings
    models = SampleSpec(**specs["sample"]), FitSpec(**specs["fit"]), MergeSpec(**specs["merge"])
    pair, ridge = asked["pairs"][int(at.pair)], asked["ridges"][0]
    spec = PairsSpec([pair], asked["runs"], asked["pair_weights"], ridge, *models)
    plan, mark = snakemake.params.plan, dataset.provenance.mark
    context = measures.Context("leave_two_out", at.dataset, "whole", plan, int(at.seed), mark)
    found = measure(dataset.data, dataset.labels[0].ids, dataset.labels[2].ids, spec, context)
    results.write_metrics(
        snakemake.output.metrics, found, {"pair": list(pair), "runs": asked["runs"]}
    )
