# The way in: a thin layer over the CMake presets. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH_ROUNDS ?= 40

# What the user gave goes to the recipes through the environment, byte for byte: make would expand a
# `$` in it, and the shell would read its quotes.
unexport ALLOW SECRET CMD PREFIX
export MAKE_ALLOW := $(value ALLOW)
export MAKE_SECRET := $(value SECRET)
export MAKE_CMD := $(value CMD)
export MAKE_PREFIX := $(value PREFIX)

# The libraries without sockets: their tests run under ASan and UBSan too, each time.
PURE := base http dns policy secrets audit certs config
FUZZERS := $(basename $(notdir $(wildcard tests/fuzz/*_fuzz.cpp)))

empty :=
space := $(empty) $(empty)
BUILD := cmake --build --parallel $(JOBS) --preset
CTEST := ctest --output-on-failure --no-tests=error --test-dir

.PHONY: help run build bench test test-clients test-full lint fuzz install clean
.PHONY: deps-build deps-test deps-clients deps-full build-tests pure-asan

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS=$$'\t' read -r target text; do printf '  make %-12s %s\n' "$$target" "$$text"; done

run: build ## the demo; or a command: make run ALLOW="pypi.org github.com" SECRET=GITHUB_TOKEN@github.com CMD='…'
	@set -f; arguments=(); \
	for host in $$MAKE_ALLOW; do arguments+=(--allow "$$host"); done; \
	for secret in $$MAKE_SECRET; do arguments+=(--secret "$$secret"); done; \
	if [[ -n $$MAKE_CMD ]]; then \
	  exec build/warder run "$${arguments[@]}" -- sh -c "$$MAKE_CMD"; \
	elif [[ $${#arguments[@]} -gt 0 ]]; then \
	  echo "make run: ALLOW and SECRET need a command: CMD='curl https://…'" >&2; exit 2; \
	fi; \
	exec build/warder demo

build: deps-build ## build/warder and build/warder-sandbox (Release)
	@cmake --preset release >/dev/null
	@$(BUILD) release --target warder warder-sandbox

test: deps-test pure-asan build-tests ## everything: the pure libraries under ASan+UBSan, then all tests (Release)
	@echo 'left out: make test-clients (clients that are downloaded, h2spec, testssl, git), make test-full (soak, gigabytes, sanitizers, fuzzing)'
	@$(CTEST) build -j $$(nproc) -LE 'full|clients' --repeat until-pass:2 # ctest says which needed a second try: a shared machine stalls

test-clients: deps-clients build ## real clients by way in and protocol, all downloaded: the table is build/clients.md
	@tests/clients/install build/clients
	@$(CTEST) build -L clients

test-full: deps-full build-tests ## all there is: sanitizers over everything, fuzzing, soak, gigabytes, more clients
	@cmake --preset dev >/dev/null; $(BUILD) dev; $(CTEST) build-dev -LE 'full|clients'
	@cmake --preset tsan >/dev/null; $(BUILD) tsan; $(CTEST) build-tsan -L unit
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=10
	@$(CTEST) build -LE clients
	@$(MAKE) --no-print-directory test-clients

bench: build ## how long a sandbox takes to start, beside bwrap and others: a table, and build/bench.json
	@bench/start.py build $(BENCH_ROUNDS)

lint: ## format, bans and the co_await rule; with TIDY=1 also clang-tidy
	@tools/install-deps lint
ifdef TIDY
	@$(MAKE) --no-print-directory deps-build build-tests
endif
	@tools/lint $(if $(TIDY),--tidy build)

fuzz: deps-build ## each fuzz target for FUZZ_SECONDS=60
	@cmake --preset fuzz >/dev/null
	@$(BUILD) fuzz --target $(FUZZERS)
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

install: build ## into PREFIX=/usr/local (DESTDIR is honoured)
	@cmake --install build --prefix "$$MAKE_PREFIX"

clean: ## removes what was built
	@cmake -E rm -rf build build-dev build-tsan build-fuzz

deps-build:
	@tools/install-deps build runtime

deps-test:
	@tools/install-deps build runtime tests

deps-clients:
	@tools/install-deps build runtime tests clients

deps-full:
	@tools/install-deps build runtime tests full

build-tests:
	@cmake --preset release >/dev/null
	@$(BUILD) release

pure-asan:
	@cmake --preset dev >/dev/null
	@$(BUILD) dev --target $(addprefix test_,$(PURE))
	@$(CTEST) build-dev -R '^($(subst $(space),|,$(PURE)))$$'
