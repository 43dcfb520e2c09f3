"""Report. Needs: metrics, scorecard, figures, pages, data. Gives: results/report.html, which opens without a network."""

CHAPTERS = [
    {
        "experiment": name,
        "text": experiments.summary(name),
        "captions": list(experiments.declared(name).CAPTIONS.values()),
        "pages": (CONFIG.experiments[name].datasets if experiments.has_page(name) else []),
    }
    for name in EXPERIMENTS
]
FINDINGS = [
    {"name": job["experiment"], "dataset": job["dataset"]}
    for job in jobs_of(names=filter(experiments.has_findings, EXPERIMENTS), seeds=1)
    if job["dataset"] in OWN
]


rule report:
    """Gather findings, scorecard, figures, tables, pages and provenance in one file."""
    input:
        metrics=files_of_jobs(METRICS),
        scorecard="results/scorecard.json",
        figures=figure_files(["svg"]),
        pages=files_of_jobs(PAGE, names=filter(experiments.has_page, EXPERIMENTS), seeds=1),
        material=[MATERIAL.format(experiment=job["name"], seed=0, **job) for job in FINDINGS],
        data=expand("results/preprocess/{dataset}.npz", dataset=CONFIG.used),
        methods=local(str(Path(workflow.basedir, "workflow", "report", "methods.rst"))),
    output:
        report="results/report.html",
    log:
        text="results/logs/report.log",
        facts="results/logs/report.json",
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        chapters=CHAPTERS,
        datasets=CONFIG.used,
        left_out=LEFT_OUT,
        findings=FINDINGS,
        models=files_of_all_models(MERGED),
        code=code_of("report", "scoup.report"),
    script:
        "../scripts/report.py"
