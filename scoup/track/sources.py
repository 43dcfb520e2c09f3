"""The files that tracked runs are made from, as the rule ``track`` lists them.

The rule knows which job wrote which file, so no path is ever taken apart to find out.
"""

from collections import Counter
from typing import Any

from pydantic import Field

from scoup.errors import ScoupError
from scoup.specs import Spec, Whole


class ModelFile(Spec):
    """A merged model: the plan and the variant it belongs to, its file and the facts of its job."""

    plan: str
    variant: str
    path: str
    facts: str


class FitFile(ModelFile):
    """The fit of one repetition."""

    rep: Whole


class Job(Spec):
    """One job of an experiment: the metrics and the facts it wrote, and the models it read.

    >>> Job(experiment="accuracy", dataset="brainq", seed=0, metrics="seed0.json")
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: facts: expected a value, got nothing; write 'facts:'.
    """

    experiment: str
    dataset: str
    seed: Whole
    metrics: str
    facts: str
    log: str = ""
    fits: list[FitFile] = Field([])
    merged: list[ModelFile] = Field([])


class ScorecardFiles(Spec):
    """The scorecard: its claims (JSON), its table (Markdown) and the facts of its job."""

    claims: str
    table: str
    facts: str


class Sources(Spec):
    """All that is tracked of one results folder.

    ``data`` are the data files by data set and ``figures`` the figure files by experiment.
    ``settings`` are the sections ``datasets``, ``variants`` and ``plans`` of the configuration.

    >>> job = Job(experiment="accuracy", dataset="brainq", seed=0, metrics="a.json", facts="b.json")
    >>> Sources(jobs=[job]).jobs[0].dataset
    'brainq'
    >>> Sources(jobs=[job, job])
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: jobs: expected each job once, got accuracy of brainq, seed 0, twice.
    """

    jobs: list[Job]
    data: dict[str, str] = Field({})
    figures: dict[str, list[str]] = Field({})
    scorecard: ScorecardFiles | None = None
    settings: dict[str, dict[str, Any]] = Field({})

    def model_post_init(self, _: Any) -> None:
        """Refuse a job that is listed twice: its runs would be too."""
        counts = Counter((job.experiment, job.dataset, job.seed) for job in self.jobs)
        for (experiment, dataset, seed), count in counts.items():
            if count > 1:
                job = f"{experiment} of {dataset}, seed {seed}, twice"
                raise ScoupError.expected("jobs", "each job once", job)
