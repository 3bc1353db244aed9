# `make demo` judges this machine's kernel; `make test` runs the tests. Both set up .venv first.
# Variables: PYTHON, SYSTEM_PACKAGES=no (see scripts/setup.sh), PYTEST_ARGS, TARGET.

SHELL := bash
# nginx, haproxy and ip live in sbin, which an ordinary user's PATH may lack.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
PYTEST_ARGS ?=
TARGET ?= lab:linux

.PHONY: help demo test lint conformance bench clean
.NOTPARALLEL:

help:
	@echo 'make demo         judge this kernel and the reference server, name the report'
	@echo 'make test         run the tests (PYTEST_ARGS="-k option" to choose)'
	@echo 'make conformance  the conformance cases as pytest tests (TARGET=lab:linux or HOST[:PORT])'
	@echo 'make lint         ruff and mypy'
	@echo 'make bench        the benchmarks'
	@echo 'make clean        remove .venv and caches; reports in tfo-results stay'

demo:
	@bash scripts/setup.sh
	@.venv/bin/scapy-tfo demo

test:
	@bash scripts/setup.sh test
	@.venv/bin/python -m pytest $(PYTEST_ARGS)

conformance:
	@bash scripts/setup.sh test
	@.venv/bin/python -m pytest tests/conformance --tfo-target $(TARGET) $(PYTEST_ARGS)

lint:
	@bash scripts/setup.sh lint
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

bench:
	@bash scripts/setup.sh test
	@for script in bench/[a-z]*.py; do echo "== $$script"; .venv/bin/python "$$script" || exit; done

clean:
	rm -rf .venv .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
