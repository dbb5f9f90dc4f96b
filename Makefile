# Two commands: `make demo` shows the product, `make test` proves it. Each sets itself up on a bare Debian machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install system demo test check lint types layers docs clean

$(BIN)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pc2dae needs Python 3.11 or newer; install python3.11 and python3.11-venv, or pass PYTHON=..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(BIN)/.installed

# Browser and MQTT broker for the tests, from the system's packages.
system:
	@missing=""; command -v chromium >/dev/null || missing="$$missing chromium chromium-driver"; \
	{ command -v mosquitto || ls /usr/sbin/mosquitto; } >/dev/null 2>&1 || missing="$$missing mosquitto"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	  else echo "the tests need$$missing; install with: sudo apt-get install$$missing"; exit 2; fi; fi

demo: install
	$(BIN)/pc2dae demo -o demo

test: install system
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

docs: install
	$(BIN)/mkdocs build --strict --quiet

check: lint types layers docs test

clean:
	rm -rf $(VENV) demo site dist
