#!/bin/sh
# A wheel as users get it: built for release, installed into an empty environment, used there.
set -eu

bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/maturin" build --release --quiet --interpreter "$bin/python" --out "$work/dist"
"$bin/python" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet "$work"/dist/*.whl

cd "$work"
case $(ls dist) in
*-cp310-abi3-*.whl) ;;
*) echo "the wheel is not abi3 for Python 3.10: $(ls dist)"; exit 1 ;;
esac
"$work/empty/bin/python" - <<'PY'
import septet
from importlib.resources import files

page = files("septet") / "server" / "page"
assert all((page / name).is_file() for name in ("index.html", "app.js", "page.css", "views/search.js")), page

with septet.Vault("agent.db") as vault:
    vault.add(id="auth-jwt-001", title="JWT validation", description="Check exp, aud and the signature",
              type="rule", domain="security", severity="critical", tags=["auth", "jwt"], vector=[1.0, 0.0])
    hits = vault.search("how does JWT validation work", query_vector=[0.6, 0.8])
assert hits.ids == ["auth-jwt-001"], hits
assert not any(note.code for note in hits.notes), hits.notes

try:
    septet.LocalEmbedder("some-model")
except septet.EmbeddingConfigError as missing:
    assert "pip install 'septet[local]'" in str(missing), missing
else:
    raise AssertionError("a local model ran without its extra")
print(f"wheel ok: septet {septet.__version__} found {hits.ids[0]} with {hits[0].score:.3f}")
PY
