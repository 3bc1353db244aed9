# `make demo` judges this machine's kernel; `make test` runs the tests. Both set up .venv first.
# Variables: PYTHON, SYSTEM_PACKAGES=no (see scripts/setup.sh), PYTEST_ARGS, TARGET.

SHELL := bash
# nginx, haproxy and ip live in sbin, which an ordinary user's PATH may lack.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
PYTEST_ARGS ?=
COMPARE_ARGS ?=
VARIANTS_ARGS ?=
CONFIGURATIONS_ARGS ?= --write docs/generated/linux.md
FAULTS_ARGS ?= --every 3 --write docs/generated/small-faults.md
STACKS_ARGS ?= --write docs/generated/stacks.md
BREAK_ARGS ?= --each 3 --slow --write docs/generated/pkt-breaks.md
TARGET ?= lab:linux
SITE ?= build/site
FUZZ_ARGS ?= --for 60s
FUZZ_OUT := tfo-results/fuzz-smoke
KILLS := tfo-results/kills.json
CLIENT_KILLS := tfo-results/client-kills.json

# The runs that docs/trust.md reports: simulated ones on each of these paths, and live ones.
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

.PHONY: small-faults site stacks gain branches left-out rule-mutants explore-mutants schedules watched help demo test lint conformance plugin soak configurations variants variant-rows matrix client-matrix client-laws weaken compare break fuzz-smoke hunt finding-scripts grammar arrays rules rooms bench compiled wheels man clean
.NOTPARALLEL:

help:
	@echo 'make demo         judge this kernel and the reference server, and say where the report is'
	@echo 'make test         run the tests (PYTEST_ARGS="-k option" to choose)'
	@echo 'make conformance  run the conformance cases as pytest tests (TARGET=lab:linux or HOST[:PORT])'
	@echo 'make lint         run ruff and mypy'
	@echo 'make plugin       build dissector/tfo.lua from its parts in dissector/src'
	@echo 'make matrix       run every case against every mutant, for docs/generated/matrix.md (minutes)'
	@echo 'make variants     run every case, the fuzzer and explored schedules against every legal stack, which must not be blamed (an hour)'
	@echo 'make variant-rows  make the stacks that join many variants anew'
	@echo 'make client-matrix  the same for clients, also with middleboxes: docs/generated/client-*.md (minutes)'
	@echo 'make client-laws  run the laws alone against each wrong client: docs/generated/client-laws.md (minutes)'
	@echo 'make weaken       make the matrices, then weaken each assertion of the cases (minutes)'
	@echo 'make configurations  judge this kernel in each legal configuration, for docs/generated/linux.md (half an hour)'
	@echo 'make stacks       build the stacks of docs/stacks, judge, explore and fuzz each, for docs/generated/stacks.md (an hour)'
	@echo 'make compare      compare the verdicts on every mutant in simulation and live (minutes; COMPARE_ARGS)'
	@echo 'make break        run our packetdrill scripts with wrong expectations: docs/generated/pkt-breaks.md (minutes)'
	@echo 'make fuzz-smoke   run a fuzz campaign of a minute, which must find nothing new (FUZZ_ARGS="--for 1h")'
	@echo 'make hunt         fuzz each mutant that shows on the wire, for docs/generated/fuzz-mutants.md (minutes)'
	@echo 'make finding-scripts  run the scripts of their findings: docs/generated/finding-scripts.md (minutes)'
	@echo 'make soak         make some hundred runs that must report no failure, for docs/trust.md (hours)'
	@echo 'make watched      run all cases and some programs, and write how often each rule applied: docs/generated/oracle.md'
	@echo 'make small-faults  change one place of the reference at a time, and tell which of these stacks pass all cases (an hour)'
	@echo 'make left-out     leave each rule of TCP out in turn, and see its mutant pass: docs/generated/rules-left-out.md'
	@echo 'make rule-mutants ask what tells of rules of TCP that no rule of traffic judges: docs/generated/rule-mutants.md'
	@echo 'make gain         measure the figures and pictures of docs/gain*.md anew (15 minutes, as root, GAIN_ARGS="--long")'
	@echo 'make rules        write docs/generated/rules.md, the rules of plain TCP, from specs/'
	@echo 'make grammar      write the table that the parser of packetdrill scripts is loaded from'
	@echo 'make arrays       make the covering arrays anew that every run needs'
	@echo 'make rooms        draw docs/rooms.toml, the rooms and their arrows, into docs/developing.md'
	@echo 'make explore-mutants  explore each wrong stack, and write docs/generated/explore.md'
	@echo 'make schedules    make the corpus of schedules anew, from what explore-mutants found'
	@echo 'make man          write docs/scapy-tfo.1, the man page, from the help of the commands'
	@echo 'make site         build the documentation as a site, without warnings: build/site'
	@echo 'make bench        run the benchmarks'
	@echo 'make wheels       build the compiled wheels of a release in dist/, with cibuildwheel (Docker, minutes)'
	@echo 'make compiled     make .venv-compiled, where the fuzzer is twice as fast (a C compiler, minutes)'
	@echo 'make clean        remove .venv and caches, but not the reports in tfo-results'

demo:
	@bash scripts/setup.sh
	@.venv/bin/scapy-tfo demo

test:
	@bash scripts/setup.sh test boofuzz cluster gain quic
	@.venv/bin/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

conformance:
	@bash scripts/setup.sh test
	@.venv/bin/python -m pytest tests/conformance --tfo-target $(TARGET) $(PYTEST_ARGS)

lint:
	@bash scripts/setup.sh lint
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

plugin:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/build_plugin.py

matrix:
	@bash scripts/setup.sh
	@mkdir -p $(dir $(KILLS))
	@.venv/bin/scapy-tfo spec --matrix --write docs/generated/matrix.md --kills $(KILLS)

client-matrix:
	@bash scripts/setup.sh
	@mkdir -p $(dir $(CLIENT_KILLS))
	@.venv/bin/python scripts/client_matrix.py --write docs/generated/client-matrix.md --boxes docs/generated/client-boxes.md \
	  --kills $(CLIENT_KILLS)

client-laws:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/client_laws.py --write docs/generated/client-laws.md

weaken: matrix client-matrix
	@.venv/bin/python scripts/weaken.py --kills $(KILLS) --write docs/generated/assertions.md
	@.venv/bin/python scripts/weaken.py --clients --kills $(CLIENT_KILLS) --write docs/generated/client-assertions.md

variants:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/variants.py --write docs/generated/variants.md $(VARIANTS_ARGS)
	@.venv/bin/python scripts/variant_scripts.py --write docs/generated/variant-scripts.md

variant-rows:
	@bash scripts/setup.sh test
	@.venv/bin/python scripts/variant_rows.py

configurations:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/linux_configurations.py $(CONFIGURATIONS_ARGS)

stacks:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/stacks.py $(STACKS_ARGS)

compare:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/compare.py $(COMPARE_ARGS)

break:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/break.py $(BREAK_ARGS)

# Against this kernel as root, otherwise against the reference.
fuzz-smoke:
	@bash scripts/setup.sh
	@rm -rf $(FUZZ_OUT)
	@mkdir -p $(dir $(FUZZ_OUT))
	@if [ "$$(id -u)" = 0 ]; then given="lab:linux --known fuzz/known-linux.toml"; \
	  else given="sim:reference"; fi; \
	  .venv/bin/scapy-tfo fuzz $$given --corpus fuzz/corpus --out $(FUZZ_OUT) $(FUZZ_ARGS)

schedules:
	@bash scripts/setup.sh
	@if [ "$$(id -u)" = 0 ]; then linux=--linux; else linux=; fi; \
	  .venv/bin/python scripts/schedules.py $$linux $(SCHEDULES_ARGS)

explore-mutants:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/explore_mutants.py --write docs/generated/explore.json $(EXPLORE_ARGS)

hunt:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/hunt.py --write docs/generated/fuzz-mutants.json

finding-scripts:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/finding_scripts.py --write docs/generated/finding-scripts.md $(FINDING_ARGS)

# Runs whose results exist are not repeated: remove $(SOAK) to start again. What an interruption left
# (status 130) is not a result.
keep_whole = status=$$?; [ $$status = 130 ] || [ ! -e $@.part ] || mv $@.part $@; exit $$status

soak:
	@bash scripts/setup.sh
	@mkdir -p $(SOAK)
	@$(MAKE) --no-print-directory $(PATHS:%=$(SOAK)/sim_%.json) $(SOAK)/linux.json
	@.venv/bin/scapy-tfo soak --from $(PATHS:%=$(SOAK)/sim_%.json) $(SOAK)/linux.json --markdown docs/trust.md

$(SOAK)/sim_%.json:
	.venv/bin/scapy-tfo soak sim:reference --slow --runs $(SOAK_RUNS) --impair '$(path_$*)' \
	  --out $(SOAK)/$* --json $@.part; $(keep_whole)

$(SOAK)/linux.json:
	.venv/bin/scapy-tfo soak lab:linux --runs $(SOAK_RUNS) \
	  --out $(SOAK)/linux --json $@.part; $(keep_whole)

site:
	@bash scripts/setup.sh site
	@.venv/bin/python -m sphinx -q -E -W --keep-going -b html -c docs/site docs $(SITE)
	@echo $(SITE)/index.html

man:
	@bash scripts/setup.sh test
	@.venv/bin/python scripts/build_manpage.py

rules:
	@bash scripts/setup.sh
	@.venv/bin/scapy-tfo spec --rules --write docs/generated/rules.md

left-out:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/left_out.py --write docs/generated/rules-left-out.md

rule-mutants:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/rule_mutants.py --write docs/generated/rule-mutants.json

watched:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/watched.py --write docs/generated/oracle.md

gain:
	@bash scripts/setup.sh gain quic
	@.venv/bin/python scripts/gain_figures.py $(GAIN_ARGS)

branches:
	@bash scripts/setup.sh
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.4'
	@.venv/bin/python scripts/branches.py --write docs/generated/branches.md

small-faults:
	@bash scripts/setup.sh
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.4'
	@.venv/bin/python scripts/small_faults.py $(FAULTS_ARGS)

grammar:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/build_grammar.py

arrays:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/build_arrays.py

rooms:
	@bash scripts/setup.sh
	@.venv/bin/python scripts/draw_rooms.py

bench:
	@bash scripts/setup.sh test boofuzz cluster gain quic
	@for script in bench/[a-z]*.py; do echo "== $$script"; .venv/bin/python "$$script" || exit; done

compiled:
	@bash scripts/setup.sh
	@bash scripts/compiled.sh
	@.venv-compiled/bin/pytest -q tests/program tests/oracle tests/executor tests/fuzz $(PYTEST_ARGS)

wheels:
	@bash scripts/setup.sh wheels
	@.venv/bin/cibuildwheel --platform linux --output-dir dist

clean:
	rm -rf .venv .venv-compiled .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
