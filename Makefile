# The two commands of the README, and a few for people who work on freegap.
# Each makes its own virtual environment below .venv/ and installs what it needs.
PYTHON ?= python3

.PHONY: demo test test-long mutants bench clean

demo: .venv/demo/installed
	.venv/demo/bin/freegap demo --out out/demo

test: .venv/test/installed
	PATH="$(CURDIR)/.venv/test/bin:$$PATH" scripts/check

test-long: .venv/test/installed
	.venv/test/bin/python -m pytest -m long -n 2

mutants: .venv/test/installed
	.venv/test/bin/python scripts/mutants

bench: .venv/demo/installed
	.venv/demo/bin/freegap bench top-k

.venv/demo/installed: pyproject.toml
	$(PYTHON) -m venv .venv/demo
	.venv/demo/bin/python -m pip install --quiet --editable '.[plot,tables,ledger]'
	touch $@

.venv/test/installed: pyproject.toml
	$(PYTHON) -m venv .venv/test
	.venv/test/bin/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv out dist build
