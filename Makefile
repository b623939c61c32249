# Two commands do everything on a machine that has Python 3.11, pip and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= demo
SOAK   ?= short
# Python keeps the bytecode of what it imports, whatever the shell says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test long check docs pictures bench race cluster soak spark browser reproduce wheel image pythons fuzz clean help
help:              ## list the targets
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(BIN)/pip:
	@echo "installing into $(VENV): about a minute, once"
	@$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## install into .venv and run the main job on a real problem
	$(BIN)/headgate demo --out $(OUT)

check: $(VENV)/.dev ## ruff, mypy strict, import-linter
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.dev ## tests and doctests, warnings are errors; a process a core, so that none needs threads for its algebra
	$(BIN)/headgate warm
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

long: $(VENV)/.dev ## the tests that take seconds each: coverage over thousands of draws, whole experiments, killed processes
	$(BIN)/headgate warm
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m long -n auto --dist worksteal

docs: $(VENV)/.dev ## the site in site/, strictly; every code block, example and notebook is run
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python .ci/site.py site
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m docs -n auto --dist worksteal tests/test_docs.py tests/test_examples.py

pictures: $(VENV)/.dev ## every picture of docs/ again; those of logs where ../shared/data is, the dashboard where Chromium is
	$(BIN)/python .ci/pictures.py

fuzz: $(VENV)/.dev ## random problems and property tests on random examples, for FUZZ_MINUTES=5; FUZZ_SEED=n plays a pass again
	$(BIN)/headgate warm
	$(BIN)/python tests/fuzz.py

wheel: $(VENV)/.dev ## build the wheel; use it without a home on a read-only tree; check a typed consumer against it
	$(BIN)/python .ci/wheel.py

image: $(VENV)/.dev ## the steps of deploy/Dockerfile without Docker: as another user, on a read-only tree
	$(BIN)/python .ci/image.py

pythons:           ## the core's tests with Python 3.12 and 3.13, where they are installed, and with the oldest dependencies
	.ci/pythons

bench: $(VENV)/.dev ## regret and speed, each against a peer in the same run
	$(BIN)/headgate bench $(if $(wildcard ../shared/data),--data ../shared/data)

race:              ## the BudgetOptimizer of pymc-marketing beside ours, in an environment of its own
	test -x $(VENV)-race/bin/pip || $(PYTHON) -m venv $(VENV)-race
	$(VENV)-race/bin/pip install --quiet --editable . pymc-marketing
	$(VENV)-race/bin/python .ci/race.py

$(VENV)/.cluster: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable '.[dev,dask,ray]'
	@touch $@

cluster: $(VENV)/.cluster ## simulations on a real Dask and a real Ray, with a worker killed
	$(BIN)/pytest -m cluster tests/simulation

browser: $(VENV)/.dev ## the dashboard in a real Chromium, with screenshots in artefacts/
	command -v chromium >/dev/null || { \
		root=$$([ "$$(id -u)" = 0 ] || echo sudo); $$root apt-get update && $$root apt-get install -y chromium; }
	$(BIN)/pytest -m browser tests/service/browser

soak: $(VENV)/.dev ## kills, contradictions, strange requests, full disks and load; SOAK=long for the full numbers
	$(BIN)/headgate warm
	SOAK=$(SOAK) $(BIN)/pytest -m soak -n 2 --dist worksteal tests/soak --ignore tests/soak/test_load.py --ignore tests/soak/test_fairness.py
	SOAK=$(SOAK) $(BIN)/pytest -m soak tests/soak/test_fairness.py tests/soak/test_load.py  # by themselves: they take times

$(VENV)/.spark: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable '.[dev,spark]'
	@touch $@

spark: $(VENV)/.spark ## logs on a real Spark in local mode; needs Java 17, whose warnings of hosts and Hadoop are fine
	$(BIN)/pytest -m spark tests/calibration

reproduce: $(VENV)/.demo ## every figure of the paper, and a page that says what holds
	$(BIN)/headgate reproduce all --out reproduction

clean:             ## remove the virtual environment and what the tools left
	rm -rf $(VENV) $(VENV)-race demo reproduction artefacts site .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
