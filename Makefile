# Two commands do everything, their own set-up included: `make demo` and `make test`.
VENV := .venv

.PHONY: demo test check bench clean

demo: $(VENV)/.ready
	$(VENV)/bin/slob demo

test: $(VENV)/.ready
	scripts/test-tools
	scripts/check

check: test

# A look at every comparison; for figures to quote run them one by one without --quick on a quiet machine.
bench: $(VENV)/.ready
	for each in load loop physical driver repeat honesty calibrate; do $(VENV)/bin/python bench/$$each.py --quick || exit 1; done

$(VENV)/.ready: pyproject.toml constraints.txt scripts/bootstrap
	scripts/bootstrap $(VENV)

clean:
	rm -rf $(VENV)
