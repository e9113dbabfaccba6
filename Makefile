# Two commands do everything, their own set-up included: `make demo` and `make test`.
VENV := .venv

.PHONY: demo test check clean

demo: $(VENV)/.ready
	$(VENV)/bin/slob demo

test: $(VENV)/.ready
	scripts/check

check: test

$(VENV)/.ready: pyproject.toml constraints.txt scripts/bootstrap
	scripts/bootstrap $(VENV)

clean:
	rm -rf $(VENV)
