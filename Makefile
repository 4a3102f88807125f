# Every target makes its own environment from a bare Python with pip and venv; the second run reuses it. The demo installs
# warner and what it uses; all other targets add the tools of development to the same environment.
PYTHON ?= python3
BIN = .venv/bin
INSTALLED = .venv/.installed
READY = .venv/.ready
PIP = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

.PHONY: all demo collect test test-all test-collect test-spark docs bench mutants mechanisms reproduce dist lint style format clean
all: test

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "warner needs Python 3.11 or newer; choose one with: make PYTHON=python3.11")'
	@echo "Installing warner into .venv, once"
	@$(PYTHON) -m venv .venv
	@$(PIP) --editable '.[cli,plot,regress]'
	@touch $@

$(READY): $(INSTALLED)
	@echo "Installing the tools of development into .venv, once"
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --editable '.[all]' --group dev
	@touch $@

# A survey question with five answers, and a column with three hundred, from true answers to a page for others. A check
# that finds a misfit ends with 1, which chance does in one survey of twenty: that is no failure.
demo: $(INSTALLED)
	@mkdir -p demo
	$(BIN)/warner plan --size 5 --epsilon 1.5 --half-width 0.03 --plot demo/plan.png
	@echo
	$(BIN)/warner design never once "a few times" "every month" "every week" --epsilon 1.5 -o demo/design.json
	@echo; $(BIN)/warner show demo/design.json; echo
	$(BIN)/warner randomize examples/answers.csv --column answer --keep region --design demo/design.json --force -o demo/reports.csv
	@echo
	$(BIN)/warner check demo/reports.csv --column answer --design demo/design.json || test $$? = 1
	@echo
	$(BIN)/warner estimate demo/reports.csv --column answer --design demo/design.json --plot demo/picture.png --report demo/report.html
	@echo
	$(BIN)/warner design --domain-file examples/sites.txt --epsilon 5 -o demo/sites.json
	$(BIN)/warner randomize examples/answers.csv --column site --design demo/sites.json --force -o demo/sites.parquet
	@echo
	$(BIN)/warner estimate demo/sites.parquet --design demo/sites.json --rows 8 --report demo/sites.html
	@echo
	$(BIN)/warner design "subset selection" --domain-file examples/sites.txt --epsilon 2 -o demo/sets.json
	$(BIN)/warner randomize examples/answers.csv --column site --design demo/sets.json --force -o demo/sets.parquet
	@echo
	$(BIN)/warner estimate demo/sets.parquet --design demo/sets.json --rows 5
	@echo
	$(BIN)/warner design --best --domain-file examples/sites.txt --epsilon 2 -o demo/best.json
	$(BIN)/warner randomize examples/answers.csv --column site --design demo/best.json --force -o demo/best.csv
	@echo
	$(BIN)/warner check demo/best.csv --design demo/best.json || test $$? = 1
	@echo
	$(BIN)/warner estimate demo/best.csv --design demo/best.json --rows 5 --report demo/best.html
	@echo
	$(BIN)/warner design forced-response truth=27/36 yes=6/36 -o demo/dice.json
	$(BIN)/warner design yes no --odds 1:0 -o demo/direct.json
	@echo
	$(BIN)/warner regress examples/cheating.csv "cheated ~ age + region + letter + version" --by version \
	  --design dice=demo/dice.json --design direct=demo/direct.json --predict age=20,25 --plot demo/shares.png --against age
	@echo; echo "Now open in a browser:"; echo "  demo/report.html  the shares of five answers, and how they were found"
	@echo "  demo/shares.png   how a true answer depends on age, by regression"

# Types are checked beside the tests, which now and then wait. Workers take neighbouring tests and steal from each other,
# so that most modules are set up once. Bytecode is written whatever the environment says: tests start many processes.
TYPES_AND_TESTS = $(BIN)/mypy > .venv/types.txt & types=$$!; \
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal $(1); tests=$$?; \
	wait $$types; types=$$?; cat .venv/types.txt; exit $$((types + tests))

test: style
	@$(call TYPES_AND_TESTS)

test-all: style
	@export HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-long}; $(call TYPES_AND_TESTS,-m 'long or not long')

# Spark is large, and needs Java: it is installed for this target only. Elsewhere its tests are skipped, and say so.
test-spark: $(READY)
	$(BIN)/python -m pip install --quiet --group spark
	$(BIN)/python -m pytest -k spark tests/reports

# Real browsers and a real PostgreSQL, where they are installed: chromium, firefox-esr, postgresql, node. What is absent is
# skipped, and says so. Playwright only drives the browser; it is installed for these targets only.
BROWSERS = .venv/.browsers
$(BROWSERS): $(READY)
	$(BIN)/python -m pip install --quiet --group browsers
	-npm install --silent --no-save --prefix .venv/npm axe-core@4
	touch $@

test-collect: $(BROWSERS)
	$(BIN)/python -m pytest -n 2 tests/service

# The example survey: simulated respondents in a real browser, and pictures of page and dashboard.
collect: $(BROWSERS)
	@mkdir -p demo
	$(BIN)/python examples/collect.py

# One thread on both sides of every ratio: on a busy machine several wait for each other.
bench: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/run.py

# Mutation testing of the numerical modules: 30 random small faults, about 20 minutes. More: see benchmarks/mutants.py.
mutants: $(READY)
	nice $(BIN)/python benchmarks/mutants.py

# The squared error of every mechanism and estimator, for docs/explanation/choosing-a-mechanism.md: about an hour.
mechanisms: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/mechanism_variances.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bit_flip_errors.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/mechanism_errors.py

# Every experiment of the paper, with 100 seeds: some minutes on two cores. Real data, if there are any, from DATA.
reproduce: $(READY)
	$(BIN)/python -m experiments all --jobs $$(nproc 2>/dev/null || echo 2) -o results $(if $(DATA),--data $(DATA))

docs: $(READY)
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_gallery.py
	$(BIN)/python -m sphinx -W --keep-going -n -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser"

# A wheel and a source distribution, checked as PyPI would. DRAFT=1 builds them while the address is a placeholder.
dist: $(READY)
	@if [ -z "$(DRAFT)" ] && grep -n 'repository\.invalid' pyproject.toml; then \
	  echo "Write the address of the repository in the place of repository.invalid, or build a draft: make dist DRAFT=1"; exit 1; fi
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis demo results dist build
