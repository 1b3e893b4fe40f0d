#!/bin/sh
# Everything that must hold, from style to a wheel in an empty environment. Called by `make test`.
set -eu

bin=$1

step() { printf '\n== %s\n' "$*"; "$@"; }

step "$bin/ruff" check .
step "$bin/ruff" format --check .
step "$bin/mypy"
step "$bin/python" -m mypy.stubtest septet._core
step cargo fmt --check
step cargo clippy --all-targets --quiet -- -D warnings
step cargo clippy --features python --quiet -- -D warnings
step cargo test --quiet
# Tests wait for processes, servers and disks; others run meanwhile.
step "$bin/python" -m pytest -q -n auto --maxprocesses 4 --dist worksteal
step sh tests/wheel.sh "$bin"
