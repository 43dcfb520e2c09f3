"""Components of a network. Need: data. Give: results/detect/{dataset}/{plan}/seed{seed}.json, everything that a plan finds."""


rule detect:
    """Factorize samples of a network and describe every component; planted truth is not an input."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        found="results/detect/{dataset}/{plan}/seed{seed}.json",
    log:
        "results/logs/detect/{dataset}/{plan}/seed{seed}.log",
    benchmark:
        "results/benchmarks/detect/{dataset}/{plan}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        value=value_of,
        weights=weights_of,
        sample=sample_spec_of,
        fit=fit_spec_of,
        merge=merge_spec_of,
        code=code_of("detect"),
    script:
        "../scripts/detect.py"
