"""Experiments. Need: data, index sets, fits. Give: results/experiments/<name>/..., a metrics file each.

One shape for all: the rule, the script, scoup/experiments/<name>.py and the section of config.yaml bear one name,
settings come through params, and the only output is one file of metrics (workflow/schemas/metrics.schema.json).
"""


rule accuracy:
    """Measure what each further repetition adds to one run."""
    input:
        data="results/preprocess/{dataset}.npz",
        samples="results/sample/{dataset}/whole/{plan}/seed{seed}.npz",
        fits=fits_of,
        full=baseline_of("accuracy"),
    output:
        metrics="results/experiments/accuracy/{dataset}/{plan}/seed{seed}.json",
    log:
        "results/logs/accuracy/{dataset}/{plan}/seed{seed}.log",
    benchmark:
        "results/benchmarks/accuracy/{dataset}/{plan}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("accuracy", ["merges", "finishes"]),
        weights=weights_of,
        code=code_of("accuracy"),
    script:
        "../scripts/accuracy.py"


rule speedup:
    """Time every contender in one process, alone on the machine: it takes all the cores, so nothing runs beside it."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        metrics="results/experiments/speedup/{dataset}/seed{seed}.json",
    log:
        "results/logs/speedup/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/speedup/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: all_cores()
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of(
            "speedup",
            ["sampling", "repetitions", "finishes", "workers", "sweeps", "repeats"],
        ),
        plan=plan_of("speedup"),
        code=code_of("speedup"),
    script:
        "../scripts/speedup.py"


rule sparsity:
    """Measure output size against cost for a range of sampling factors; the factors that data was made of are a control."""
    input:
        data="results/preprocess/{dataset}.npz",
        raw="results/download/{dataset}",
        samples=samples_of_plans("sparsity"),
        fits=fits_of_plans("sparsity"),
        full=baseline_of("sparsity"),
    output:
        metrics="results/experiments/sparsity/{dataset}/seed{seed}.json",
    log:
        "results/logs/sparsity/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/sparsity/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("sparsity", ["plans", "finishes"]),
        weights=baseline_weights("sparsity"),
        code=code_of("sparsity"),
    script:
        "../scripts/sparsity.py"


rule missing:
    """Measure how well a plan does as more and more cells are hidden."""
    input:
        data="results/preprocess/{dataset}.npz",
        merged=merged_of_variants("missing"),
        times=times_of_variants,
        truth=truth_of_variants("missing"),
    output:
        metrics="results/experiments/missing/{dataset}/{plan}/seed{seed}.json",
    log:
        "results/logs/missing/{dataset}/{plan}/seed{seed}.log",
    benchmark:
        "results/benchmarks/missing/{dataset}/{plan}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        fractions=fractions_of("missing"),
        code=code_of("missing"),
    script:
        "../scripts/missing.py"


rule leave_two_out:
    """Put the parts of all noun pairs together, choose inside the training nouns, and set controls beside."""
    input:
        data="results/preprocess/{dataset}.npz",
        parts=parts_of_folds,
        pairs=pairs_of_nouns,
    output:
        metrics="results/experiments/leave_two_out/{dataset}/seed{seed}.json",
    log:
        "results/logs/leave_two_out/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/leave_two_out/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("leave_two_out", FOLD_SETTINGS),
        plan=asked("leave_two_out", "plan", ""),
        code=code_of("leave_two_out"),
    script:
        "../scripts/leave_two_out.py"


rule clusters:
    """Find components and ask whether their nouns belong together."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        metrics="results/experiments/clusters/{dataset}/seed{seed}.json",
        material="results/experiments/clusters/{dataset}/seed{seed}.npz",
    log:
        "results/logs/clusters/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/clusters/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("clusters", ["weight", "top", "deals"]),
        plan=asked("clusters", "plan", ""),
        specs=specs_of("clusters"),
        code=code_of("clusters"),
    script:
        "../scripts/clusters.py"


rule anomaly:
    """Put what all plans found into one table and score it; the only rule that reads what a simulation planted."""
    input:
        data="results/preprocess/{dataset}.npz",
        raw="results/download/{dataset}",
        found=found_of_plans,
    output:
        metrics="results/experiments/anomaly/{dataset}/seed{seed}.json",
        material="results/experiments/anomaly/{dataset}/seed{seed}.npz",
    log:
        "results/logs/anomaly/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/anomaly/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        plans=asked("anomaly", "plans"),
        code=code_of("anomaly"),
    script:
        "../scripts/anomaly.py"


rule rank:
    """Look at every rank, recommend one or none, and name what its components are made of."""
    input:
        data="results/preprocess/{dataset}.npz",
    output:
        metrics="results/experiments/rank/{dataset}/seed{seed}.json",
        material="results/experiments/rank/{dataset}/seed{seed}.npz",
    log:
        "results/logs/rank/{dataset}/seed{seed}.log",
    benchmark:
        "results/benchmarks/rank/{dataset}/seed{seed}.tsv"
    conda:
        "../../envs/scoup.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=settings_of("rank", ["ranks", "hidden", "folds", "starts", "halves"]),
        top=asked("rank", "top", 5),
        plan=asked("rank", "plan", ""),
        weights=plan_of("rank").get("weights", "paper"),
        specs=specs_of("rank"),
        code=code_of("rank"),
    script:
        "../scripts/rank.py"
