# make report   the environment and the theorem report, report/index.html
# make test     the environment, then style, types and every test
# make docs     these pages as a web site, report/docs/index.html, linked with the report where there is one
# make mutants  planted defects that the engine's tests have to find, MODULES='verify.evidence.* verify.checks.record.*'
# make benchmark  reference functions beside their peers and floors, into docs/benchmarks.*
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: report docs test lint mutants benchmark clean

report: $(VENV)/ready
	$(BIN)/verify run --jobs $(WORKERS); status=$$?; $(BIN)/verify report && exit $$status

docs: $(VENV)/ready
	$(BIN)/python -m sphinx -W --keep-going -q -E -D report_url=$(if $(wildcard report/index.html),..) docs report/docs
	$(if $(wildcard report/index.html),-$(BIN)/verify report)

test: $(VENV)/ready lint
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

benchmark: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[benchmark]'
	$(BIN)/python benchmarks/compare.py --json docs/benchmarks.json --plot docs/benchmarks.svg --page docs/benchmarks.md

mutants: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutation]'
	rm -rf mutants
	$(BIN)/mutmut run --max-children $(WORKERS) $(foreach module,$(MODULES),'$(module)')
	$(BIN)/mutmut results

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) mutants .verify report build *.egg-info
