# make demo   from nothing to a report of examples/vae.py
# make test   from nothing to all tests passed
# Everything lives in .venv and build/; both commands may be repeated at any time.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python

.PHONY: native
native:  ## build the two libraries into sonde/_native (development; users: pip install .)
	cmake -S . -B build/native -DCMAKE_BUILD_TYPE=Release >/dev/null
	cmake --build build/native --parallel 2
	cmake --install build/native --prefix . --component Unspecified >/dev/null
