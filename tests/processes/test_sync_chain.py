"""A folder is synced, a provider has no quota left, and the process is killed: nothing is lost, or paid twice."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest

from consoles import was_killed
from embedding_server import EmbeddingServer, faults
from embedding_server.parts import text_rows
from septet import EmbeddingOptions, Vault

FILES, BATCH = 20, 5
OPTIONS = {"batch_texts": BATCH, "rest_s": 0}
SIZES = {"openai/first": 8, "ollama/second": 12}

SYNC = """
import json, sys
from septet import EmbeddingOptions, Vault
path, folder, config, options = sys.argv[1:]
with Vault(path, embedder=json.loads(config), embedding_options=EmbeddingOptions(**json.loads(options))) as vault:
    vault.sync(folder)
    vault.embedding_status(wait_s=60)
    vault.embed()
print("done")
"""


class World:
    """Two providers. The first one has no quota between two moments; one of them kills the process that asks it.

    Args:
        share: so many requests the first one answers.
        back_after: requests of the second one, after which the first answers again.
        kill: a provider's number, and which of its requests is the last.
    """

    def __init__(self, servers, share, back_after, kill):
        self.servers, self.share, self.back_after, self.kill = servers, share, back_after, kill
        self.asked, self.paid = [0, 0], (Counter(), Counter())
        self.child = None
        for number, server in enumerate(servers):
            server.script(*[self.fault(number)] * 10_000)

    def fault(self, number):
        def meet(provider, answer):
            self.asked[number] += 1
            if self.kill == (number, self.asked[number]):
                self.child.kill()
                self.child.wait()
                self.share = self.back_after = 10**9
            if number == 0 and self.asked[0] > self.share and self.asked[1] < self.back_after:
                return faults.QUOTA(provider, answer)
            self.paid[number].update(text for text in self.servers[number].requests[-1].json()["input"])
            return answer()

        return meet

    @property
    def config(self):
        one, two = self.servers
        second = {"provider": "ollama", "model": "second", "baseUrl": two.url}
        first = {"provider": "openai", "model": "first", "baseUrl": f"{one.url}/v1", "apiKey": "good-key"}
        return {**first, "fallback": [second]}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    for n in range(FILES):
        parts = [f"## Part {p} of {n}\n\n" + f"kingfisher{n} and the heron wait at pond {p}. " * 40 for p in range(2)]
        (made / f"{n:02}.md").write_text("\n\n".join(parts), encoding="utf-8")
    return made


@pytest.fixture
def world(request):
    with ExitStack() as stack:
        servers = [stack.enter_context(EmbeddingServer(lambda texts, d=d: text_rows(texts, d))) for d in SIZES.values()]
        yield World(servers, *request.param)


def content(vault):
    return sorted((e.id, e.span.path, e.span.first_line, e.span.last_line, e.description) for e in vault)


def check_vectors(vault):
    """Every stored vector is its own model's, of exactly that text; return how many each model has."""
    held = Counter()
    with vault._store.reading() as read:
        sql = "SELECT s.model, e.title, e.description, e.context, v.vector FROM spaces s JOIN vectors v USING (space) "
        rows = read.sql.execute(sql + "JOIN entries e ON e.text_hash = v.key WHERE e.live").fetchall()
    for model, *parts, blob in rows:
        text = "\n".join(part for part in parts if part)
        np.testing.assert_allclose(np.frombuffer(blob, "<f4"), text_rows([text], SIZES[model])[0], atol=1e-6)
        held[model] += 1
    return held


KILLED = [
    pytest.param((10**9, 10**9, (0, 1)), id="in the first request of all"),
    pytest.param((10**9, 10**9, (0, 5)), id="while the first one embeds"),
    pytest.param((3, 10**9, (0, 4)), id="when the first one ends"),
    pytest.param((3, 10**9, (1, 1)), id="in the first request of the second"),
    pytest.param((3, 10**9, (1, 5)), id="while the second one embeds"),
    pytest.param((3, 3, (0, 9)), id="when the first one is back"),
    pytest.param((0, 10**9, (1, 8)), id="while the second one embeds alone"),
    pytest.param((2, 2, (0, 13)), id="while the first one makes up for it"),
]


@pytest.mark.parametrize("world", KILLED, indirect=True)
def test_after_a_kill_the_next_sync_and_run_complete_the_first_space(tmp_path, folder, world):
    path = tmp_path / "v.db"
    command = [sys.executable, "-c", SYNC, path, folder, json.dumps(world.config), json.dumps(OPTIONS)]
    world.child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    said, _ = world.child.communicate(timeout=60)
    assert said == b"" and was_killed(world.child.returncode)
    options = EmbeddingOptions(automatic=False, **OPTIONS)
    with Vault(path, embedder=world.config, embedding_options=options) as vault:
        before = check_vectors(vault)
        vault.sync(folder)
        with Vault(":memory:") as other:
            other.sync(folder)
            assert content(vault) == content(other) and len(other) > FILES
        found = vault.search("kingfisher7", limit=3, legs="text")
        assert found[0].entry.span.path == "07.md"
        report = vault.embed()
        assert (report.model, report.missing) == ("openai/first", 0)
        after = check_vectors(vault)
        # What was paid for is kept, in both spaces.
        assert after["openai/first"] == len(vault) and after["ollama/second"] == before["ollama/second"]
        found = vault.search("heron at pond 1", limit=3)
        # The vectors of this world have nothing to do with words.
        assert found.weights["vector"] > 0 and {note.code for note in found.notes} <= {"vectors_disagree"}
    for paid in world.paid:
        # The batch that was under way is asked for once more; nothing else is.
        again = [text for text, times in paid.items() if times > 1 and "heron" in text]
        assert len(again) <= BATCH and all(paid[text] == 2 for text in again)
