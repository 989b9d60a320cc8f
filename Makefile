# Every target sets up what it needs: PostgreSQL and Redis are found, started privately, installed or run in Docker
# (internal/localstack says how), and stopped at the end.
.DEFAULT_GOAL := help
SHELL := /bin/bash

LOCAL   := go run ./internal/localstack/localrun
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VULN    := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZ    ?= 30s
SEQUENCES ?= 2000
SEED    ?= 0

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Play the story of a write in the terminal: nothing to prepare
	go run ./cmd/mappy-mcp demo

.PHONY: run
run: ## Bring the same up and stay: prints the MCP URL, a token and client snippets
	go run ./cmd/mappy-mcp demo --stay

.PHONY: test
test: ## Run every test
	$(LOCAL) -- go test -parallel 4 -timeout 20m ./...

.PHONY: test-race
test-race: ## Run every test with the race detector
	$(LOCAL) -- go test -parallel 2 -timeout 20m -race ./...

.PHONY: test-interop
test-interop: ## Let clients and a connection pooler that we did not write, and the conformance suite, judge (fetched)
	$(LOCAL) -- go test -tags interop -count=1 -v -run Interop ./internal/app ./internal/gbpsim ./internal/gtoken ./internal/mcpserver

.PHONY: test-property
test-property: ## Play random histories against the whole product (SEQUENCES=2000, SEED=0 draws one)
	$(LOCAL) -- go test -count=1 -v -timeout 50m -run TestProperty ./internal/property -sequences $(SEQUENCES) -seed $(SEED)

.PHONY: test-fuzz
test-fuzz: ## Fuzz everything that reads strangers' bytes, one target after the other (FUZZ=30s each)
	@set -euo pipefail; git grep -oE '^func Fuzz[A-Za-z]+' -- '*_test.go' | sed -E 's|/[^/]+:func (Fuzz[A-Za-z]+)| \1|' | while read -r dir target; do \
		echo "$$dir $$target"; go test ./$$dir -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) </dev/null; \
	done

.PHONY: bench
bench: ## Measure our share of a call, an item and Google's quota, as ratios
	$(LOCAL) -durable -- go test -count=1 -run '^$$' -bench . -benchtime 1x -timeout 30m ./internal/bench

.PHONY: soak
soak: ## 100,000 items through one process: what grows (some twelve minutes)
	$(LOCAL) -durable -- go test -count=1 -run '^$$' -bench Soak -benchtime 1x -timeout 60m ./internal/bench -soak 100000

.PHONY: bench-quota
bench-quota: ## Fairness and quota share at Google's real pace (four minutes)
	$(LOCAL) -- go test -count=1 -run '^$$' -bench Tenants -benchtime 1x -timeout 30m ./internal/bench -scale 1

.PHONY: prove
prove: ## Kill the processes at every step boundary and count effects; writes docs/proof.md
	$(LOCAL) -- go test -count=1 -parallel 8 -timeout 60m -run TestProve ./internal/proof -prove

.PHONY: golden
golden: ## Rewrite the golden files of the contract
	$(LOCAL) -- go test ./internal/errs ./internal/schema ./tools ./internal/cli ./internal/telemetry -update
	$(LOCAL) -- go test ./internal/app -run TestPromptsAndInstructions -update

.PHONY: generate
generate: golden ## Regenerate everything that is generated

.PHONY: lint
lint: ## Check style and dependency direction
	go run $(LINT) run

.PHONY: vuln
vuln: ## Look for known vulnerabilities
	go run $(VULN) ./...

.PHONY: build
build: ## Build both binaries into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...
