# Two commands on a bare checkout: `make demo` and `make test`. Each sets up .venv first.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: demo test lint clean
.DEFAULT_GOAL := test

CORE := CMakeLists.txt $(wildcard src/rekmeans/engines/_native/*pp)

$(VENV)/ready: pyproject.toml $(CORE)
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable '.[test]'
	touch $@

demo: $(VENV)/ready
	$(RUN) examples/demo.py

lint: $(VENV)/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

test: lint
	$(RUN) -m pytest -n 2

clean:
	rm -rf $(VENV) build dist demo
