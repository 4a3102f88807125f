# Every target makes its own environment from a bare Python with pip and venv; the second run reuses it.
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/.ready

.PHONY: all demo test test-all test-spark bench lint format clean
all: test

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "warner needs Python 3.11 or newer; choose one with: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

demo: $(READY)
	$(BIN)/python examples/drinking_survey.py

test: lint
	$(BIN)/python -m pytest

test-all: lint
	$(BIN)/python -m pytest -m 'long or not long'

# Spark is large, and needs Java: it is installed for this target only. Elsewhere its tests are skipped, and say so.
test-spark: $(READY)
	$(BIN)/python -m pip install --quiet --group spark
	$(BIN)/python -m pytest -k spark tests/test_tally.py

bench: $(READY)
	$(BIN)/python benchmarks/run.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo dist build
