"""Read what an experiment job is given: data, models, parts, and what was planted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoup import results
from scoup.coupled import Dataset
from scoup.evidence import Context
from scoup.evidence.files import read_part
from scoup.experiments._records import Inputs, Model
from scoup.job import read_facts
from scoup.records import Fit
from scoup.simulate import read_planted
from scoup.specs import ExperimentSpec, PlanSpec


class StoredFits(Sequence[Fit]):
    """The fits of one plan, each read on access: together they may not fit in memory."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StoredFits(self._paths[index])
        return results.read_fit(self._paths[index])


def read_inputs(
    files: Any, entries: Sequence[Mapping[str, Any]], parts: Sequence[str] = (), threads: int = 1
) -> Inputs:
    """Read the input files of an experiment job, by the names that its rule gives them.

    ``entries`` say which plans and variants the files of models belong to, in order.
    """
    return Inputs(
        results.read_dataset(files.data),
        tuple(_models(files, entries)),
        read_planted(files.raw),
        dict(zip(parts, map(read_part, files.parts if parts else ()), strict=True)),
        threads,
    )


def _models(files: Any, entries: Sequence[Mapping[str, Any]]) -> Iterator[Model]:
    fits, facts = iter(files.fits), iter(files.facts)
    each = zip(entries, files.samples, files.merged, files.truth, strict=True)
    for entry, samples_path, merged_path, truth_path in each:
        samples = results.read_samples(samples_path)
        notes = [read_facts(next(facts)) for _ in samples]
        coords, truth = results.read_truth(truth_path)
        yield Model(
            plan=entry["plan"],
            variant=entry["variant"],
            spec=PlanSpec(**entry["spec"]),
            samples=samples,
            fits=StoredFits([next(fits) for _ in samples]),
            merged=results.read_merged(merged_path),
            fraction=entry["fraction"],
            seconds=sum(note["fit_seconds"] for note in notes),
            sweeps=sum(note["sweeps"] for note in notes),
            coords=coords,
            truth=truth,
        )


def context_of(name: str, wildcards: Any, spec: ExperimentSpec, dataset: Dataset) -> Context:
    """Return the context of an experiment's metrics: the whole data, and the plan if it is one."""
    mark = dataset.provenance.mark if dataset.provenance else "real"
    return Context(
        name, wildcards.dataset, "whole", getattr(spec, "plan", ""), int(wildcards.seed), mark
    )
