# Each target installs its requirements into .venv first.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: setup run test test-fast check bench bench-console attacks apache-suite soak soak-order recording clean

# Compiled even with PYTHONDONTWRITEBYTECODE: without bytecode each start of a worker takes a second of processor time more.
setup: $(STAMP)
	@$(BIN)/python -m compileall -q runtime tui themes

$(STAMP): pyproject.toml .ci/constraints.txt
	@test -n "$(PYTHON)" || { echo "Headrace needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "installing Headrace and its test tools into $(VENV) (a minute or more, since PySpark is large)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e '.[runtime,dev]'
	@touch $@

run: setup
	@$(BIN)/headrace

test: setup check
	@$(BIN)/python -m tests.run

test-fast: setup
	@$(BIN)/python -m pytest -m 'not slow and not soak'

bench: setup
	@$(BIN)/python -m tests.bench.side_by_side $(BENCH)
	@$(if $(BENCH),,$(BIN)/python -m tests.bench.group_scale && $(BIN)/python -m tests.bench.many && $(BIN)/python -m tests.bench.cluster && $(BIN)/python -m tests.bench.outage)
	@$(BIN)/python -m tests.bench.figures

bench-console: setup
	@$(BIN)/python -m tests.bench.console $(BENCH)

attacks: setup
	@$(BIN)/python -m pytest tests/attacks -m 'soak or not soak' $(ATTACKS)

apache-suite: setup
	@$(BIN)/python -m tests.contract.apache $(APACHE)

soak: attacks
	@$(BIN)/python -m pytest -m soak --ignore=tests/attacks
	@$(BIN)/python -m tests.soak $(SOAK)

soak-order: setup
	@$(BIN)/python -m tests.soak.repetition $(SOAK)

recording: setup
	@$(BIN)/python -m docs.make_recording

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
