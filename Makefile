# The two commands of the README, and a few for people who work on freegap.
# Each makes its own virtual environment below .venv/ and installs what it needs.
PYTHON ?= python3

.PHONY: demo serve-demo test test-long mutants mutants-generated try-contributing bench docs reproduction fuzz dist clean

demo: .venv/demo/installed
	.venv/demo/bin/freegap demo --out out/demo

# The demo's shop as a service: three tokens and the address of a page to look at. PORT=8080 for another port.
serve-demo: .venv/serve/installed
	.venv/serve/bin/freegap serve demo --out out/serve-demo $(if $(PORT),--port $(PORT))

test: .venv/test/installed
	PATH="$(CURDIR)/.venv/test/bin:$$PATH" scripts/check

test-long: .venv/test/installed
	.venv/test/bin/python -m pytest -m long -n 2

mutants: .venv/test/installed
	.venv/test/bin/python scripts/mutants

# Each section of CONTRIBUTING.md followed to the letter, in a copy of the tree. ONLY="law event" for some.
try-contributing: .venv/test/installed
	PATH="$(CURDIR)/.venv/test/bin:$$PATH" scripts/try-contributing $(ONLY)

# All of them take many hours; what is stopped goes on where it was. SAMPLE=100 ONLY="exact tables" for fewer.
mutants-generated: .venv/mutants/installed
	.venv/mutants/bin/python -m mutants.run $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(ONLY)
	.venv/mutants/bin/python -m mutants.run --whole $(if $(SEED),--seed $(SEED)) $(ONLY)
	.venv/mutants/bin/python -m mutants.run --page

.venv/mutants/installed: pyproject.toml
	$(PYTHON) -m venv .venv/mutants
	.venv/mutants/bin/python -m pip install --quiet --editable '.[mutants]' --editable ./evidence
	touch $@

# Wheel and sdist of both distributions, into dist/. TAG=v0.2.0 to check the version against it.
dist: .venv/test/installed
	PATH="$(CURDIR)/.venv/test/bin:$$PATH" scripts/build '$(TAG)'

bench: .venv/test/installed
	.venv/test/bin/freegap bench top-k

# NO_MKDOCS_2_WARNING: the theme's own advertisement, not a warning about the pages.
docs: .venv/docs/installed
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --strict --site-dir out/docs
	@echo "open out/docs/index.html"

# docs/reproduction.md with its figures, from everything run again: half an hour of one processor. RUNS=200 for less.
FIGURES = fig-4-2 fig-5-2 fig-5-4 fig-5-6 fig-5-7 fig-5-8 arxiv-fig-1 arxiv-fig-3 base2-clamping secure-table-4 \
	secure-table-6 branches exact-accuracy split choosing
reproduction: .venv/test/installed
	.venv/test/bin/freegap experiment run all --runs $(or $(RUNS),10000)
	.venv/test/bin/freegap experiment report --docs docs $(addprefix --figure ,$(FIGURES))

# RUNS=100000 for a longer one; hours are better spent than minutes.
fuzz: .venv/fuzz/installed
	RUNS=$(or $(RUNS),2000) .venv/fuzz/bin/python fuzz/run.py

.venv/fuzz/installed: pyproject.toml
	$(PYTHON) -m venv .venv/fuzz
	.venv/fuzz/bin/python -m pip install --quiet --editable '.[fuzz]' --editable ./evidence
	touch $@

.venv/docs/installed: pyproject.toml
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/python -m pip install --quiet --editable '.[docs]'
	touch $@

.venv/demo/installed: pyproject.toml
	$(PYTHON) -m venv .venv/demo
	.venv/demo/bin/python -m pip install --quiet --editable '.[plot,tables,ledger]'
	touch $@

.venv/serve/installed: pyproject.toml
	$(PYTHON) -m venv .venv/serve
	.venv/serve/bin/python -m pip install --quiet --editable '.[serve,mcp]'
	touch $@

# The versions, and the hashes, that scripts/lock wrote down. scripts/check lets imports compile what they need.
.venv/test/installed: pyproject.toml evidence/pyproject.toml requirements/ci.txt
	$(PYTHON) -m venv .venv/test
	.venv/test/bin/python -m pip install --quiet --no-compile --require-hashes --requirement requirements/ci.txt
	.venv/test/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable ./evidence
	touch $@

clean:
	rm -rf .venv out dist build
