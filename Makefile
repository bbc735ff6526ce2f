# Two commands set everything up on a bare machine: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Packages are installed uncompiled, which halves the set-up: the first import of each must keep what it compiles.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test lint bench wheel clean

run: $(READY)
	$(BIN)/python -m bmx_grid +sweep=quickstart

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	for file in benchmarks/*.py; do OMP_NUM_THREADS=1 $(BIN)/python $$file || exit 1; done

wheel: $(READY)
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --disable-pip-version-check --quiet -c constraints.txt -e ".[dev]"
	touch $(READY)
