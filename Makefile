# make demo   from nothing to a report of examples/vae.py
# make test   from nothing to all tests passed
# make wheel  from nothing to what a release uploads, into dist
# Everything they make lives in .venv, .make, build and demo; both may be repeated at any time.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
PY := $(VENV)/bin/python
SONDE := $(VENV)/bin/sonde
NATIVE_SOURCES := $(shell find native CMakeLists.txt -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.S' -o -name 'CMakeLists.txt' \))
# What failed runs once more (tests/run.py); CI says so.
SECOND_CHANCE ?= 0
# What tests need beside Sonde's own environment, each made once (scripts/environments). Minutes from nothing on two idle
# cores: see CONTRIBUTING.md.
ENVIRONMENTS := $(addprefix .make/environments/,$(addsuffix /ready,mxnet trainers jupyter hta ray openmp cpp mcp docs otlp python3.14))

.DEFAULT_GOAL := help
.PHONY: help demo docs test pictures gallery lint bench bench-quick bench-docs soak proofs fuzz traces web native wheel wheel-test test-wheel clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .make/demo-environment .make/native  ## profile examples/vae.py and write its report
	@mkdir -p demo
	$(SONDE) run --force -o demo/vae.sonde examples/vae.py
	@$(SONDE) report demo/vae.sonde --force -o demo/vae.html

test: .make/test-environment $(ENVIRONMENTS) .make/native .make/web lint  ## every check and every test
	@cd web && npm --silent test -- --silent
	@$(PY) -m tests.run $(if $(filter 1,$(SECOND_CHANCE)),--second-chance)

pictures: .make/test-environment .make/native .make/web  ## take the pictures in docs again
	@$(PY) -m scripts.pictures

gallery: .make/test-environment .make/native .make/web  ## five real reports to look at, into docs/gallery
	@$(PY) -m scripts.gallery

lint: .make/test-environment  ## ruff, mypy --strict, import boundaries, report bundle up to date
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/ruff format -q --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache | tail -n 2
	$(PY) web/check_bundle.py

BENCH_ENVIRONMENTS := .make/bench-environment $(addprefix .make/environments/,hta/ready trainers/ready) .make/native .make/web
bench: $(BENCH_ENVIRONMENTS)  ## every benchmark beside its peers, into benchmarks/results (two hours and a half)
	$(PY) -m benchmarks --all
	$(PY) -m benchmarks.lib.document

bench-quick: $(BENCH_ENVIRONMENTS)  ## a short form of each benchmark, into build/bench/quick (15 minutes)
	$(PY) -m benchmarks --quick

docs: .make/environments/docs/ready  ## the documentation as a site into build/site, strict, without a network
	$(PY) scripts/docs/generate.py
	.make/environments/docs/bin/python -m mkdocs build --strict --quiet

bench-docs: .make/test-environment  ## docs/benchmarks.md and benchmarks/README.md from the latest results
	$(PY) -m benchmarks.lib.document

soak: .make/test-environment .make/native  ## ten minutes of threads, forks, libraries and exceptions at 2000 Hz
	$(PY) -m benchmarks soak

# What docs/promises.md promises, measured. All of it takes some three hours; each line runs by itself.
proofs: .make/test-environment .make/guests-environment/ready .make/native  ## everything that docs/promises.md promises, measured (three hours)
	$(PY) -m benchmarks split
	$(PY) -m benchmarks size
	$(PY) -m benchmarks guests --python .make/guests-environment/bin/python --rounds 10
	$(PY) -m benchmarks guests --python .make/guests-environment/bin/python --rounds 30 --only jax
	$(PY) -m benchmarks guests --python all --built-in
	$(PY) -m benchmarks kills --moments 1000
	$(PY) -m benchmarks memory
	$(PY) -m benchmarks undisturbed
	$(PY) -m benchmarks busy_matrix
	$(PY) -m benchmarks sanitizers
	ulimit -Sn 4096; $(PY) -m benchmarks guest_suites --python all

fuzz: .make/test-environment .make/native  ## every reader: native ones under libFuzzer with sanitizers, the rest mutated
	native/tests/fuzz/run.sh 600
	$(PY) -m tests.fuzz.campaign --seconds 120 --results build/fuzz/results.json

traces: .make/test-environment .make/native  ## every real trace against a plain reading of its JSON
	SONDE_ALL_TRACES=1 $(PY) -m pytest -q tests/unit/ingest

web: .make/web  ## build the report's page into sonde/render/assets
	cd web && npm --silent run check && npm --silent run build

native: .make/native  ## the C++ libraries, into sonde/_native

WHEEL = $(firstword $(wildcard dist/sonde_profiler-*-manylinux_2_17_x86_64.whl))
SUITES ?= bookworm trixie sid bullseye

wheel:  ## sdist, manylinux wheel, SBOM and checksums into dist, byte by byte the same anywhere
	@scripts/wheel/build.sh dist build/wheel-tools '$(PYTHON)'

wheel-test: wheel  ## build it again elsewhere and compare; install it in clean Debian roots (as root, many minutes)
	@scripts/wheel/again.sh dist '$(PYTHON)'
	@scripts/packages.sh debootstrap
	@for suite in $(SUITES); do tests/install/clean_root.sh $$suite "$(WHEEL)"; done
	@tests/install/clean_root.sh bookworm "$(WHEEL)" build/roots '$(TORCH)'

test-wheel: wheel  ## the test suite against the installed wheel; TESTS="tests/unit …" for a part of it
	@scripts/wheel/suite.sh "$(WHEEL)" build/wheel-suite '$(PYTHON)' '$(TORCH)' $(TESTS)

clean:  ## remove everything that make made
	rm -rf .venv .make build demo dist sonde/_native

.make/native: $(NATIVE_SOURCES)
	@mkdir -p .make
	@scripts/packages.sh g++ cmake
	@echo "[set-up] C++ libraries" >&2
	cmake -S . -B build/native -DCMAKE_BUILD_TYPE=Release >/dev/null
	cmake --build build/native --parallel 2 > build/native.log 2>&1 || { cat build/native.log; exit 1; }
	cmake --install build/native --prefix . >/dev/null
	@touch $@

.make/web: web/package.json web/package-lock.json scripts/packages.sh
	@mkdir -p .make
	@scripts/packages.sh node npm
	@echo "[set-up] npm packages of the report" >&2
	@cd web && npm install --silent --no-save --no-audit --no-fund
	@touch $@

.make/environments/cpp/ready: examples/cpp/vae.cpp examples/cpp/CMakeLists.txt .make/test-environment
	@echo "[set-up] examples/cpp against torch's own libraries (a minute)" >&2
	@mkdir -p $(@D)
	@cmake -S examples/cpp -B $(@D) -DCMAKE_PREFIX_PATH="$$($(PY) -c 'import torch; print(torch.__path__[0])')" > $(@D)/log 2>&1 && \
	  cmake --build $(@D) >> $(@D)/log 2>&1 || { cat $(@D)/log; exit 1; }
	@touch $@

.make/environments/python3.14/ready: scripts/environments/python314.sh
	@scripts/environments/python314.sh $(@D)
	@touch $@

.make/environments/%/ready: scripts/environments/%.txt scripts/environments/make.sh .make/test-environment
	@mkdir -p .make/environments
	@scripts/environments/make.sh $< $(@D) $(PYTHON) $(VENV) '$(TORCH)'

# Packages of the guests that `make proofs` profiles, apart from Sonde's own. None of them needs torch.
.make/guests-environment/ready: tests/guests/packages.txt
	@echo "[set-up] the guests' packages (a few minutes the first time)" >&2
	@$(PYTHON) -m venv .make/guests-environment
	@.make/guests-environment/bin/python -m pip install -qq --disable-pip-version-check -r $< || \
	  for package in $$(grep -v '^#' $<); do .make/guests-environment/bin/python -m pip install -qq \
	  --disable-pip-version-check $$package || echo "[set-up] not here: $$package" >&2; done
	@touch $@

.make/bench-environment: .make/test-environment
	@scripts/environment.sh $(VENV) $(PYTHON) bench '$(TORCH)'
	@touch $@

.make/demo-environment: pyproject.toml scripts/environment.sh
	@mkdir -p .make
	@scripts/environment.sh $(VENV) $(PYTHON) demo '$(TORCH)'
	@touch $@

.make/test-environment: pyproject.toml scripts/environment.sh scripts/packages.sh scripts/pprof.sh
	@mkdir -p .make
	@scripts/packages.sh g++ cmake gdb chromium firefox-esr perf clang++ libomp musl-gcc libjemalloc promtool
	@scripts/pprof.sh .make/pprof
	@scripts/environment.sh $(VENV) $(PYTHON) test '$(TORCH)'
	@touch $@ .make/demo-environment
