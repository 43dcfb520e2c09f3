"""Pages of the report. Need: metrics, scorecard, data, pages. Give: results/report, which `snakemake --report` gathers.

`make reproduce` makes results/report.html from these and the figures: Snakemake writes its report after the run.
"""


report: FRONT_PAGE


rule report:
    """Write the front page, the scorecard, a table for each experiment, provenance, and pages to look through."""
    input:
        metrics=all_metrics(),
        scorecard="results/scorecard.json",
        data=data_files(),
        folders=shown_folders(),
        methods=local(METHODS),
    output:
        front="results/report/front.rst",
        scorecard=report(
            "results/report/scorecard.html",
            category="0 scorecard",
            caption="../report/scorecard.rst",
            labels={"page": "scorecard"},
        ),
        tables=[
            report(
                f"results/report/{experiment}.html",
                category=chapter(experiment),
                caption="../report/table.rst",
                labels={"what": "all numbers"},
            )
            for experiment in EXPERIMENTS
        ],
        provenance=report(
            "results/report/provenance.html",
            category="9 provenance",
            caption="../report/provenance.rst",
            labels={"page": "raw files"},
        ),
        shown=[
            report(
                shown_page(folder),
                category=chapter(Path(folder).parts[2]),
                caption="../report/page.rst",
                labels={"what": f"components of {Path(folder).parts[3]}"},
            )
            for folder in shown_folders()
        ],
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        left_out=LEFT_OUT,
        code=code_of("report"),
    script:
        "../scripts/report.py"
