# make site: build this notebook. make test: everything that must hold.
# Needs python3 (3.11 or newer), pip, make and, for what is missing of venv and Chromium, apt.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: site serve test lint types pytest chromium clean

site: $(VENV)/.site
	$(BIN)/python -m mkdocs build --strict
	@echo "Built: site/index.html"

serve: $(VENV)/.site
	$(BIN)/python -m mkdocs serve

test: $(VENV)/.test chromium
	@scripts/bootstrap.sh versions $(BIN)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types
	$(MAKE) --no-print-directory pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

pytest: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

chromium:
	@scripts/bootstrap.sh chromium

# The stamps make a second call fast; a changed pyproject.toml installs again.
$(VENV)/.venv:
	scripts/bootstrap.sh venv $(VENV)
	touch $@

$(VENV)/.site: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[material]'
	touch $@

$(VENV)/.test: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[all,test,compat-test]'
	touch $@ $(VENV)/.site

clean:
	rm -rf $(VENV) site .cache .pytest_cache .mypy_cache .ruff_cache
