# Every target builds what it needs: the environment comes from the hash-pinned lock file and nothing else.
PYTHON ?= python3.11
BIN := .venv/bin
BENCH := .venv-bench/bin
DIST := .venv-dist/bin
SITE := .venv-site/bin
SHELL := /bin/bash
.DELETE_ON_ERROR:
# The interpreters on which the wheel is tried: those of the supported versions that run here or that pyenv keeps, or those you name.
PYTHONS ?= $(sort $(foreach version,3.11 3.12 3.13 3.14,$(shell python$(version) -c 'import sys; print(sys.executable)' 2>/dev/null) \
	$(wildcard $(HOME)/.pyenv/versions/$(version).*/bin/python$(version))))
.PHONY: reproduce reproduce-full lint test test-torch test-slow studies bench docs figures dist site lock clean

reproduce: .venv/ready  ## the main job: the papers' claims and figures into out/report.html
	$(BIN)/rectilinear reproduce --out out

reproduce-full: .venv/ready  ## the same at the papers' sizes and with many seeds, into out/full
	$(BIN)/rectilinear reproduce --full --out out/full

lint: .venv/ready  ## lint, format, types and the contract of imports: what runs before every commit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests of compiled code, which is run as plain Python too: what the compiler makes of it is what it says.
KERNEL_TESTS := tests/test_kernels.py tests/test_flow_parts.py tests/test_small_systems.py tests/test_small_products.py tests/test_long_time.py::TestKernels \
	$(addprefix tests/test_convergence.py::test_,collocation_converges_with_order_nine) \
	tests/test_span.py::test_box_problem_meets_its_conditions_where_lines_depend \
	$(addprefix tests/test_followed.py::test_,first_fall_finds_the_first_root \
	a_neuron_without_kinks_follows_the_closed_form multipliers_move_to_a_vertex_without_changing_the_push)
test: lint  ## everything CI checks
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(KERNEL_TESTS)
	$(BIN)/pytest -n 2
	$(BIN)/rectilinear reproduce --out out
	LEDGER=out $(BIN)/pytest tests/test_ledger_run.py

test-torch: .venv-bench/ready  ## PyTorch models in and out, where torch is: in the benchmarks' environment
	$(BENCH)/pytest tests/test_torch_models.py

test-slow: .venv/ready  ## long tests
	$(BIN)/pytest -m slow

studies: .venv/ready  ## what the papers on classification leave open, some twenty minutes, into out/studies/studies.html
	$(BIN)/rectilinear study --out out/studies

bench: .venv-bench/ready  ## the benchmark tables, against peers in an environment of their own
	$(BENCH)/python -m benchmarks

figures: .venv/ready  ## draw the figures of docs/ again
	$(BIN)/python docs/figures.py

docs: .venv/ready  ## run every example of the README and the pages in docs/
	$(BIN)/pytest README.md docs

site: .venv-site/ready  ## this documentation as pages into out/site, warnings are errors; then every page and link is looked at
	$(SITE)/rectilinear reproduce --out out
	$(SITE)/python website/assemble.py out out/site-source
	rm -rf out/site
	$(SITE)/sphinx-build --fail-on-warning --keep-going --quiet out/site-source out/site
	SITE=out/site $(SITE)/pytest tests/test_site.py

dist: .venv/ready .venv-dist/ready  ## sdist and wheel into dist, checked, and the wheel tried in empty environments
	rm -rf dist
	$(BIN)/hatchling build
	$(DIST)/twine check --strict dist/*
	for python in $(PYTHONS); do $$python packaging/try_wheel.py dist/*.whl || exit 1; done

.venv/ready: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

.venv-bench/ready: requirements/dev.txt requirements/bench.txt pyproject.toml
	$(PYTHON) -m venv .venv-bench
	$(BENCH)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BENCH)/pip install --quiet --require-hashes -r requirements/bench.txt
	$(BENCH)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

.venv-site/ready: requirements/dev.txt requirements/site.txt pyproject.toml
	$(PYTHON) -m venv .venv-site
	$(SITE)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(SITE)/pip install --quiet --require-hashes -r requirements/site.txt
	$(SITE)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

.venv-dist/ready: requirements/dist.txt
	$(PYTHON) -m venv .venv-dist
	$(DIST)/pip install --quiet --require-hashes -r requirements/dist.txt
	touch $@

LOCK := pip-compile --generate-hashes --strip-extras --no-header --allow-unsafe
lock:  ## renew the lock files from pyproject.toml and requirements/*.in (needs pip-tools and sight of torch's CPU build)
	$(LOCK) --extra dev -o requirements/dev.txt pyproject.toml
	for kind in bench dist site; do $(LOCK) -o requirements/$$kind.txt requirements/$$kind.in || exit 1; done
	sed -i '/^--/d' requirements/*.txt  # where the packages came from is not ours to say

clean:
	rm -rf .venv .venv-bench .venv-dist .venv-site out dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
