"""A provider with a batch API on loopback, and vaults that use it and wait for nothing."""

from __future__ import annotations

from contextlib import contextmanager

from embedding_server import ROUTES, EmbeddingServer, text_rows
from embedding_server.batches import Batches
from septet import EmbeddingOptions, Vault
from septet.embedding import GeminiEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.net.client import IO

KINDS = {"openai": OpenAIEmbedder, "voyage": VoyageEmbedder, "gemini": GeminiEmbedder}


class World:
    """A server with a batch API, and a vault whose waits cost nothing and are remembered."""

    def __init__(self, tmp_path, server, batches):
        self.path, self.server, self.batches = tmp_path / "v.db", server, batches
        self.waits = []
        self.embedders = []

    def close(self):
        for embedder in self.embedders:
            embedder.close()

    def embedder(self, name="openai", **fields):
        outside = IO(sleep=self.waits.append, random=lambda: 0.5)
        where = {"base_url": self.server.url, "environment": {}, "outside": outside}
        where |= {"api_key": "good-key", "dimensions": 8} if name == "openai" else {"api_key": "good-key"}
        made = KINDS[name](f"{name}-test", **{**where, **fields})
        self.embedders.append(made)
        return made

    def vault(self, name="openai", *, cache=None, embedder=None, **options):
        given = embedder or self.embedder(name)
        made = EmbeddingOptions(automatic=False, **options)
        return Vault(self.path, embedder=given, embedding_cache=cache, embedding_options=made)

    @property
    def inline(self):
        """The texts that were sent request by request."""
        found = []
        for request in self.server.requests:
            if request.path.endswith("/embeddings"):
                found += request.json()["input"]
            elif request.path.endswith(":batchEmbedContents"):
                found += [one["content"]["parts"][0]["text"] for one in request.json()["requests"]]
        return found

    @property
    def batched(self):
        return [text for job in self.batches.sent for text in job]

    def paths(self, end):
        return [r for r in self.server.requests if r.path.split("?")[0].endswith(end)]


def fill(vault, n):
    vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(n))
    return {f"title {i}" for i in range(n)}


def rows(vault, table):
    with vault._store.reading() as read:
        return read.sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def complete(vault, n):
    """Every text has one vector, of itself, and nothing is left of the jobs."""
    assert (rows(vault, "vectors"), rows(vault, "jobs"), rows(vault, "claims")) == (n, 0, 0)
    for i in (0, n // 2, n - 1):
        found = vault.search("", query_vector=text_rows([f"title {i}"])[0], legs="vector", limit=1)
        assert found.ids == [f"e{i}"]
    return True


def codes(report):
    return [note.code for note in report.notes]


@contextmanager
def job_world(tmp_path):
    """A world for the length of a block."""
    batches = Batches()
    with EmbeddingServer(routes=[*ROUTES, *batches.routes]) as server:
        made = World(tmp_path, server, batches)
        yield made
        made.close()
