# Set-up and the few verbs. Needs make and Python 3.11 or newer; everything else comes from the hashed lock in envs/.
CORES  ?= 4
CONFIG ?=
PORT   ?= 5000
RESULTS ?= results
# The newest that starts: a version manager may put names on the PATH that do not.
NEWEST  = $(shell for name in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$name -c 'import ensurepip, ssl, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2> /dev/null && \
	echo $$name && break; done)
PYTHON3 ?= $(NEWEST)
BIN    := .venv/bin
PACKAGES := .venv/.packages
STAMP  := .venv/.installed-from-lock
# The first snakemake of a fresh clone would otherwise compile every module in every job.
export PYTHONDONTWRITEBYTECODE =
SNAKEMAKE = $(BIN)/scoup run --cores $(CORES)

.DEFAULT_GOAL := help
.PHONY: help setup demo reproduce quick real test suite cluster lint style types bench settings docs ui scorecard lock dist clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  CORES=8, CONFIG=workflow/configs/quick.yaml and PORT=5001 can be given to any of them."

setup: $(STAMP) ## the environment alone, in .venv, with the kernels compiled

demo: $(STAMP) ## two small files, three components, one figure (20 seconds)
	$(BIN)/scoup demo

reproduce: $(STAMP) ## the whole paper: data, fits, experiments, figures, tracking, report (4 to 12 minutes on 2 cores)
	$(SNAKEMAKE) $(if $(CONFIG),--configfile $(CONFIG))

# In a separate folder, so that a quick look never overwrites a long run.
quick: $(STAMP) ## the same, small (a minute or two), into build/quick/results
	$(SNAKEMAKE) --directory build/quick --configfile workflow/configs/quick.yaml

real: $(STAMP) ## the real excerpts in DATA=folder, into build/real/results; fills their tables
	SCOUP_DATA=$(abspath $(DATA)) $(BIN)/scoup run workflow/configs/real.yaml --cores $(CORES) --directory build/real
	@mkdir -p docs/real
	cp build/real/results/plot/leave_two_out.png build/real/results/plot/anomaly_plans.png docs/real/
	$(BIN)/python -m scoup.excerpts build/real/results docs/real/leave_two_out.json README.md docs/noise.md docs/results.md

# mypy takes a minute of one core, so it runs beside the tests.
test: style ## static checks and all tests (5 to 12 minutes on 2 cores)
	$(MAKE) --no-print-directory --jobs 2 types suite

# Snakemake's plugin for Slurm asks its controller at every start, and waits 9 s where that is installed but not running.
suite: $(STAMP) .venv/kubernetes/.installed-from-lock
	SLURM_CONF=/dev/null $(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder -m "not cluster"

cluster: $(STAMP) ## the workflow and its faults on a real Slurm and Grid Engine on this machine (as root; half an hour on a busy machine)
	$(BIN)/python -m tests.cluster.slurm install
	$(BIN)/python -m tests.cluster.gridengine install
	$(BIN)/python -m pytest -m cluster -o cache_dir=.pytest_cache/cluster --durations=6 $(FLAGS) tests/cluster

lint: style types ## ruff, snakefmt, mypy and the import contracts

style: $(PACKAGES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/lint-imports

types: $(PACKAGES)
	$(BIN)/mypy

bench: .venv-bench/.installed-from-lock ## time kernels and solvers against their peers (half an hour, alone on the machine)
	.venv-bench/bin/python -m benchmarks $(if $(PARTS),--parts $(PARTS))

settings: $(STAMP) ## write the JSON schema and docs/settings.md from the Specs
	$(BIN)/python -m scoup.config

docs: .venv-docs/.installed-from-lock ## build the pages into docs/_build (index.html), warnings being errors
	.venv-docs/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo "made: docs/_build (open docs/_build/index.html)"

ui: $(STAMP) ## browse the runs in MLflow, on this machine only
	$(BIN)/python -m scoup.track ui --port $(PORT) --results $(RESULTS)

scorecard: $(STAMP) ## copy scorecard, figures and rule graph into README and docs
	@mkdir -p build
	$(BIN)/snakemake --rulegraph mermaid-js > build/rulegraph.mmd
	$(BIN)/python -m scoup.scorecard results build/rulegraph.mmd README.md docs/workflow.md docs/results.md
	@echo "made: the tables and figures in README.md and docs/; look at them with git diff"

lock: $(STAMP) ## resolve envs/*.in again into the hashed locks
	for name in requirements kubernetes docs bench release; do \
		.venv/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-annotate --no-header --quiet envs/$$name.in -o envs/$$name.txt || exit 1; \
	done

# A fixed date, and clean folders: the same commit gives the same files.
dist: .venv-release/.installed-from-lock ## build wheel and sdist into dist, and check them
	rm -rf dist
	SOURCE_DATE_EPOCH=1577836800 .venv-release/bin/python -m build --no-isolation --outdir dist
	.venv-release/bin/twine check --strict dist/*
	.venv-release/bin/check-wheel-contents dist/*.whl
	@echo "made: $$(ls dist | xargs); CONTRIBUTING.md says how to release them"

clean: ## delete the environment (results stay)
	rm -rf .venv

# The peers, and what builds the pages, are no dependencies: they live in separate environments.
.venv-%/.installed-from-lock: envs/%.txt | $(STAMP)
	test -x .venv-$*/bin/python || $(BIN)/python -m venv .venv-$*
	.venv/uv/bin/uv pip sync --quiet --python .venv-$*/bin/python --require-hashes --compile-bytecode envs/$*.txt || \
		.venv-$*/bin/python -m pip install --quiet --require-hashes -r envs/$*.txt
	@touch $@

# For the tests, which add this folder to the path of Snakemake.
.venv/kubernetes/.installed-from-lock: envs/kubernetes.txt | $(PACKAGES)
	.venv/uv/bin/uv pip install --quiet --python $(BIN)/python --require-hashes --target .venv/kubernetes -r envs/kubernetes.txt || \
		$(BIN)/python -m pip install --quiet --require-hashes --target .venv/kubernetes -r envs/kubernetes.txt
	@touch $@

# uv installs ten times faster than pip; where it cannot (an index that only pip is told about), pip does.
$(PACKAGES): envs/requirements.txt envs/uv.txt
	@test -x $(BIN)/python || test -n "$(PYTHON3)" || \
		{ echo "scoup: expected Python 3.11 to 3.14 that starts, got none; install one, or say make PYTHON3=path."; exit 1; }
	test -x $(BIN)/python || $(PYTHON3) -m venv .venv
	@echo "scoup: using $$($(BIN)/python --version)"
	test -x .venv/uv/bin/uv || $(BIN)/python -m pip install --quiet --require-hashes --target .venv/uv -r envs/uv.txt
	.venv/uv/bin/uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode envs/requirements.txt || \
		$(BIN)/python -m pip install --quiet --require-hashes -r envs/requirements.txt
	.venv/uv/bin/uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps --offline --editable . || \
		$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --no-index --editable .
	@touch $@

# Apart from the packages, so that static checks need not wait for the compiler. When a kernel has
# changed, numba would keep the old code of its callers.
$(STAMP): $(PACKAGES) $(wildcard scoup/kernels/*.py)
	$(BIN)/python -m scoup.warm
	@touch $@
