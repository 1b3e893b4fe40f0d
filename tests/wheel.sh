#!/bin/sh
# A wheel as users get it: built for release, installed into an empty environment, used there.
set -eu

bin=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/maturin" build --release --quiet --interpreter "$bin/python" --out "$work/dist"
"$bin/python" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet "$work"/dist/*.whl

case $(ls "$work/dist") in
*-cp310-abi3-*.whl) ;;
*) echo "the wheel is not abi3 for Python 3.10: $(ls "$work/dist")"; exit 1 ;;
esac
cd "$work"
# From a folder that holds neither sources nor tests.
"$work/empty/bin/python" -I "$here/installed.py" "$here/../README.md"
