"""Tests of `integration/test_what_users_ask_of_a_memory.py` that start processes."""

import subprocess
import sys
import textwrap

import pytest

from integration.test_what_users_ask_of_a_memory import TOPICS


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(
        "# Rules\n\n- Deploys go out on Tuesdays.\n- The port is 5432.\n", encoding="utf-8"
    )
    for n in range(40):
        topic = TOPICS[n % len(TOPICS)]
        text = f"# Note {n}\n\nMany {topic} were seen near the old bridge, as on other days.\n\nMark zq{n:03}x.\n"
        (folder / "memory" / f"n{n:02}.md").write_text(text, encoding="utf-8")
    return folder


def test_vectors_need_no_extension_of_sqlite(tmp_path, notes):
    code = """
        import sys
        def refuse(event, _):
            if event in ("sqlite3.enable_load_extension", "sqlite3.load_extension"):
                raise RuntimeError(event)
        sys.addaudithook(refuse)
        sys.modules["sqlite_vec"] = None
        from septet import CallableEmbedder, Vault
        embedder = CallableEmbedder(
            lambda texts: [[1.0, 9.0 * ("owls" in text), 0.0] for text in texts], model="m", dimensions=3
        )
        with Vault(sys.argv[1], embedder=embedder) as vault:
            vault.sync(sys.argv[2])
            assert vault.embedding_status(wait_s=20).activity == "idle"
            found = vault.load(vault.search("birds of the night", query_vector=[1.0, 9.0, 0.0], limit=8).ids)
            assert len(found) == 8 and all("owls" in one.description for one in found), found
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path / "v.db", notes], check=True, timeout=60)
