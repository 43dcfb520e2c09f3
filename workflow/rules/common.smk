"""Checks of the configuration, and what lookup() finds in it; no rules."""

import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from scoup import config as configuration, datasets, experiments
from scoup.errors import ScoupError
from scoup.job import note_scheduling
from scoup.lock import claim
from scoup.machine import SHARDS_MEMORY_BYTES
from scoup.report import harmless
from scoup.run import is_question
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.verify import remove_damaged

STARTED = time.time()
sys.path.insert(0, str(Path(workflow.basedir, "workflow")))

from digest import digest, modules_of

is_dry = workflow.output_settings.dryrun or is_question(sys.argv[1:])
IS_RUN = workflow.is_main_process and not is_dry
IS_SUBMITTED = bool(workflow.resource_settings.nodes)  # jobs go to a cluster, so many at a time

try:
    if IS_RUN:
        claim(Path())  # until this process ends
except ScoupError as error:
    raise WorkflowError(f"{error} No job was started.")

try:
    CONFIG = configuration.check(config)
except ScoupError as error:
    raise WorkflowError(f"config: {error} No job was started.")

# Said once, before the first job, and in the report.
if workflow.is_main_process:
    sentences = list(CONFIG.left_out)
    if IS_RUN:
        sentences += remove_damaged()  # what is removed is rebuilt by this run
    for sentence in sentences:
        logger.warning(f"scoup: {sentence}")
# Snakemake embeds params in the HTML of its own report.
LEFT_OUT = [harmless(sentence) for sentence in CONFIG.left_out]

# What lookup() finds for a job. Each stage sees its part of a plan: a change elsewhere does not rerun it.
DATASETS = {name: spec.to_dict() for name, spec in CONFIG.datasets.items()}
OWN = [name for name, spec in CONFIG.datasets.items() if datasets.is_own(spec)]
VARIANTS = {name: spec.to_dict() for name, spec in CONFIG.variants.items()}
PLANS = {name: spec.to_dict() for name, spec in CONFIG.plans.items()}
VIEWS = {
    name: {"values": plan["values"], "weights": plan["weights"]} for name, plan in PLANS.items()
}
SAMPLING = {name: spec.part(SampleSpec).to_dict() for name, spec in CONFIG.plans.items()}
FITTING = {name: spec.part(FitSpec).to_dict() for name, spec in CONFIG.plans.items()}
MERGING = {name: spec.part(MergeSpec).to_dict() for name, spec in CONFIG.plans.items()}
REPETITIONS = {name: list(range(spec.repetitions)) for name, spec in CONFIG.plans.items()}
EXPERIMENTS = {
    name: spec.model_dump(mode="json", exclude={"datasets", "seeds"})
    for name, spec in CONFIG.experiments.items()
}
MODELS = {
    name: [
        {"plan": plan, "spec": PLANS[plan], "variant": variant, **VARIANTS[variant]}
        for plan in experiments.plans_of(spec)
        for variant in experiments.variants_of(spec)
    ]
    for name, spec in CONFIG.experiments.items()
}
CAPTIONS = {
    figure: caption
    for name in EXPERIMENTS
    for figure, caption in experiments.declared(name).CAPTIONS.items()
}


wildcard_constraints:
    dataset="[A-Za-z0-9_]+",
    variant="[A-Za-z0-9_]+",
    plan="[A-Za-z0-9_]+",
    experiment="[a-z_]+",
    figure="[a-z_]+",
    part="[a-z0-9]+",
    round=r"\d+",
    seed=r"\d+",
    rep=r"\d+",


def code_of(script, *modules):
    """Return a digest of the code that a job runs: its script's, and that of the members its settings name."""

    def code(wildcards):
        job = dict(wildcards)
        names = {
            **DATASETS.get(job.get("dataset"), {}),
            **PLANS.get(job.get("plan"), {}),
            **job,
        }
        names["drawn"] = experiments.experiment_of(job["figure"]) if "figure" in job else ""
        return digest(script, *(module.format(**names) for module in modules))

    return code
