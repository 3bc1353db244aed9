# `make demo` judges this machine's kernel; `make test` runs the tests. Both set up .venv first.
# Variables: PYTHON, SYSTEM_PACKAGES=no (see scripts/setup.sh), PYTEST_ARGS, TARGET.

SHELL := bash
# nginx, haproxy and ip live in sbin, which an ordinary user's PATH may lack.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
PYTEST_ARGS ?=
COMPARE_ARGS ?=
BREAK_ARGS ?= --each 3 --slow --write docs/pkt-breaks.md
TARGET ?= lab:linux
FUZZ_ARGS ?= --for 60s
FUZZ_OUT := tfo-results/fuzz-smoke
KILLS := tfo-results/kills.json
CLIENT_KILLS := tfo-results/client-kills.json

# The runs behind docs/trust.md: simulated ones on each of these paths, and live ones.
SOAK_RUNS ?= 100
SOAK := tfo-results/soak
path_clean :=
path_loss_1 := loss=1%
path_loss_5 := loss=5%
path_loss_20 := loss=20%
path_duplicates := duplicate=20%
path_reordering := reorder=20%
path_corruption := corrupt=1%
path_delay_1 := delay=1ms
path_delay_50 := delay=50ms
path_delay_300 := delay=300ms
path_combined := loss=5%,duplicate=5%,reorder=10%,corrupt=1%,delay=50ms,jitter=20ms
PATHS := clean loss_1 loss_5 loss_20 duplicates reordering corruption delay_1 delay_50 delay_300 combined

.PHONY: help demo test lint conformance soak matrix client-matrix weaken compare break fuzz-smoke hunt bench compiled clean
.NOTPARALLEL:

help:
	@echo 'make demo         judge this kernel and the reference server, name the report'
	@echo 'make test         run the tests (PYTEST_ARGS="-k option" to choose)'
	@echo 'make conformance  the conformance cases as pytest tests (TARGET=lab:linux or HOST[:PORT])'
	@echo 'make lint         ruff and mypy'
	@echo 'make matrix       every case against every mutant, for docs/matrix.md (minutes)'
	@echo 'make client-matrix  the same for clients, and behind middleboxes: docs/client-*.md (minutes)'
	@echo 'make weaken       the matrix, then every case without each of its assertions (minutes)'
	@echo 'make compare      every mutant in simulation and live: the same verdicts? (minutes; COMPARE_ARGS)'
	@echo 'make break        our packetdrill scripts, each with a wrong expectation: docs/pkt-breaks.md (minutes)'
	@echo 'make fuzz-smoke   a fuzz campaign of a minute, which must find nothing new (FUZZ_ARGS="--for 1h")'
	@echo 'make hunt         fuzzing each mutant that shows on the wire, for docs/fuzz-mutants.md (minutes)'
	@echo 'make soak         a thousand runs that must blame nothing, for docs/trust.md (half an hour)'
	@echo 'make bench        the benchmarks'
	@echo 'make compiled     .venv-compiled, where the fuzzer goes twice as fast (a C compiler, minutes)'
	@echo 'make clean        remove .venv and caches; reports in tfo-results stay'

demo:
	@bash scripts/setup.sh
	@.venv/bin/scapy-tfo demo

test:
	@bash scripts/setup.sh test boofuzz cluster gain
	@.venv/bin/python -m pytest $(PYTEST_ARGS)

conformance:
	@bash scripts/setup.sh test
	@.venv/bin/python -m pytest tests/conformance --tfo-target $(TARGET) $(PYTEST_ARGS)

lint:
	@bash scripts/setup.sh lint
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

matrix:
	@bash scripts/setup.sh
	@mkdir -p $(dir $(KILLS))
	@.venv/bin/scapy-tfo spec --matrix --write docs/matrix.md --kills $(KILLS)

client-matrix:
	@bash scripts/setup.sh
	@mkdir -p $(dir $(CLIENT_KILLS))
	@.venv/bin/python scripts/client_matrix.py --write docs/client-matrix.md --boxes docs/client-boxes.md \
	  --kills $(CLIENT_KILLS)

weaken: matrix client-matrix
	@.venv/bin/python scripts/weaken.py --kills $(KILLS) --write docs/assertions.md
	@.venv/bin/python scripts/weaken.py --clients --kills $(CLIENT_KILLS) --write docs/client-assertions.md

compare:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/compare.py $(COMPARE_ARGS)

break:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/break.py $(BREAK_ARGS)

# This kernel needs root; without it the reference must do.
fuzz-smoke:
	@bash scripts/setup.sh
	@rm -rf $(FUZZ_OUT)
	@mkdir -p $(dir $(FUZZ_OUT))
	@if [ "$$(id -u)" = 0 ]; then given="lab:linux --known fuzz/known-linux.toml"; \
	  else given="sim:reference"; fi; \
	  .venv/bin/scapy-tfo fuzz $$given --corpus fuzz/corpus --out $(FUZZ_OUT) $(FUZZ_ARGS)

hunt:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/hunt.py --write docs/fuzz-mutants.json

# What is there already is not run again: remove $(SOAK) to begin anew.
soak:
	@bash scripts/setup.sh
	@mkdir -p $(SOAK)
	@$(MAKE) --no-print-directory $(PATHS:%=$(SOAK)/sim_%.json) $(SOAK)/linux.json
	@.venv/bin/scapy-tfo soak --from $(PATHS:%=$(SOAK)/sim_%.json) $(SOAK)/linux.json --markdown docs/trust.md

$(SOAK)/sim_%.json:
	.venv/bin/scapy-tfo soak sim:reference --slow --runs $(SOAK_RUNS) --impair '$(path_$*)' --json $@

$(SOAK)/linux.json:
	.venv/bin/scapy-tfo soak lab:linux --runs $(SOAK_RUNS) --json $@

bench:
	@bash scripts/setup.sh test boofuzz cluster gain
	@for script in bench/[a-z]*.py; do echo "== $$script"; .venv/bin/python "$$script" || exit; done

compiled:
	@bash scripts/setup.sh
	@bash scripts/compiled.sh
	@.venv-compiled/bin/pytest -q tests/fuzz $(PYTEST_ARGS)

clean:
	rm -rf .venv .venv-compiled .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
