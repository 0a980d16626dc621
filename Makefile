# Needs only make and Python >= 3.11; everything else is installed into .venv on first use.
# Another interpreter: make run PYTHON=python3.12

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# One stamp for each set of dependencies, each on top of the one before. When the constraints or the
# project file are newer than the first stamp, .venv is emptied and made again; a later stamp that is
# missing only adds to it.
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
LEARN_STAMP := $(VENV)/.installed-learn
SPARK_STAMP := $(VENV)/.installed-spark
FLINK_VENV := .venv-flink
FLINK_STAMP := $(FLINK_VENV)/.installed
PINS := constraints.txt pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup run test test-nojit test-engines test-spark test-flink check bench soak clean distclean

help: ## show this list
	@echo "Dovetail: schedulers that fit a workload. Targets:"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

setup: $(RUN_STAMP) ## make .venv with the default dependencies, nothing more
	@echo "==> $(VENV) is ready; try: $(BIN)/dovetail --help"

run: $(RUN_STAMP) ## compare the schedulers on the bundled workload, write a report
	@echo "==> running: dovetail demo"
	@$(BIN)/dovetail demo

test: $(LEARN_STAMP) ## run all tests
	@echo "==> testing with $(JOBS) processes"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup --ignore=tests/engines

test-nojit: $(DEV_STAMP) ## run the simulator's tests with numba's compiler switched off
	@echo "==> testing the simulator without compilation"
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(JOBS) \
		-W "ignore:overflow encountered in scalar:RuntimeWarning" tests/sim # hashes overflow on purpose

test-engines: $(SPARK_STAMP) ## run the tests that need services: Slurm, Spark, Flink, installed if possible (SKIP_SLURM=1, ...: without)
	@sh tests/engines/install.sh
	@sh tests/engines/install_java.sh
	@echo "==> testing engines with $(JOBS) processes (about six minutes)"
	@$(BIN)/python -m pytest -q -rs -n $(JOBS) --dist loadgroup tests/engines --ignore=tests/engines/test_flink.py
	@$(MAKE) --no-print-directory test-flink
	@$(BIN)/python -m tests.engines.virtual_slurm
	@$(BIN)/python -m tests.engines.spark_application

test-spark: $(SPARK_STAMP) ## run the tests of Spark only; where there is no Java, say so and end well
	@sh tests/engines/install_java.sh
	@if command -v java >/dev/null 2>&1; then \
		echo "==> testing Spark (about two minutes)"; \
		$(BIN)/python -m pytest -q -rs tests/engines/test_spark.py tests/engines/test_spark_cluster.py; \
	else \
		echo "==> NOT TESTED: Spark, for there is no java here (on Debian and Ubuntu: apt install openjdk-17-jre-headless)"; \
	fi

test-flink: $(DEV_STAMP) ## run the tests of Flink only; one cluster, so one process
	@sh tests/engines/install_java.sh
	@if [ "$(SKIP_FLINK)" != 1 ]; then $(MAKE) --no-print-directory $(FLINK_STAMP) || \
		echo "==> apache-flink could not be installed into $(FLINK_VENV), so its tests are skipped"; fi
	@echo "==> testing Flink (about six minutes)"
	@$(BIN)/python -m pytest -q -rs tests/engines/test_flink.py
	@$(BIN)/python -m tests.engines.virtual_flink

check: $(LEARN_STAMP) ## lint, format, types, import directions
	@echo "==> ruff: lint"
	@$(BIN)/python -m ruff check .
	@echo "==> ruff: format"
	@$(BIN)/python -m ruff format --check .
	@echo "==> mypy"
	@$(BIN)/python -m mypy
	@echo "==> import-linter"
	@$(BIN)/lint-imports --no-logo

bench: $(RUN_STAMP) ## measure the simulator's speed, how it grows with size, and the engine's
	@echo "==> running: benchmarks/dag_speed.py (about two minutes, half of it compiling)"
	@$(BIN)/python benchmarks/dag_speed.py
	@echo "==> running: benchmarks/dag_scale.py --quick (all sizes: $(BIN)/python benchmarks/dag_scale.py)"
	@$(BIN)/python benchmarks/dag_scale.py --quick
	@echo "==> running: benchmarks/elastic_speed.py --quick (all sizes: $(BIN)/python benchmarks/elastic_speed.py)"
	@$(BIN)/python benchmarks/elastic_speed.py --quick
	@echo "==> running: benchmarks/gpu_speed.py --quick (all sizes: $(BIN)/python benchmarks/gpu_speed.py)"
	@$(BIN)/python benchmarks/gpu_speed.py --quick
	@echo "==> running: benchmarks/stream_speed.py --quick (all sizes: $(BIN)/python benchmarks/stream_speed.py)"
	@$(BIN)/python benchmarks/stream_speed.py --quick
	@echo "==> running: benchmarks/execution_speed.py (the engine against process pools)"
	@$(BIN)/python benchmarks/execution_speed.py

soak: $(RUN_STAMP) ## 200,000 tasks on a real engine while executors, then the server too, are killed
	@echo "==> running: benchmarks/execution_soak.py (executors die)"
	@$(BIN)/python benchmarks/execution_soak.py
	@echo "==> running: benchmarks/execution_soak.py --every 0.5 --server-every 8 --least-servers 10 (so does the server)"
	@$(BIN)/python benchmarks/execution_soak.py --every 0.5 --server-every 8 --least-servers 10

clean: ## remove caches and build products, keep .venv
	@echo "==> removing caches and build products"
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -rf src/*.egg-info

distclean: clean ## clean, and remove .venv as well
	@echo "==> removing $(VENV) and $(FLINK_VENV)"
	@rm -rf $(VENV) $(FLINK_VENV)

# An interrupted or failed install leaves no stamp, so the next call starts afresh. The new .venv is made with
# --clear, which works even when $(PYTHON) is the python of the old one.
$(RUN_STAMP): $(PINS)
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "error: '$(PYTHON)' was not found; name a Python >= 3.11: make run PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: Dovetail needs Python >= 3.11, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1);" \
			"name a newer one: make run PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "error: '$(PYTHON)' lacks its venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; \
		exit 1; }
	@if [ -e $(VENV) ]; then echo "==> removing $(VENV), which is not finished or older than $(PINS)"; fi
	@echo "==> making $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "==> installing Dovetail and its dependencies into $(VENV) (the first time takes a minute or two)"
	@$(PIP_INSTALL) --editable .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	@echo "==> installing the development tools into $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev,envs]'
	@touch $@

$(LEARN_STAMP): $(DEV_STAMP)
	@echo "==> installing torch, ray, onnx, sb3-contrib, gpytorch and duckdb, which some tests need, into $(VENV) (a large download)"
	@$(PIP_INSTALL) --editable '.[learn,onnx,ray,sb3,peers,examples]'
	@touch $@

$(SPARK_STAMP): $(DEV_STAMP)
	@echo "==> installing pyspark into $(VENV) (a large download)"
	@$(PIP_INSTALL) --editable '.[spark,bench]' # bench: its data
	@touch $@

# Apart from the others, as apache-flink asks for older versions of what Dovetail needs. The requirement is that of the
# extra `flink` alone. Nothing of Dovetail is installed there.
$(FLINK_STAMP): pyproject.toml
	@echo "==> installing apache-flink into $(FLINK_VENV) (a very large download)"
	@$(PYTHON) -m venv --clear $(FLINK_VENV)
	@$(FLINK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["flink"])')"
	@touch $@
