# Every command a person or CI needs. `make` alone prints them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.9
MEMBERS := shared shared/games services/auth services/lobby services/game-engine services/economy \
  services/realtime services/bot deploy/samovar
PACKAGES := shared/shared shared/games/games services/auth/auth services/lobby/lobby \
  services/game-engine/game_engine services/economy/economy services/realtime/realtime \
  services/bot/bot deploy/samovar/samovar
EDITABLE := $(addprefix -e ,$(MEMBERS))

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

# Both are missing at first; python also where the system's own has been replaced.
$(UV) $(BIN)/python &:
	@bash deploy/bootstrap-venv.sh "$(PYTHON)" "$(VENV)" "$(UV_VERSION)"

# Bytecode is made once, here: services start in half the time, also the first one.
$(VENV)/.installed: $(UV) $(BIN)/python requirements.lock $(addsuffix /pyproject.toml,$(MEMBERS))
	@$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

.PHONY: setup
setup: $(VENV)/.installed ## Create .venv and install everything from requirements.lock

.PHONY: lock
lock: $(UV) $(BIN)/python ## Resolve requirements.lock anew (exact versions, hashes, no hosts)
	@$(UV) lock --quiet --python $(BIN)/python
	@$(UV) export --quiet --frozen --python $(BIN)/python --no-emit-workspace --all-packages \
	  --all-groups --no-header --no-annotate -o requirements.lock

.PHONY: up
up: setup ## Start everything; Ctrl-C stops it
	@$(BIN)/samovar up

# Whoever stops or looks may be without a network, and the checkout newer than what is installed.
IF_SET_UP = @test -x $(BIN)/samovar || { echo "Nothing was set up here ('make up' does it)." >&2; exit 1; }

.PHONY: down
down: ## Stop everything, also what a killed 'make up' left behind
	$(IF_SET_UP)
	@$(BIN)/samovar down

.PHONY: status
status: ## Show what runs, where, and whether it answers
	$(IF_SET_UP)
	@$(BIN)/samovar status

.PHONY: migrate
migrate: setup ## Bring every service's schema to its newest migration
	@$(BIN)/samovar migrate

.PHONY: demo
demo: setup ## Two people sign up, stake coins, play Durak and are paid (needs `make up` running)
	@$(BIN)/samovar demo

.PHONY: bench
bench: setup ## Moves per second and what a move costs; BENCH="--tables 200 --seconds 10"
	@$(BIN)/samovar bench $(BENCH)

.PHONY: lint
lint: setup ## Lint, formatting, import rules
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/lint-imports --no-cache

.PHONY: type
type: setup ## Strict types
	@$(BIN)/mypy $(PACKAGES)

.PHONY: test
test: lint type ## Lint, types and all tests, on servers that the tests start themselves
	@$(BIN)/pytest $(PYTEST)

.PHONY: test-unit
test-unit: setup ## Tests without any server
	@$(BIN)/pytest $(wildcard shared/tests/unit shared/games/tests services/*/tests/unit deploy/samovar/tests/unit)

.PHONY: test-integration
test-integration: setup ## Tests of one part each, on real servers
	@$(BIN)/pytest $(wildcard shared/tests/integration services/*/tests/integration deploy/samovar/tests/integration)

.PHONY: test-e2e
test-e2e: setup ## Whole matches through the public API
	@$(BIN)/pytest tests/e2e

.PHONY: test-chaos
test-chaos: setup ## Matches in which services and servers are killed
	@$(BIN)/pytest tests/chaos

.PHONY: docs
docs: setup ## Write docs/generated and docs/contracts anew
	@$(BIN)/samovar docs
