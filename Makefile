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
EDITABLE := $(addprefix -e ,$(MEMBERS))

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

$(BIN)/python:
	@bash deploy/bootstrap-venv.sh "$(PYTHON)" "$(VENV)" "$(UV_VERSION)"

$(VENV)/.installed: $(BIN)/python requirements.lock $(addsuffix /pyproject.toml,$(MEMBERS))
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

.PHONY: setup
setup: $(VENV)/.installed ## Create .venv and install everything from requirements.lock

.PHONY: lock
lock: $(BIN)/python ## Resolve requirements.lock anew (exact versions, hashes, no hosts)
	@$(UV) lock --quiet --python $(BIN)/python
	@$(UV) export --quiet --frozen --python $(BIN)/python --no-emit-workspace --all-packages \
	  --all-groups --no-header --no-annotate -o requirements.lock

.PHONY: up
up: setup ## Start everything; Ctrl-C stops it
	@$(BIN)/samovar up

.PHONY: down
down: setup ## Stop everything, also what a killed 'make up' left behind
	@$(BIN)/samovar down

.PHONY: status
status: setup ## Show what runs, where, and whether it answers
	@$(BIN)/samovar status

.PHONY: migrate
migrate: setup ## Bring every service's schema to its newest migration
	@$(BIN)/samovar migrate
