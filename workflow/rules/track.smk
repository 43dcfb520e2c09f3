"""Tracking. Needs: metrics, fits, models, figures, scorecard, data. Gives: results/mlflow.db with its artifacts, and results/track.json.

The store itself is no output: Snakemake deletes outputs before a job, and the old store must stay until the new one is
whole. With MLFLOW_TRACKING_URI set, the runs go to that server instead.
"""

import os

from scoup.track import target


rule track:
    """Log every run to MLflow, in one process, from the files that the jobs left."""
    input:
        metrics=files_of_jobs(METRICS),
        facts=files_of_jobs(FACTS),
        logs=files_of_jobs(LOG),
        models=[
            model[file]
            for job in tracked_jobs()
            for model in job["fits"] + job["merged"]
            for file in ("path", "facts")
        ],
        figures=figure_files(["png"]),
        scorecard=["results/scorecard.json", "results/scorecard.md", "results/logs/scorecard.json"],
        data=expand("results/preprocess/{dataset}.npz", dataset=CONFIG.used),
    output:
        receipt="results/track.json",
    log:
        text="results/logs/track.log",
        facts="results/logs/track.json",
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        sources={
            "jobs": tracked_jobs(),
            "data": {name: f"results/preprocess/{name}.npz" for name in CONFIG.used},
            "figures": {name: figure_files(["png"], [name]) for name in EXPERIMENTS},
            "scorecard": {
                "claims": "results/scorecard.json",
                "table": "results/scorecard.md",
                "facts": "results/logs/scorecard.json",
            },
            "settings": {"datasets": DATASETS, "variants": VARIANTS, "plans": PLANS},
        },
        target=target(os.environ),
        code=code_of("track"),
    script:
        "../scripts/track.py"
