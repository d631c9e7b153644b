# `make help` lists the targets. All of them work offline once modules are cached.
GO ?= go
GOTOOL = $(GO) tool -modfile=tools/go.mod
PKGS = ./...
RELEASE ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: help build test race fuzz conform bench lint fmt gen clean check

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build both programs into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w -X main.release=$(RELEASE)' -o bin/ ./cmd/...

test: ## run the tests
	$(GO) test $(PKGS)

race: ## run the tests under the race detector
	$(GO) test -race $(PKGS)

fuzz: ## run every fuzz target for FUZZTIME each (default 10s)
	./.ci/fuzz

conform: ## write the conformance tables from the tests
	./.ci/conform

bench: ## run the benchmarks beside their limits and alternatives
	cd bench && $(GO) run .

lint: ## vet, lint, dead code, outdated forms
	$(GO) vet $(PKGS)
	$(GOTOOL) golangci-lint run --allow-parallel-runners
	! $(GOTOOL) deadcode -test $(PKGS) | grep -v 'unreachable func: Example'

fmt: ## format the tree
	$(GOTOOL) gofumpt -w .

gen: ## write what is generated from code
	$(GO) generate $(PKGS)

clean: ## remove what was built
	rm -rf bin dist

check: ## what CI runs
	./.ci/run
