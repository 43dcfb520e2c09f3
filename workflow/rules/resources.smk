"""What a job asks for: cores, megabytes and minutes; no rules."""


def cores():
    """Return the cores that jobs of this machine share; four where none are counted."""
    try:
        return workflow.cores or 4
    except WorkflowError:
        return 4


def threads_of_experiment(wildcards):
    """Return every core for an experiment that must run alone, else one."""
    return cores() if getattr(experiments.declared(wildcards.experiment), "EXCLUSIVE", False) else 1


def threads_of_passes(wildcards):
    """Return four cores for one process that reads all shards of a tensor on disk, else one.

    Of this machine it takes half: with all cores it would wait until no other job runs.
    """
    is_alone = getattr(wildcards, "scatteritem", "1-of-1") == "1-of-1"
    if not (is_alone and is_on_disk(wildcards.dataset)):
        return 1
    return 4 if IS_SUBMITTED else min(4, max(1, cores() // 2))


def megabytes(input):
    """Return the size of a job's input; a folder counts with everything in it."""
    folders = [Path(path) for path in input if Path(path).is_dir()]
    inside = [path.stat().st_size for folder in folders for path in folder.rglob("*")]
    return input.size_mb + sum(inside) / 1e6


def memory(wildcards, input, threads, attempt):
    """Return megabytes: a process, a shard per thread and a few copies of its data, more after a failed attempt."""
    return int((500 + 100 * threads + 6 * megabytes(input)) * attempt)


def memory_of_merge(wildcards, input, threads, attempt):
    """Return megabytes; the rows of a tensor on disk that repetitions hold come on top, up to a limit."""
    rows = SHARDS_MEMORY_BYTES / 1e6 if is_on_disk(wildcards.dataset) else 0
    cells = sum(Path(path).stat().st_size for path in input.get("cells", [])) / 1e6
    others = 6 * (megabytes(input) - cells)
    return int((500 + 100 * threads + others + rows) * attempt)


def memory_of_multiply(wildcards, input, threads, attempt):
    """Return megabytes; the factors of a round are read once, their products take no more."""
    return int((500 + 100 * threads + 2 * megabytes(input)) * attempt)


def minutes(wildcards, input, attempt):
    """Return minutes, by the size of the data, more after a failed attempt."""
    return int((10 + megabytes(input) / 20) * attempt)
