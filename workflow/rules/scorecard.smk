"""Scorecard. Needs: the metrics of all experiments. Gives: results/scorecard.json and results/scorecard.md.

The table in README.md is copied from these by `make scorecard`, not by a rule: a run must not change tracked files.
"""


rule scorecard:
    """Compare each claim of the paper with what was measured."""
    input:
        metrics=files_of_jobs(METRICS),
    output:
        json="results/scorecard.json",
        table="results/scorecard.md",
    log:
        text="results/logs/scorecard.log",
        facts="results/logs/scorecard.json",
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        own=OWN,
        code=code_of("scorecard", *(f"scoup.experiments.{name}.measure" for name in EXPERIMENTS)),
    script:
        "../scripts/scorecard.py"
