"""Files of the jobs that share the passes over a tensor on disk, each with some of its shards; no rules."""

@cache
def parts_of(dataset):
    """Return the names of the parts that share a pass over a tensor on disk, no more than it has shards."""
    parts = len(gather.parts("{scatteritem}"))
    parts = min(parts, datasets.traits(CONFIG.datasets[dataset]).shards or parts)
    return [f"{number}-of-{parts}" for number in range(1, parts + 1)]


def is_shared(wildcards):
    """Whether jobs share the passes of a merge; otherwise it makes them itself."""
    return is_on_disk(wildcards.dataset) and len(parts_of(wildcards.dataset)) > 1


def files_of_parts(pattern, wildcards, **names):
    """Return the files of all parts of a tensor on disk, in order."""
    return expand(pattern, scatteritem=parts_of(wildcards.dataset), **{**wildcards, **names})


def extracted_files(wildcards):
    """Return the files with the cells of samples, one per part; none if the data is in memory."""
    return files_of_parts(EXTRACTED, wildcards) if is_on_disk(wildcards.dataset) else []


def covered_files(wildcards):
    """Return the files with the cells of covered rows, one per part; none if a merge reads them itself."""
    return files_of_parts(COVERED, wildcards) if is_shared(wildcards) else []


def files_of_round(wildcards, last=0):
    """Return what a round of a completion goes on from: the merge, or the round before and its products."""
    number = last or int(wildcards.round) - 1
    if number:
        names = {**wildcards, "round": number}
        products = files_of_parts(PRODUCTS, wildcards, round=number)
        return {"round": ROUND.format(**names), "products": products}
    fits = expand(FIT, rep=REPETITIONS[wildcards.plan], **wildcards)
    return {"samples": SAMPLE.format(**wildcards), "fits": fits, "cells": covered_files(wildcards)}


def shared_files(wildcards):
    """Return what a merge gets from the jobs that share its passes: a pass per round, one less than modes."""
    if not is_shared(wildcards) or PLANS[wildcards.plan]["finish"] != "complete":
        return {"cells": covered_files(wildcards)}
    modes = len(datasets.traits(CONFIG.datasets[wildcards.dataset]).names)
    return files_of_round(wildcards, last=modes - 1)
