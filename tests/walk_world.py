"""What the walk calls: something of everything."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import septet
from septet.files.watching import FolderWatcher


def by_length(texts):
    return [[len(text), 1, 2] for text in texts]


class World:
    """Something of everything, small: two vaults, one of them embedded, a federation, an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.open = ExitStack()
        self.embedder = septet.CallableEmbedder(by_length, model="lengths", dimensions=3)
        self.cache = septet.embedding.EmbeddingCache(folder / "cache.db")
        self.index = septet.VectorIndex(3)
        self.index.add(np.eye(3))
        self.index.save(folder / "index.npy")
        self.vectorizer = septet.TfidfVectorizer().fit(["ducks swim", "geese fly"])
        self.vault = self.filled("vault")
        self.other = septet.Vault(folder / "other.db", sidecar=False, clock=lambda: 2_000.0)
        self.other.add(id="a", title="ducks of the team")
        self.federation = septet.Federation({"agent": self.vault, "team": self.other})
        self.notes = folder / "notes"
        self.notes.mkdir()
        (self.notes / "drakes.md").write_text("# Drakes\n\nDrakes moult.\n", encoding="utf-8")

    @property
    def evaluation(self) -> septet.Evaluation:
        return septet.evaluate(self.vault, {"1": "ducks"}, {"1": ["a"]})

    @property
    def retrieval(self) -> septet.Retrieval:
        with self.vault.retriever() as retriever:
            return retriever.retrieve("ducks")

    @property
    def watcher(self) -> septet.Watcher:
        """One that is closed, so that nobody waits for it."""
        options: dict[str, Any] = {"debounce_s": 1, "session_debounce_s": 1, "interval_s": None, "on_sync": None}
        made = FolderWatcher(self.vault._store, self.vault.sync, events=lambda *_, stop_event: (), **options)
        made.close()
        return made

    @property
    def tuning(self) -> septet.evaluation.Tuning:
        return septet.tune(self.vault, {"1": "ducks"}, {"1": ["a"]})

    def filled(self, name: str) -> septet.Vault:
        made = septet.Vault(self.folder / f"{name}.db", sidecar=False, clock=lambda: 1_000.0)
        made.add(id="a", title="ducks swim", description="in ponds", tags=["bird"], attrs={"n": 1}, vector=[1, 0, 0])
        made.add(id="b", title="geese fly", domain="sky", vector=[0, 1, 0], created_at=10, updated_at=20)
        made.add(id="c", title="a duck and a goose", span={"path": "c.md", "first_line": 1, "last_line": 2})
        made.remember("ducks like bread", id="m")
        made.link("a", "b")
        made.feedback("ducks", "a", "accepted")
        return made

    @cached_property
    def client(self) -> septet.Client:
        """Of a server that begins here, and ends with the world."""
        from serving import serving

        return self.open.enter_context(septet.Client(self.open.enter_context(serving(self.vault, grace_s=0.1))))

    def close(self) -> None:
        self.open.close()
        for one in (self.federation, self.vault, self.other, self.cache):
            one.close()

    def path(self) -> Path:
        self.count += 1
        return self.folder / f"file{self.count}"

    def tuned(self) -> Path:
        made = self.path().with_suffix(".json")
        made.with_name(f"{made.name}.before").write_text("{}")
        return made

    def backup(self) -> Path:
        made = self.path()
        self.vault.backup(made)
        return made

    def content(self) -> str:
        """Everything that the vault holds, as text, and its generation."""
        vault = self.vault
        with vault._store.reading() as read:
            kept = {
                table: read.sql.execute(f"SELECT * FROM {table}").fetchall()
                for table in ("entries", "links", "feedback", "spaces", "vectors", "history")
            }
            return repr((read.generation, kept))

    def of(self, name: str) -> object:
        if name in ("Watcher", "Client"):
            return getattr(self, name.lower())
        return {
            "Vault": self.vault,
            "Federation": self.federation,
            "VectorIndex": self.index,
            "TfidfVectorizer": self.vectorizer,
            "CallableEmbedder": self.embedder,
            "FallbackEmbedder": septet.embedding.FallbackEmbedder([self.embedder]),
            "EmbeddingCache": self.cache,
            "Evaluation": self.evaluation,
            "Tuning": self.tuning,
            "Redactor": septet.Redactor(),
            "ExternalFirst": septet.client.ExternalFirst(lambda query, limit: [{"title": query}], self.vault),
            "Retriever": self.vault.retriever("planned-retrieval"),
            "Retrieval": self.retrieval,
            "RetrievalPlan": self.retrieval.plan,
            "Envelope": self.retrieval.envelope,
            "Policy": septet.retrieval.Policy(),
            "RecallSettings": septet.retrieval.RecallSettings(),
            "WebCorpus": septet.retrieval.WebCorpus(septet.retrieval.Policy()),
            "CreditBudget": septet.retrieval.CreditBudget(5),
            "VaultCorpus": septet.retrieval.VaultCorpus("birds", self.vault),
            "Results": self.vault.search("ducks"),
            "Hit": self.vault.search("ducks")[0],
        }[name]
