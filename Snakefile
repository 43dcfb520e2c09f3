"""Contents page: from raw data to figures, scorecard and report, one file of rules per stage."""

from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")


configfile: Path(workflow.basedir, "config.yaml")


report: "workflow/report/methods.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/forks.smk"
include: "workflow/rules/files.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/download.smk"
include: "workflow/rules/preprocess.smk"
include: "workflow/rules/holdout.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/extract.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/merge.smk"
include: "workflow/rules/experiments.smk"
include: "workflow/rules/plot.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/scorecard.smk"
include: "workflow/rules/track.smk"
include: "workflow/rules/report.smk"


rule all:
    """Make the report, and with it every figure, page, number and tracked run."""
    default_target: True
    input:
        report="results/report.html",
        tracked="results/track.json",
        figures=figure_files(["svg", "pdf", "png"]),


onsuccess:
    note_scheduling("results/logs/scheduling.json", STARTED, stop_fork_servers())
