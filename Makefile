# Everything starts here: `make run` and `make test` set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: setup run test test-fast check clean

setup: $(STAMP)

$(STAMP): pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Headrace needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Headrace and its test tools into $(VENV) (PySpark is large: about a minute)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e '.[runtime,dev]'
	@touch $@

run: setup
	@$(BIN)/headrace

test: setup check
	@$(BIN)/python -m pytest

test-fast: setup
	@$(BIN)/python -m pytest -m 'not slow'

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
