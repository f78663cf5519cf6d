# make report   the environment and the theorem report, report/index.html
# make test     the environment with the libraries whose layers are tested, then style, types and every test
#               (a check or test that has evidence about the code as it is passes by it; PYTEST_ARGS=--again runs all)
# make audit    every check and test with evidence again, and what differs from the evidence: for the night
# make elsewhere  checks and tests with the kernels that other processors have, and with two threads; SAMPLE_ONLY=1: a few of them
# make docs     these pages as a web site, report/docs/index.html, linked with the report where there is one
# make docs-numbers  rewrite the numbers and lists in README and docs that follow from the claims
# make release  check every claim anew and keep the evidence in theorems/released.jsonl.xz, which a fresh install shows
# make sdist    the source distribution, and tests run from it in an environment of its own
# make mutants  planted defects that the engine's tests have to find, MODULES='verify/gate/*.py'
# make kernel   identities checked by Rocq's kernel, where Debian's coq and libcoq-mathcomp-analysis are; into theorems/kernel.json
# make fuzz     random false statements, offered to the provers, COUNT=10000 SEED=0; what was tried, into report/fuzzing.json
# make benchmark  reference functions beside their peers and floors, into docs/benchmarks.*
# make oldest   the oldest versions that pyproject.toml allows, in an environment of their own, on a sample of claims
# make newest   the newest versions that pip finds there, likewise; torch is that of constraints.txt, or TORCH=torch==...
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
#: Claims that other versions are tried on: every numbered theorem, and the figures that need forward derivatives.
SAMPLE ?= '*.thm-*' 'hessian.fig*'
TORCH ?= -c constraints.txt torch
#: Of random false statements: how many, and the seed that all of them follow from.
COUNT ?= 10000
SEED ?= 0
#: Of thousands of modules a few are imported: each is compiled when it is first.
PIP := --quiet --disable-pip-version-check --no-compile
export OMP_NUM_THREADS ?= 1
# where this is set every process compiles all modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report docs docs-numbers test audit elsewhere lint release sdist mutants theory kernel fuzz benchmark oldest newest clean

report: $(VENV)/ready
	$(BIN)/verify run --jobs $(WORKERS); status=$$?; $(BIN)/verify report && exit $$status

docs: $(VENV)/ready
	$(BIN)/python -m sphinx -W --keep-going -q -E -D report_url=$(if $(wildcard report/index.html),..) docs report/docs
	$(if $(wildcard report/index.html),-$(BIN)/verify report)

docs-numbers: $(VENV)/ready
	$(BIN)/python -m tests.numbers

test: $(VENV)/libraries
	@$(BIN)/python -m tests.absent
	$(MAKE) -j 2 lint theory
	$(BIN)/python -m pytest -n $(WORKERS) --long-tests=list $(PYTEST_ARGS)

audit: $(VENV)/libraries
	$(BIN)/verify audit --jobs $(WORKERS)
	$(BIN)/python -m pytest -n $(WORKERS) -m kept --again

#: Kernels that torch, MKL and OpenBLAS choose on other processors, and sums in another order; each in an environment of its own.
KERNELS_plain := ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Prescott
KERNELS_avx2 := ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=AVX2 OPENBLAS_CORETYPE=Haswell
KERNELS_threads := OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2
KERNELS_avx2-threads := $(KERNELS_avx2) $(KERNELS_threads)
ROUNDING_TESTS := tests/test_arithmetic.py tests/test_attacks.py tests/test_bound_proofs.py tests/test_engine_catches.py \
  tests/test_matrix.py tests/test_spectral.py tests/test_whole_records.py

# the sample has one process for each environment, side by side; all tests have all workers, in one environment after the other
elsewhere: $(if $(SAMPLE_ONLY),$(VENV)/ready,$(VENV)/libraries)
	$(if $(SAMPLE_ONLY),$(MAKE) -j $(WORKERS) --output-sync=target sample-plain sample-avx2-threads,\
	  $(MAKE) -j 1 all-plain all-avx2 all-threads)

sample-%: ELSEWHERE = $(abspath $(VENV))-elsewhere-$*
sample-%:
	@echo '$(KERNELS_$*)'; rm -rf $(ELSEWHERE)
	env $(KERNELS_$*) $(BIN)/verify --evidence $(ELSEWHERE) run '*.thm-*' --effort quick --jobs 1
	env $(KERNELS_$*) $(BIN)/python -m pytest -q -n 0 --evidence=$(ELSEWHERE) -p no:cacheprovider $(ROUNDING_TESTS)
	@rm -rf $(ELSEWHERE)

all-%: ELSEWHERE = $(abspath $(VENV))-elsewhere-$*
all-%:
	@echo '$(KERNELS_$*)'; rm -rf $(ELSEWHERE)
	env $(KERNELS_$*) $(BIN)/python -m pytest -q -n $(WORKERS) --evidence=$(ELSEWHERE) -p no:cacheprovider $(PYTEST_ARGS)
	@rm -rf $(ELSEWHERE)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

benchmark: $(VENV)/ready
	$(BIN)/python -m pip install $(PIP) -c constraints.txt -e '.[benchmark]'
	$(BIN)/python benchmarks/compare.py --json docs/benchmarks.json --plot docs/benchmarks.svg --page docs/benchmarks.md

release: $(VENV)/ready
	$(BIN)/verify run --jobs $(WORKERS)
	$(BIN)/verify release

sdist: $(VENV)/ready
	rm -rf dist build/sdist && mkdir -p build/sdist
	$(BIN)/python -m build --sdist --no-isolation
	tar -xzf dist/*.tar.gz -C build/sdist --strip-components 1
	$(PYTHON) -m venv build/sdist/.venv
	cd build/sdist && .venv/bin/python -m pip install $(PIP) -c constraints.txt '.[dev]'
	cd build/sdist && .venv/bin/python -m pytest --collect-only -q | tail -1
	cd build/sdist && .venv/bin/python -m pytest -q tests/test_readme.py tests/test_registry.py tests/test_adding_a_theorem.py

oldest newest:
	rm -rf $(VENV)-$@
	$(PYTHON) -m venv $(VENV)-$@
	$(if $(filter oldest,$@),$(PYTHON) .ci/oldest.py) > $(VENV)-$@/constraints.txt
	$(VENV)-$@/bin/python -m pip install $(PIP) -c $(VENV)-$@/constraints.txt $(TORCH)
	$(VENV)-$@/bin/python -m pip install $(PIP) -c $(VENV)-$@/constraints.txt \
	  -e '.[completion,distributed,report]'
	$(VENV)-$@/bin/verify --version
	$(VENV)-$@/bin/verify --evidence $(VENV)-$@/evidence run $(SAMPLE) --effort quick --jobs $(WORKERS)

mutants: $(VENV)/ready
	$(BIN)/python -m pip install $(PIP) -c constraints.txt -e '.[mutation]'
	$(BIN)/python .ci/mutants.py $(foreach module,$(MODULES),'$(module)')

# a file that Rocq refuses is a failure of the tests, which say what Rocq says
theory:
	@if command -v coqc >/dev/null; then $(PYTHON) rocq/theory.py || true; fi

kernel: $(VENV)/ready
	$(BIN)/python rocq/check.py --jobs $(WORKERS)

fuzz: $(VENV)/ready
	$(BIN)/python -m tests.fuzzing --count $(COUNT) --seed $(SEED) --jobs $(WORKERS)

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP) -c constraints.txt -e '.[dev]'
	touch $@

# PyPI's torchvision, which curvlinops brings, is built for CUDA; transformers cannot be imported beside a broken one
$(VENV)/libraries: $(VENV)/ready
	$(BIN)/python -m pip install $(PIP) -c constraints.txt -e '.[libraries]' || \
	  echo "JAX, flax, equinox, transformers and curvlinops could not be installed: their tests will be skipped"
	$(BIN)/python -c 'import torchvision' 2>/dev/null || $(BIN)/python -m pip uninstall --quiet --yes torchvision
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest $(VENV)-elsewhere-* mutants .verify report build dist *.egg-info
