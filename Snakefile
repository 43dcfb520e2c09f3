"""Contents page: from raw data to figures and scorecard, one file of rules a stage.

snakemake --cores 4                                               everything, at the paper's dimensions
snakemake --cores 4 --configfile workflow/configs/quick.yaml      everything, small
"""

from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")


configfile: Path(workflow.basedir, "config.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/download.smk"
include: "workflow/rules/preprocess.smk"
include: "workflow/rules/holdout.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/merge.smk"
include: "workflow/rules/folds.smk"
include: "workflow/rules/pairs.smk"
include: "workflow/rules/detect.smk"
include: "workflow/rules/experiments.smk"
include: "workflow/rules/plot.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/scorecard.smk"
include: "workflow/rules/track.smk"
include: "workflow/rules/report.smk"


rule all:
    """Make the figures of every experiment, the scorecard, the tracked runs and the pages of the report."""
    default_target: True
    input:
        figures=figure_files(),
        pages=page_files(),
        scorecard="results/scorecard.json",
        tracked="results/track.json",
        report="results/report/front.rst",
    localrule: True


onsuccess:
    note_scheduling("results/logs/scheduling.json", STARTED)
