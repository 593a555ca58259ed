# Two words are all a newcomer needs: `make demo` and `make test`. Both make .venv by themselves, and nothing
# outside it. Another interpreter: `make test PYTHON=python3.13`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help venv demo test check lint types layers rules-check deploy-check docs bench format clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

venv: $(STAMP) ## make .venv with sentinel (editable), the embedded Valkey and the tools

# The stamp comes last: an interrupted installation is taken up again by the next `make`.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("sentinel needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "This Python cannot make environments. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[embedded]' --group dev
	@touch $(STAMP)

demo: venv ## see a real run fail and the alert it raises, in half a minute
	$(BIN)/sentinel demo

test: check ## what CI runs: all checks, then all tests
	$(BIN)/python -m pytest -n 2

check: lint types layers rules-check deploy-check ## the checks alone: lint, types, layers, rules, deployment files

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv
	$(BIN)/mypy
	$(BIN)/mypy deploy/check.py

layers: venv
	$(BIN)/lint-imports

rules-check: venv
	$(BIN)/sentinel rules validate rules --strict
	$(BIN)/sentinel rules test rules

# A checker that is not on this machine is named and skipped; with CI=true it is a failure.
deploy-check: venv
	$(BIN)/python deploy/check.py

docs: venv ## check the documents: links, make words, the picture of the layers
	$(BIN)/python -m pytest tests/docs

bench: venv ## CPU per event, memory per run, latency; the floor beside the whole
	$(BIN)/python -m benchmarks

format: venv ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
