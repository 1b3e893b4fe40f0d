"""Syncs that meet: threads and processes on one vault, a process that is killed, and an embedder that counts."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np

from septet import CallableEmbedder, Vault

STRESS_S = float(os.environ.get("SEPTET_STRESS_S", "0"))


def fill(folder, count, word="heron"):
    folder.mkdir(exist_ok=True)
    for n in range(count):
        (folder / f"n{n}.md").write_text(f"# Note {n}\n\nThe {word} of note {n}.\n\n" * 3, encoding="utf-8")


def picture(vault):
    return sorted((e.span.path, e.span.first_line, e.description, len(vault.links(e.id))) for e in vault)


def fresh_picture(folder):
    with Vault(":memory:") as fresh:
        fresh.sync(folder)
        return picture(fresh)


def child(code, *args):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *map(str, args)])


SYNC = """
    import sys
    from septet import Vault
    with Vault(sys.argv[1]) as vault:
        print(vault.sync(sys.argv[2]))
"""


def test_threads_that_sync_at_once_share_the_work(tmp_path):
    fill(tmp_path / "notes", 60)
    with Vault(tmp_path / "v.septet") as vault:
        reports = []
        threads = [threading.Thread(target=lambda: reports.append(vault.sync(tmp_path / "notes"))) for _ in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(reports) == 6 and all(one.complete for one in reports)
        assert sum(one.files_added for one in {id(one): one for one in reports}.values()) == 60
        assert picture(vault) == fresh_picture(tmp_path / "notes")


def kills(vault_path, folder, rounds, seed):
    rng = np.random.default_rng(seed)
    for n in range(rounds):
        fill(folder, 150, f"word{seed}x{n}")
        process = child(SYNC, vault_path, folder)
        time.sleep(float(rng.uniform(0.3, 1.2)))
        process.kill()
        process.wait()
        with Vault(vault_path) as vault:
            for hit in vault.search("note", limit=20).hits:
                assert vault.get(hit.id) is not None


def test_after_a_kill_the_next_sync_makes_the_same_index(tmp_path):
    kills(tmp_path / "v.septet", tmp_path / "notes", 2 + int(STRESS_S / 2), seed=1)
    with Vault(tmp_path / "v.septet") as vault:
        assert vault.sync(tmp_path / "notes").complete
        assert picture(vault) == fresh_picture(tmp_path / "notes")


def test_two_processes_sync_and_search_one_vault(tmp_path):
    folder, file = tmp_path / "notes", tmp_path / "v.septet"
    fill(folder, 40)
    code = """
        import sys, time
        from septet import Vault
        until = time.time() + float(sys.argv[3])
        with Vault(sys.argv[1]) as vault:
            while time.time() < until:
                assert vault.sync(sys.argv[2]).complete
                for hit in vault.search("heron note", limit=10).hits:
                    assert hit.kind == "chunk"
    """
    others = [child(code, file, folder, max(1.5, STRESS_S)) for _ in range(2)]
    n = 0
    while any(one.poll() is None for one in others):
        (folder / f"n{n % 40}.md").write_text(f"# Again {n}\n\nA heron, number {n}.\n", encoding="utf-8")
        n += 1
        time.sleep(0.02)
    assert [one.returncode for one in others] == [0, 0]
    with Vault(file) as vault:
        assert vault.sync().complete
        assert picture(vault) == fresh_picture(folder)


def test_renames_and_moved_lines_cost_no_embedding(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    path = folder / "a.md"
    sections = [f"# Section {n}\n\n" + f"Text of section {n}. " * 80 + "\n\n" for n in range(5)]
    path.write_text("".join(sections), encoding="utf-8")
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[1.0, float(len(text)), 1.0] for text in texts]

    with Vault(tmp_path / "v.septet", embedder=CallableEmbedder(embed, model="test", dimensions=3)) as vault:
        vault.sync(folder)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert len(asked) == len(vault)
        asked.clear()
        path.write_text("".join(sections) + "# Last\n\nA new one.\n", encoding="utf-8")
        vault.sync()
        assert vault.embedding_status(wait_s=20).activity == "idle"
        few = len(asked)
        assert few <= 2
        asked.clear()
        path.rename(folder / "b.md")
        assert vault.sync().files_renamed == 1
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert asked == []
        assert all(space.missing == 0 for space in vault.embedding_status().spaces)
