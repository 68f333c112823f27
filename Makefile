# One compile serves the programs, the tests and the tools, in any folder.
export GOFLAGS := -trimpath
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod

# How long one test package may take. Nothing depends on speed: a slow machine may use all of it.
TEST_TIMEOUT ?= 20m

.DEFAULT_GOAL := help
.PHONY: help run build test test-long bench generate screens clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build and start Switchboard here; Ctrl-C stops it
	@scripts/need go
	@scripts/need postgresql
	@$(MAKE) --no-print-directory build
	@exec bin/switchboard-collector --config configs/quickstart.yaml

build: ## Build bin/switchboard-collector and bin/switchboard
	@echo "building bin/switchboard-collector and bin/switchboard (the first time takes minutes)"
	@go build -o bin/ ./cmd/switchboard-collector ./cmd/switchboard

test: ## Run every test: unit, PostgreSQL, end to end, browser
	@scripts/need go
	@scripts/need postgresql
	@scripts/need chromium
	@scripts/need node
	go vet ./...
	go test -timeout $(TEST_TIMEOUT) ./...
	go test -race -timeout $(TEST_TIMEOUT) ./app/queue ./app/spans ./app/ledger ./app/background ./app/settings ./receiver/... ./extension/...

test-long: test ## Run the tests, their long forms, and each fuzz target for a minute
	SWITCHBOARD_LONG=1 go test -count=1 -timeout $(TEST_TIMEOUT) ./app/agentsetup ./app/queue ./app/intake
	SWITCHBOARD_LONG=1 go test -count=1 -timeout $(TEST_TIMEOUT) -run TestReplay ./test/e2e
	@set -e; for target in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | cut -c6- | sort -u); do \
		for package in $$(grep -rlE --include='*_test.go' "^func $$target\\(" . | xargs -n1 dirname | sort -u); do \
			echo "fuzzing $$target in $$package"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime 60s $$package; \
		done; \
	done

bench: ## Run the benchmarks beside their baselines, ONLY=T8,T9 for some
	@scripts/need postgresql
	@go -C bench run . -only '$(ONLY)'

generate: ## Write again what is generated: the collector's main, metadata, pages
	$(TOOL) builder --config builder-config.yaml --skip-get-modules --skip-compilation
	@for m in $$(find receiver processor exporter extension -name metadata.yaml); do \
		(cd $$(dirname $$m) && $(TOOL) mdatagen metadata.yaml) || exit 1; done
	$(TOOL) templ generate -path app/board

screens: ## Take the pictures of docs/ again, in a real browser
	@scripts/need postgresql
	@scripts/need chromium
	SWITCHBOARD_SCREENS=$(CURDIR)/docs/screens go test -count=1 -run TestScreens ./app/board

clean: ## Remove what was built; the data in .switchboard stays
	rm -rf bin
