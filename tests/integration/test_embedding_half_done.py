"""While an embedder fails, writers notice nothing, entries without a vector are found by words alone, and a later run
embeds them."""

import numpy as np
import pytest

from doubles import Letters, down, refused
from septet import CallableEmbedder, EmbeddingOptions, Federation, Vault

LONG_S = 60.0
COUNT = 20
BY_HAND = EmbeddingOptions(automatic=False, batch_texts=4)


def title(n):
    return f"duck number {n}"


class Failing(Letters):
    """Embeds queries, and documents only while it is up."""

    up = True

    def embed(self, texts, kind="document", *, timeout_s=None):
        if kind == "document" and not self.up:
            raise down("no network")
        return super().embed(texts, kind, timeout_s=timeout_s)


@pytest.fixture(params=[0, 1, 3, COUNT // 2, COUNT - 1, COUNT], ids=lambda count: f"{count} of {COUNT}")
def halfway(request):
    """A vault with vectors of so many entries, its embedder, and those entries."""
    done, embedder = {f"e{n * COUNT // request.param}" for n in range(request.param)}, Failing()
    with Vault(":memory:", embedder=embedder, embedding_options=BY_HAND) as vault:
        entries = [{"id": f"e{n}", "title": title(n), "domain": "pond"} for n in range(COUNT)]
        vault.add_many(entry for entry in entries if entry["id"] in done)
        assert vault.embed().embedded == len(done) == request.param
        embedder.up = False
        vault.add_many(entry for entry in entries if entry["id"] not in done)
        assert vault.embed().missing == COUNT - len(done)
        yield vault, embedder, done


@pytest.mark.parametrize(
    "profile", ["septet", "six-signals", "seven-signals", "markdown-memory", "recall", "planned-retrieval"]
)
def test_entries_without_a_vector_are_absent_from_the_vectors_and_found_by_words(halfway, profile):
    vault, _, done = halfway
    by_vectors = vault.search("duck number", legs="vector", limit=2 * COUNT, profile=profile, min_score=-1)
    assert set(by_vectors.ids) == done
    assert set(vault.search("duck number", legs="text", limit=2 * COUNT, profile=profile, min_score=-1).ids) == {
        f"e{n}" for n in range(COUNT)
    }
    both = vault.search("duck number", limit=2 * COUNT, profile=profile, min_score=-1)
    assert len(both) == COUNT
    told = {note.code for note in both.notes} & {"no_vectors", "space_incomplete", "vectors_incomplete"}
    assert bool(told) == (len(done) < COUNT)


def test_what_is_missing_is_embedded_later_and_only_that(halfway):
    vault, embedder, done = halfway
    embedder.up = True
    embedder.calls.clear()
    report = vault.embed()
    assert (report.embedded, report.missing, report.failed) == (COUNT - len(done), 0, 0)
    assert sorted(embedder.sent()) == sorted(title(n) for n in range(COUNT) if f"e{n}" not in done)
    assert max(embedder.sizes(), default=0) <= 4
    assert len(vault.search("duck number", legs="vector", limit=2 * COUNT)) == COUNT


def test_a_federation_of_vaults_that_are_done_to_different_parts_answers_with_all(halfway):
    vault, embedder, _ = halfway
    with Vault(":memory:", embedder=embedder, embedding_options=BY_HAND) as other:
        other.add(id="other", title="duck number 0")
        with Federation({"half": vault, "other": other}) as both:
            found = both.search("duck number", limit=2 * COUNT, min_score=-1)
            assert set(found.ids) == {f"e{n}" for n in range(COUNT)} | {"other"}


WRONG = {
    "is down": lambda texts: (_ for _ in ()).throw(down("no network")),
    "refuses": lambda texts: (_ for _ in ()).throw(refused("wrong key", status=401)),
    "raises": lambda texts: 1 // 0,
    "has no memory left": lambda texts: (_ for _ in ()).throw(MemoryError()),
    "returns None": lambda texts: None,
    "returns too few": lambda texts: [[1.0, 2.0]] * (len(texts) - 1),
    "returns NaN": lambda texts: np.full((len(texts), 2), np.nan),
    "returns zeros": lambda texts: np.zeros((len(texts), 2)),
    "returns text": lambda texts: ["a"] * len(texts),
}


@pytest.mark.parametrize("kind", WRONG)
def test_no_writer_hears_of_an_embedder_that(tmp_path, kind):
    works = []

    def function(texts):
        return [[float(len(text)), 2.0] for text in texts] if works else WRONG[kind](texts)

    embedder = CallableEmbedder(function, model="wrong", dimensions=2)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=EmbeddingOptions(rest_s=0)) as vault:
        vault.add(id="a", title="duck one")
        vault.add_many({"id": f"e{n}", "title": title(n)} for n in range(COUNT))
        vault.update("a", title="duck two")
        vault.update_many(where={"id": "e1"}, domain="pond")
        vault.remember("ducks like bread", id="m")
        vault.delete("e0")
        vault.embedding_status(wait_s=0.2)
        assert len(vault.search("duck", limit=50)) == COUNT and vault.get("a").title == "duck two"
        works.append(True)
        # What the provider has refused for good is not tried again by itself.
        assert vault.embed().missing == 0
        assert len(vault.search("duck", legs="vector", limit=50)) == COUNT


@pytest.mark.parametrize(("limit", "again"), [(None, 0), (1_000, 0), (999, 1), (450, 6), (50, 10)])
def test_texts_beyond_a_new_limit_are_embedded_anew_and_no_others(tmp_path, limit, again):
    sent = []

    def function(texts):
        sent.extend(map(len, texts))
        return [[float(len(text)), 2.0] for text in texts]

    def opened(most):
        embedder = CallableEmbedder(function, model="limited", dimensions=2, max_chars=most)
        return Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND)

    with opened(None) as vault:
        vault.add_many({"title": "x" * (100 * n)} for n in range(1, 11))
        assert vault.embed().missing == 0 and sorted(sent) == [100 * n for n in range(1, 11)]
    sent.clear()
    with opened(limit) as vault:
        assert vault.embed().missing == 0 and sent == [limit] * again
