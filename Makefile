# `make run` starts everything; `make test` runs every test. Both install what they need first.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip
export PATH := $(abspath $(BIN)):$(PATH)
SHELL := /bin/bash
# On two cores more workers only wait for each other.
TEST_WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help install run test sure bench chaos format

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# What runs needs less than what tests need: `make run` installs the first, everything else the second.
$(VENV)/runtime: requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is needed: install Python 3.11, or name another with PYTHON=…"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

$(VENV)/development: requirements-dev.lock $(VENV)/runtime
	@$(UV) sync --quiet --python $(BIN)/python --require-hashes requirements-dev.lock
	@$(UV) install --quiet --python $(BIN)/python --no-deps uv --editable .
	@touch $@

install: $(VENV)/development ## Make the virtual environment, with what tests and checks need

run: $(VENV)/runtime ## Start web server, worker, scheduler and demo endpoint; PORT and LHDR_DATA are honoured
	@exec $(BIN)/lhdr up

test: install ## Run all tests (DATABASE_URL chooses the database; SQLite without it)
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

sure: install ## Check format, lint, types, migrations, templates and docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djlint --quiet --lint templates
	$(BIN)/mypy .
	LHDR_DATA=$$(mktemp -d) $(BIN)/lhdr makemigrations --check --dry-run
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/project

bench: install ## Measure against baselines in the same run; writes bench/results.json
	@$(BIN)/python -m bench

chaos: install ## Kill every part at random while runs of 500 go on, on SQLite and PostgreSQL; prints what was lost
	@$(BIN)/python -m bench.chaos

format: install ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
