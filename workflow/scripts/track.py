"""Build the MLflow store from the result files, or bring a server up to date."""

from pathlib import Path

from scoup import store
from scoup.job import check_recorded, job
from scoup.track import Sources, track

with job(snakemake) as facts:
    check_recorded([*snakemake.input.figures, *snakemake.input.scorecard])
    folder = Path(snakemake.output.receipt).parent
    receipt = track(Sources(**snakemake.params.sources), folder)
    store.write_json(snakemake.output.receipt, receipt)
    local = (folder / "mlflow.db", folder / "mlflow-artifacts")
    facts["other_outputs"] = [path for path in local if path.exists()]
