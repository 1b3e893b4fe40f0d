"""Models that fail when they are told to, and vaults with a chain of them."""

from doubles import Letters, refused
from septet import EmbeddingOptions, Vault

BY_HAND = EmbeddingOptions(automatic=False, rest_s=0)
ALL = 100


class Switched(Letters):
    """An embedder that fails while it is told to, by kind of text."""

    fault = None
    fails = ("document", "query")
    lasts = None
    most = ALL

    def embed(self, texts, kind="document", *, timeout_s=None):
        if self.fault is not None and kind in self.fails:
            self.calls.append((kind, tuple(texts)))
            raise self.fault
        if len(texts) > self.most:
            self.calls.append((kind, tuple(texts)))
            raise refused(429, "too many tokens a minute")
        if self.lasts is not None and kind == "document":
            # It answers so many texts and then has no quota left.
            if len(texts) > self.lasts:
                self.fault = refused(429, "quota exhausted")
                raise self.fault
            self.lasts -= len(texts)
        return super().embed(texts, kind, timeout_s=timeout_s)


def models():
    return Switched("first"), Switched("second", 16)


def opened(path, *chain, options=BY_HAND, **others):
    return Vault(path, embedder=list(chain), embedding_options=options, **others)


def fill(vault, count=ALL, start=0):
    vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(start, start + count))


def held(vault):
    return {s.model: s.entries for s in vault.embedding_status().spaces if s.entries}


def codes(found):
    return [note.code for note in found.notes]


def answering(vault, query="title 7"):
    """The model whose vectors answer a search; None for text alone."""
    found = vault.search(query, limit=3)
    assert found, "full text answers always"
    plan = vault._embedded(vault._plan(query, {}))
    used = {one.space.model for one in plan.embeddings.values()}
    assert len(used) <= 1 and bool(used) == (found.weights["vector"] > 0)
    return used.pop() if used else None
