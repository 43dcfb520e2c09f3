"""Tracking. Needs: metrics, figures, scorecard, data. Gives: results/mlflow.db with its artifacts, and results/track.json.

The store itself is no output: Snakemake deletes outputs before a job, and the old store must stay until the new one is
whole. With MLFLOW_TRACKING_URI set, the runs go to that server instead.
"""

import os

from scoup.track import target


rule track:
    """Tell MLflow every run, in one process, from the files that the jobs left."""
    input:
        metrics=all_metrics(),
        figures=figure_files(),
        scorecard=["results/scorecard.json", "results/scorecard.md"],
        data=data_files(),
    output:
        receipt="results/track.json",
    log:
        "results/logs/track.log",
    benchmark:
        "results/benchmarks/track.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        figures=figures_of_experiments(),
        settings=tracked_settings(),
        target=target(os.environ),
        code=code_of("track"),
    script:
        "../scripts/track.py"
