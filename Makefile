# Needs Python 3.10 or newer, git and make. Everything is installed into .venv beside this file.
#
#     make run      keep and list this machine's sessions (a demo where there are none)
#     make test     run the tests

VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check
# What is installed to be edited is not compiled by pip, and with PYTHONDONTWRITEBYTECODE set by no start of retro: each
# would compile everything anew. Where it cannot be written retro still runs; what is edited is compiled again.
COMPILE := $(PY) -m compileall -qq src || true

# `make run PYTHON=...` asks for one in particular, ARGS=... hands more to what test and bench start.
PYTHON ?=
ARGS ?=
CANDIDATES := $(PYTHON) python3.14 python3.13 python3.12 python3.11 python3.10 python3 python

.DEFAULT_GOAL := help
.PHONY: help run test test-live lint style types format bench clean

help: ## say what there is
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  make \1:\2/p' Makefile | awk -F: '{ printf "%-18s%s\n", $$1, $$2 }'

run: $(VENV)/.ready ## keep and list this machine's sessions; a demo where there are none
	@$(PY) -m retro.demo

test: $(VENV)/.ready-dev ## run the tests
	@$(PY) -m pytest -n auto $(ARGS)

test-live: $(VENV)/.ready-dev ## install real agent clients into RETRO_LIVE or .live, and run the tests with them
	@$(PY) tests/live/install.py
	@$(PY) -m pytest -n auto tests/live $(ARGS)

lint: style types ## check style and types

style: $(VENV)/.ready-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.ready-dev
	$(PY) -m mypy

format: $(VENV)/.ready-dev ## put the code into its form
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(VENV)/.ready-dev ## measure retro on this machine
	@$(PY) -m bench $(ARGS)

clean: ## remove what make, the tests and the build left behind
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml | $(PY)
	@echo "installing retro into $(VENV) ..." >&2
	@$(PIP) install --editable .
	@$(COMPILE)
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(PY)
	@echo "installing retro and what its tests need into $(VENV) ..." >&2
	@$(PIP) install --editable '.[dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.ready

$(PY):
	@chosen=; incomplete=; \
	for candidate in $(CANDIDATES); do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 || continue; \
	  if "$$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then chosen=$$candidate; break; fi; \
	  incomplete=$${incomplete:-$$candidate}; \
	done; \
	if [ -z "$$chosen" ] && [ -n "$$incomplete" ]; then \
	  version=$$("$$incomplete" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "$$incomplete cannot make virtual environments: its modules venv and ensurepip are missing." >&2; \
	  echo "On Debian and Ubuntu: sudo apt install python$$version-venv. Then run make again." >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$chosen" ]; then \
	  echo "Python 3.10 or newer is needed, and none was found on PATH (looked for: $(strip $(CANDIDATES)))." >&2; \
	  echo "Install one from your system's packages or python.org, or name it: make run PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	"$$chosen" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }
