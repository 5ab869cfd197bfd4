# What a developer calls. Each target does the set-up that it needs.
.DEFAULT_GOAL := help
.PHONY: help setup setup-run build install uninstall dist demo test test-thread browser-test screenshots up down bench lint \
  check-deploy check-outsider format compose-check rolling-restart storm prometheus-check docs
SHELL := /bin/bash

swift_folders := $(wildcard Sources Tests Benchmarks/Package.swift Benchmarks/Sources) Package.swift
shell_scripts := $(addprefix scripts/,build-docs install-packages install-programs collect-programs compose-check \
  rolling-restart swift-build) \
  scripts/compose-check.d/postgres-entrypoint scripts/compose-check.d/redis-entrypoint deploy/healthcheck .ci/run
python_scripts := $(addprefix scripts/,browser-test check-arrows check-kubernetes check-outsider check-queue-sql \
  prometheus-check run-tests screenshots storm) \
  $(wildcard scripts/support/*.py scripts/support/*/*.py)
# Hundreds of tests with servers of their own, all at once, would only wait for one another's processor time.
few_at_once := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6
tools := .build-tools
hadolint := $(tools)/bin/hadolint
PREFIX := /usr/local

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what the machine lacks for developing: C libraries, vips, Redis, Postgres, linters, a browser
	@scripts/install-packages dev

# Who only wants to see it run needs no browser and no linters.
setup-run: ## install what it lacks for building and running: C libraries, vips, Redis, Postgres
	@scripts/install-packages local

# With Swift's libraries linked in: a command is done in three quarters of the time, and what is installed runs without a toolchain.
# Each by its name: what only apps on phones use, and swift-crypto with it, is left out.
build: setup-run ## build the executables, optimised, into .build/release
	@for program in fanmill fanmill-api fanmill-worker fanmill-youtube; do \
	  scripts/swift-build -c release --static-swift-stdlib --product $$program || exit; \
	done

# What is built is installed, so that `make` may run as somebody else than `sudo make install`.
install: ## install programs, migrations, completions, man pages, docs under PREFIX (/usr/local; DESTDIR for packagers)
	scripts/install-programs "$(DESTDIR)$(PREFIX)"

uninstall: ## take away what `make install` put under PREFIX
	scripts/install-programs --remove "$(DESTDIR)$(PREFIX)"

# Unpacked with `tar -C / -xzf` it is what `make install` would have put there, without the symbols of debuggers.
dist: build ## pack what `make install` installs into .build/dist, for machines without a compiler
	rm -rf .build/dist && mkdir -p .build/dist
	STRIP=yes scripts/install-programs .build/dist/root$(PREFIX)
	tar -C .build/dist/root --owner=0 --group=0 -czf ".build/dist/fanmill-$$(.build/release/fanmill --version)-$$(uname -m).tar.gz" .
	rm -rf .build/dist/root
	@ls .build/dist/*.tar.gz

demo: build ## run all of it from nothing, on private servers and real data, and audit it
	.build/release/fanmill demo

# Without debug information the tests are built in two thirds of the time; what fails names its file and line all the same.
test_build := --explicit-target-dependency-import-check error -debug-info-format none

test: setup ## build and run all tests; they start private servers of their own (TESTS="--again": failed ones twice)
	@scripts/swift-build --build-tests $(test_build)
	$(few_at_once) scripts/run-tests $(TESTS) -- -debug-info-format none

test-thread: setup ## the same under the thread sanitizer, in a build folder of its own
	TSAN_OPTIONS="suppressions=$(CURDIR)/scripts/tsan-suppressions report_thread_leaks=0" \
	  $(few_at_once) swift test --sanitize=thread --scratch-path .build-thread

docs: setup ## build the libraries' documentation into .build/docs; a link that leads nowhere is an error
	swift build
	scripts/build-docs

browser-test: setup ## test the dashboard in a headless Chromium, over a stack of the newest build
	scripts/browser-test

prometheus-check: setup ## run Prometheus with deploy/'s rules over a stack of the newest build, and ask Grafana's panels
	$(tools)/bin/python scripts/prometheus-check

screenshots: setup build ## take the README's pictures of the dashboard anew
	scripts/screenshots

up: build ## start private servers, the API and a worker, and leave them running
	.build/release/fanmill up --detach

down: ## end what `make up` started; the data stay in .fanmill
	.build/release/fanmill down

bench: setup build ## print the benchmark table: Fanmill, plain C, Sidekiq (BENCH="--quick": one run each)
	swift build -c release --package-path Benchmarks
	Benchmarks/.build/release/fanmill-bench $(BENCH)

compose-check: build ## run the compose stack for real, in containers; kill a worker in the middle, and audit (root)
	scripts/compose-check .build/release

rolling-restart: setup build ## restart all workers one by one under load; nothing lost, nothing held up over 5 seconds
	scripts/rolling-restart .build/release

# Workers of the release build ask for and do jobs whose effects are counted; TestWorker is no product, so `build` leaves it out.
storm: setup build ## break all of it in every way, count what is lost, print figures beside promises (root; STORM="--part rescue")
	@scripts/swift-build -c release --static-swift-stdlib --product TestWorker
	scripts/storm $(STORM)

lint: setup ## check format, arrows between modules, where SQL stands, Dockerfile, compose file and scripts; changes nothing
	swift format lint --strict --parallel --recursive $(swift_folders)
	scripts/check-queue-sql
	scripts/check-arrows
	$(hadolint) Dockerfile
	docker-compose --env-file .env.example --profile metrics config --quiet
	shellcheck $(shell_scripts)
	$(tools)/bin/ruff check --quiet --no-cache --config scripts/ruff.toml $(python_scripts)

check-deploy: setup ## check deploy/: Prometheus' rules, each of which fires and does not, and Kubernetes' manifests
	promtool check config deploy/prometheus/prometheus.yml
	promtool test rules deploy/prometheus/alerts.test.yml
	$(tools)/bin/python scripts/check-kubernetes

check-outsider: setup-run ## build and run a package that uses the queue alone: what it resolves, that no module's name collides
	scripts/check-outsider

format: ## rewrite the Swift files in the project's format
	swift format --in-place --parallel --recursive $(swift_folders)
