# One environment, made from the pins. VENV may point outside the checkout (CI does that).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PINS := constraints.txt pyproject.toml

.PHONY: help env demo test check fix docs bench

help:  ## what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

env: $(VENV)/.ready  ## make the environment

$(VENV)/.ready: $(PINS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $@

demo: env  ## environment, built-in competition, the main job end to end
	rm -rf runs/demo
	$(BIN)/matchfit demo digits runs/demo/digits
	$(BIN)/matchfit inspect runs/demo/digits --workspace runs/demo/workspace
	$(BIN)/matchfit train runs/demo/digits --workspace runs/demo/workspace --out runs/demo/run
	$(BIN)/matchfit check runs/demo/run/submission.csv runs/demo/digits
	$(BIN)/python -m benchmarks.score runs/demo/run/submission.csv runs/demo/digits-solution/solution.csv --metric accuracy
	@echo "All of it is in runs/demo: run/submission.csv, run/record.json, run/oof.csv, workspace/matchfit.yaml"

test: env  ## environment, all that CI runs
	$(MAKE) check VENV=$(VENV)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n 2

check: env  ## format, lint, types, import contracts, docs, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow' -n 2

fix: env  ## write what check only reads
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: env  ## write the generated parts of docs/
	$(BIN)/python tests/docs_tool.py write

bench: env  ## benchmarks, appended to benchmarks/results.jsonl
	$(BIN)/python -m benchmarks.overhead
