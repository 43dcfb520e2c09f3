"""Look at every rank, recommend one or none, and name what its components are made of."""

from scoup import measures, results, store
from scoup.experiments.rank.measure import material, measure
from scoup.experiments.rank.scan import ScanSpec, scan
from scoup.job import job
from scoup.specs import FitSpec

with job(snakemake):
    at, dataset, params = (
        snakemake.wildcards,
        results.read_dataset(snakemake.input.data),
        snakemake.params,
    )
    context = measures.Context(
        "rank", at.dataset, "whole", params.plan, int(at.seed), dataset.provenance.mark
    )
    data = dataset.data.with_weights(params.weights)
    looks = scan(
        data, ScanSpec(**params.settings, fit=FitSpec(**params.specs["fit"])), context.seed
    )
    facts, arrays = material(looks, dataset, params.top, context)
    notes = {name: facts[name] for name in ("words", "reasons", "warnings")}
    results.write_metrics(
        snakemake.output.metrics, measure(looks, context), {**params.settings, **notes}
    )
    store.write_archive(snakemake.output.material, results.MATERIAL, facts, arrays)
