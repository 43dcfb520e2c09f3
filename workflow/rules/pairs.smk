"""The paper's noun pairs. Need: data. Give: results/pairs/{dataset}/seed{seed}/pair{pair}.json, metrics of many runs."""


rule pairs:
    """Leave one of the paper's noun pairs out of many runs of SCOUP."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        metrics="results/pairs/{dataset}/seed{seed}/pair{pair}.json",
    log:
        "results/logs/pairs/{dataset}/seed{seed}/pair{pair}.log",
    benchmark:
        "results/benchmarks/pairs/{dataset}/seed{seed}/pair{pair}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of(
            "leave_two_out", ["pairs", "runs", "pair_weights", "ridges"]
        ),
        plan=asked("leave_two_out", "plan", ""),
        specs=specs_of("leave_two_out"),
        code=code_of("pairs"),
    script:
        "../scripts/pairs.py"
