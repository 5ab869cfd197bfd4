# Developer commands. Each target does its own setup.
.DEFAULT_GOAL := help
.PHONY: help setup setup-run build build-debug install uninstall dist demo test test-thread browser-test web-test \
  screenshots up fill down bench lint check-deploy check-outsider check-examples format compose-check rolling-restart \
  storm prometheus-check openapi-check api-check api-diff api-client-check api-fuzz api-release docs
SHELL := /bin/bash

swift_folders := $(wildcard Sources Tests Examples/*/Package.swift Examples/*/Sources Examples/*/Tests) \
  $(wildcard Benchmarks/Package.swift Benchmarks/Sources) Package.swift
shell_scripts := $(addprefix scripts/,build-docs install-packages install-programs collect-programs compose-check \
  rolling-restart swift-build) \
  scripts/compose-check.d/postgres-entrypoint scripts/compose-check.d/redis-entrypoint deploy/healthcheck .ci/run
python_scripts := $(addprefix scripts/,api-check api-client-check api-diff api-fuzz browser-test check-arrows \
  check-examples check-kubernetes check-outsider check-queue-sql openapi-check prometheus-check run-tests screenshots storm web-test) \
  $(wildcard scripts/support/*.py scripts/support/*/*.py)
# Running hundreds of server-backed tests at once only makes them compete for CPU.
few_at_once := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6
tools := .build-tools
hadolint := $(tools)/bin/hadolint
PREFIX := /usr/local

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install missing development packages: C libraries, vips, Redis, Postgres, linters, a browser
	@scripts/install-packages dev

# Building and running needs no browser and no linters.
setup-run: ## install missing packages for building and running: C libraries, vips, Redis, Postgres
	@scripts/install-packages local

# Statically links Swift's libraries: commands take three quarters of the time, and the installed programs need no
# toolchain.
build: setup-run ## build the executables, optimised, into .build/release
	@scripts/swift-build -c release --static-swift-stdlib --target Programs

# Without debug information the tests build in two thirds of the time; failures still name file and line. One compiler
# for each module takes a tenth less than two, which both parse it; the other processor compiles the next module.
debug_build := --explicit-target-dependency-import-check error -debug-info-format none \
  -Xswiftc -driver-batch-count -Xswiftc 1

# To look at: half the time, and the tests reuse it.
build-debug: setup-run ## build the executables, not optimised, into .build/debug, in half the time
	@scripts/swift-build $(debug_build) --target Programs

# What `demo` and `up` run: the optimised build where `make build` has made one.
ifneq ($(wildcard .build/release/fanmill),)
built := build
fanmill := .build/release/fanmill
else
built := build-debug
fanmill := .build/debug/fanmill
endif

# Installs what was built before, so that `make` need not run as the same user as `sudo make install`.
install: ## install programs, migrations, completions, man pages, docs under PREFIX (/usr/local; DESTDIR for packagers)
	scripts/install-programs "$(DESTDIR)$(PREFIX)"

uninstall: ## remove the files that `make install` put under PREFIX
	scripts/install-programs --remove "$(DESTDIR)$(PREFIX)"

# Unpacked with `tar -C / -xzf`, it equals the result of `make install`, without debug symbols.
dist: build ## pack the installable files into .build/dist, for machines without a compiler
	rm -rf .build/dist && mkdir -p .build/dist
	STRIP=yes scripts/install-programs .build/dist/root$(PREFIX)
	tar -C .build/dist/root --owner=0 --group=0 -czf ".build/dist/fanmill-$$(.build/release/fanmill --version)-$$(uname -m).tar.gz" .
	rm -rf .build/dist/root
	@ls .build/dist/*.tar.gz

demo: $(built) ## run everything from scratch on private servers and real data, and audit it
	$(fanmill) demo

test: setup ## build and run all tests; they start private servers (TESTS="--again" reruns failures)
	@scripts/swift-build --build-tests $(debug_build)
	$(few_at_once) scripts/run-tests $(TESTS)

test-thread: setup ## build and run all tests under the thread sanitizer, in a separate build folder
	TSAN_OPTIONS="suppressions=$(CURDIR)/scripts/tsan-suppressions report_thread_leaks=0" \
	  $(few_at_once) SWIFT_DETERMINISTIC_HASHING=1 swift test --sanitize=thread --scratch-path .build-thread

docs: setup ## build the libraries' documentation into .build/docs; a broken link is an error
	scripts/swift-build $(debug_build)
	scripts/build-docs

browser-test: setup ## test the dashboard in a headless Chromium, on a stack of the newest build
	scripts/browser-test

web-test: setup ## test the web client in a headless Chromium, on a stack of the newest build
	scripts/web-test

prometheus-check: setup ## run Prometheus with deploy/'s rules on a stack of the newest build, and query Grafana's panels
	$(tools)/bin/python scripts/prometheus-check

openapi-check: setup ## validate the API's document and its pages' links, on a stack of the newest build
	$(tools)/bin/python scripts/openapi-check

api-check: setup ## all checks of the API on one stack of the newest build: openapi-check, api-diff, api-client-check, api-fuzz
	$(tools)/bin/python scripts/api-check

api-diff: setup ## print the API's changes since the last release; one that breaks apps is an error
	$(tools)/bin/python scripts/api-diff

api-client-check: setup ## generate a client from the API's document, and use it on a stack of the newest build
	$(tools)/bin/python scripts/api-client-check

# Three quarters of an hour; `API_FUZZ="--seed S"` repeats a run.
API_FUZZ := --requests 100000
api-fuzz: setup ## send generated requests to a stack of the newest build, and check every answer (API_FUZZ="--requests N")
	$(tools)/bin/python scripts/api-fuzz $(API_FUZZ)

api-release: setup ## keep the API's document as that of a release, in docs/openapi.json, for `api-diff`
	$(tools)/bin/python scripts/api-diff --keep

screenshots: setup build ## retake the README's screenshots of the dashboard
	scripts/screenshots

up: $(built) ## start private servers, the API and a worker, and leave them running
	$(fanmill) up --detach

fill: $(built) ## fill the stack of `make up` with a hundred accounts, pictures and threads, to look at (`make up fill`)
	$(fanmill) demo --keep

down: ## stop the stack of `make up`; its data stays in .fanmill
	$(fanmill) down

bench: setup build ## print the benchmark table: Fanmill, plain C, Sidekiq (BENCH="--quick": one run each)
	scripts/swift-build -c release --package-path Benchmarks
	Benchmarks/.build/release/fanmill-bench $(BENCH)

compose-check: build ## run the compose stack in real containers, kill a worker mid-job, and audit (root)
	scripts/compose-check .build/release

rolling-restart: setup build ## restart all workers one by one under load; no job lost, none delayed over 5 seconds
	scripts/rolling-restart .build/release

# The release build's workers enqueue and run jobs with counted effects; TestWorker is not a product, so `build` omits
# it.
storm: setup build ## inject every kind of failure, count losses, compare figures with promises (root; STORM="--part rescue")
	@scripts/swift-build -c release --static-swift-stdlib --product TestWorker
	scripts/storm $(STORM)

lint: setup ## check format, module dependencies, SQL locations, Dockerfile, compose file and scripts; changes nothing
	swift format lint --strict --parallel --recursive $(swift_folders)
	scripts/check-queue-sql
	scripts/check-arrows
	$(hadolint) Dockerfile
	docker-compose --env-file .env.example --profile metrics config --quiet
	shellcheck $(shell_scripts)
	$(tools)/bin/ruff check --quiet --no-cache --config scripts/ruff.toml $(python_scripts)
	scripts/api-diff --self-test

check-deploy: setup ## check deploy/: that each Prometheus rule fires and stays silent as expected, and the Kubernetes manifests
	promtool check config deploy/prometheus/prometheus.yml
	promtool test rules deploy/prometheus/alerts.test.yml
	$(tools)/bin/python scripts/check-kubernetes

check-outsider: setup-run ## build and run a package that uses only the queue: what it resolves, and that no module name collides
	scripts/check-outsider

check-examples: setup-run build ## follow the tutorial word by word, and build and run the examples
	scripts/check-examples

format: ## rewrite the Swift files in the project's format
	swift format --in-place --parallel --recursive $(swift_folders)
