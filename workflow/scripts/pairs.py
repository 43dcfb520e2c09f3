"""Leave one of the paper's noun pairs out of many runs of SCOUP."""

from scoup import results, store
from scoup.experiments.images import flattened
from scoup.experiments.pairs import PairsSpec, measure
from scoup.job import job
from scoup.specs import FitSpec, MergeSpec, SampleSpec

with job(snakemake):
    at, dataset = snakemake.wildcards, flattened(store.read_data(snakemake.input.data))
    specs = snakemake.params.specs
    asked = snakemake.params.settings
    models = SampleSpec(**specs["sample"]), FitSpec(**specs["fit"]), MergeSpec(**specs["merge"])
    pair, ridge = asked["pairs"][int(at.pair)], asked["ridges"][0]
    spec = PairsSpec([pair], asked["runs"], asked["pair_weights"], ridge, *models)
    plan, mark = snakemake.params.plan, dataset.provenance.mark
    context = results.Context("leave_two_out", at.dataset, "whole", plan, int(at.seed), mark)
    found = measure(dataset.data, dataset.labels[0].ids, dataset.labels[2].ids, spec, context)
    results.write_metrics(snakemake.output.metrics, found, {"pair": list(pair), "runs": asked["runs"]})
