"""Scorecard. Needs: the metrics of all experiments. Gives: results/scorecard.json and results/scorecard.md.

The table in README.md is copied from these by `make scorecard`, not by a rule: a run must not change tracked files.
"""


rule scorecard:
    """Set each claim of the paper beside what was measured."""
    input:
        metrics=all_metrics(),
    output:
        json="results/scorecard.json",
        table="results/scorecard.md",
    log:
        "results/logs/scorecard.log",
    benchmark:
        "results/benchmarks/scorecard.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=scorecard_digest,
    script:
        "../scripts/scorecard.py"
