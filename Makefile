# Two commands: `make demo` shows the product, `make test` proves it. Each sets itself up on a bare Debian machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
# Byte code is written even where containers forbid it: otherwise pytest rewrites 500 modules in each worker.
# Tests of a file share servers and run in order; --dist worksteal would take them apart and turn them round. A third of
# the time is waiting, so three workers keep two cores busy; tests/conftest.py puts slow files first.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 30

# $(call need,words,packages): install Debian packages as root, or say in one line what to install.
need = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
  then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2) >/dev/null; \
  else echo "$(1)$(2); install with: sudo apt-get install$(2)"; exit 2; fi

.PHONY: weights install system demo test coverage check lint types js layers audit docs clean

install: $(BIN)/.installed

# What a user installs, and figures: enough for `make demo`. Byte code is made when a module is first imported: of most it is not.
$(BIN)/.installed-base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "pc2dae needs Python 3.11 or newer; install it, or name it: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(call need,Python lacks its venv module:, python3-venv); }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile -e '.[figures]'
	@touch $@

$(BIN)/.installed: $(BIN)/.installed-base
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev]'
	@touch $@

# Browser and MQTT broker for the tests, from the system's packages. Chromium itself does as well as its headless shell,
# with a third more processor time.
system:
	@missing=""; command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" != 0 ] && command -v chromium >/dev/null; } \
	  || missing="$$missing chromium-headless-shell"; \
	PATH="$$PATH:/usr/sbin" command -v mosquitto >/dev/null || missing="$$missing mosquitto"; \
	if [ -n "$$missing" ]; then $(call need,the tests need,$$missing); fi

demo: $(BIN)/.installed-base
	$(BIN)/pc2dae demo -o demo

test: install system
	$(PYTEST)

# The same tests and the share of lines that they run; tracing takes half as long again.
coverage: install system
	$(PYTEST) --cov pc2dae --cov-report term:skip-covered

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# The page's JavaScript against types generated from the API's description; needs Node, which a user does not.
js: install
	@command -v npm >/dev/null || { $(call need,the check of the JavaScript needs, nodejs npm); }
	npm ci --prefix .ci/js --ignore-scripts --no-audit --no-fund --loglevel error
	mkdir -p .ci/js/made && ln -sfn ../../../src/pc2dae/view/static .ci/js/made/view
	$(BIN)/python .ci/openapi.py > .ci/js/made/openapi.json
	cd .ci/js && npx openapi-typescript made/openapi.json --output made/api.d.ts --default-non-nullable false >/dev/null && npx tsc -p .

layers: install
	$(BIN)/lint-imports

# Unsafe code in src, and known vulnerabilities of what is installed (skipped where no advisory service answers).
audit: install
	$(BIN)/bandit --quiet -r src
	$(BIN)/python .ci/audit.py

# The models lean and wide that ship, trained on 24 simulated campaigns; about half an hour on one core.
weights: install
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/weights.py

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: lint types js layers audit docs test

clean:
	rm -rf $(VENV) demo site dist
