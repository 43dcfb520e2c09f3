"""Factorize samples of a network and describe every component."""

from scoup import results, store
from scoup.experiments.anomaly.detect import DetectSpec, detect
from scoup.job import job
from scoup.specs import FitSpec, MergeSpec, SampleSpec

with job(snakemake):
    asked, data = snakemake.params, results.read_dataset(snakemake.input.data).data
    models = SampleSpec(**asked.sample), FitSpec(**asked.fit), MergeSpec(**asked.merge)
    spec = DetectSpec(asked.value, asked.weights, *models, jobs=snakemake.threads)
    store.write_json(snakemake.output.found, detect(data, spec, int(snakemake.wildcards.seed)))
