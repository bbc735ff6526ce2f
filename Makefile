# Two commands set everything up on a bare machine: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready

# Packages are installed uncompiled, which halves the set-up: the first import of each must keep what it compiles.
unexport PYTHONDONTWRITEBYTECODE

PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
NUMERIC := $(addprefix tests/,measures metrics boosts evaluations explainers guests sweep/test_repeats.py contracts/test_whole_sweep.py)
# Of these, what talks to servers and programs, or counts in whole numbers: none of these libraries rounds there.
EXACT := guests/test_judge.py guests/test_judge_context.py guests/test_spans.py guests/test_command.py
EXACT += metrics/test_sacrebleu.py metrics/test_ngram_counts.py metrics/test_human.py metrics/test_imported.py
EXACT += metrics/test_meteor.py explainers/test_imported_explainer.py measures/test_alone.py measures/test_arguments.py
BENCHMARKS := $(filter-out harness settings simulation,$(basename $(notdir $(wildcard benchmarks/*.py))))

.PHONY: run test test-processes test-all test-processor test-comet lint docs bench fuzz mutation wheel clean

run: $(RUNS)
	$(BIN)/python -m bmx_grid +sweep=quickstart

test: $(READY)
	$(PYTEST) -m "not processes"

# Clusters, servers and programs, most of which are killed in the middle: what takes the longest to try.
test-processes: $(READY)
	$(PYTEST) -m processes

# Both in one run, with three workers for two cores: while a test of processes waits, others compute.
test-all: $(READY)
	$(PYTEST) -n $$($(BIN)/python -c "import os; print(max(2, os.cpu_count() * 3 // 2))")

# What computes numbers, as a processor without AVX does it: in PyTorch (the first three), OpenBLAS and NumPy.
test-processor: export ATEN_CPU_CAPABILITY = default
test-processor: export DNNL_MAX_CPU_ISA = SSE41
test-processor: export MKL_CBWR = COMPATIBLE
test-processor: export OPENBLAS_CORETYPE = Prescott
test-processor: export NPY_DISABLE_CPU_FEATURES = X86_V3 X86_V4 AVX512_ICL AVX512_SPR
test-processor: $(READY)
	$(PYTEST) -m "not processes" $(NUMERIC) $(addprefix --ignore=tests/,$(EXACT))

# The metric COMET in an environment of its own, which is made first.
test-comet: export BMX_COMET_PYTHON = $(CURDIR)/$(VENV)-comet/bin/python
test-comet: $(READY)
	$(PYTHON) -m venv $(VENV)-comet
	$(VENV)-comet/bin/python -m pip install --quiet "torch==2.13.0"
	$(VENV)-comet/bin/python -m pip install --quiet "unbabel-comet==2.2.7" "setuptools<81"
	$(BIN)/python -m pytest tests/guests/test_comet_adapter.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/tools/examples.py

# The site in build/site, without a network; a warning is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: $(READY)
	status=0; for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || status=1; done; exit $$status

# Generated mistakes by the hundred; FUZZ="--count 2000 --seed 3 --seconds 3600" tries others.
fuzz: $(READY)
	$(BIN)/python tests/tools/fuzz/run.py $(FUZZ)

# Small faults put into the code, which the tests must notice; MUTATION="--count 40 --seed 3" draws others.
mutation: $(READY)
	$(INSTALL) "cosmic-ray==8.7.0"
	$(BIN)/python tests/tools/mutate.py $(MUTATION)

wheel: $(RUNS)
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build

INSTALL := $(BIN)/python -m pip install --no-compile --disable-pip-version-check --quiet -c constraints.txt

# The pip that Python 3.11 brings takes half as long again to look up the packages.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) "pip>=26"

# What running needs, and what testing adds.
$(RUNS): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	touch $(RUNS)

# In one go, as pip looks up all packages anew each time.
$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[dev]"
	touch $(RUNS) $(READY)
