"""Why the corpora of a planned retrieval did not find an entry that the vault, or the folder, has."""

import pytest

from repositories import FILES, rested, written
from septet import Vault
from septet.retrieval.corpora.chunks import ChunkCorpus
from septet.retrieval.corpora.folders import InventoryCorpus
from septet.retrieval.corpora.graph import GraphCorpus
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpus import CorpusRequest

ASKED = CorpusRequest("tokens", 2, "full_text")


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        for kind in ("entry", "node", "chunk"):
            for at in range(12):
                made.add(id=f"{kind}-{at}", title="tokens " * (12 - at), description="other " * at, kind=kind)
            made.add(id=f"{kind}-ducks", title="ducks swim", kind=kind)
            made.add(id=f"{kind}-over", title="tokens", kind=kind, valid_until=10.0)
        yield made


@pytest.fixture(params=["memory", "knowledge_graph", "document_chunks"])
def corpus(request, vault):
    made = {one.name: one for one in (MemoryCorpus(vault), GraphCorpus(vault), ChunkCorpus(vault))}
    return made[request.param]


def own(corpus):
    return {"memory": "entry", "knowledge_graph": "node", "document_chunks": "chunk"}[corpus.name]


def test_an_entry_of_another_kind_is_told_so(corpus):
    for kind in {"entry", "node", "chunk"} - {own(corpus)}:
        told = corpus.explain(ASKED, f"{kind}-0")
        assert told.filters == {"kind": False}
        assert f"'{kind}'" in told.reason


def test_an_entry_that_does_not_pass_a_filter_is_told_which(corpus):
    told = corpus.explain(ASKED, f"{own(corpus)}-over")
    assert told.filters["valid"] is False
    assert told.reason == "it does not pass valid"


def test_an_entry_without_a_word_of_the_query_is_told_so(corpus):
    told = corpus.explain(ASKED, f"{own(corpus)}-ducks")
    assert all(told.filters.values())
    assert told.reason == "by words: holds none of tokens"


def test_an_entry_beyond_the_list_is_told_its_rank(corpus):
    told = corpus.explain(ASKED, f"{own(corpus)}-11")
    listed = 8 if corpus.name == "memory" else 2
    assert told.reason == f"by words: rank 12 of 12, and {listed} are listed"


def test_an_entry_beyond_the_list_of_vectors_is_told_its_rank_there():
    with Vault(":memory:") as vault:
        for at in range(4):
            vault.add(id=f"c{at}", title=f"tokens {at}", kind="chunk", vector=[1.0, float(at)])
        corpus = ChunkCorpus(vault)
        asked = CorpusRequest("ducks", 2, "hybrid", vector=[1.0, 0.0])
        told = corpus.explain(asked, "c3")
        assert told.reason == "by words: holds none of ducks; by vectors: rank 4 of 4, and 2 are listed"
        assert corpus.explain(asked._replace(mode="vector"), "c3").reason == "by vectors: rank 4 of 4, and 2 are listed"


def test_a_memory_that_others_overtake_by_state_and_age_is_told_so(vault):
    vault.add(id="legacy", title="tokens " * 13, attrs={"status": "legacy"})
    told = MemoryCorpus(vault).explain(ASKED._replace(limit=1), "legacy")
    assert told.reason == "by words: rank 1 of 13, but state and age rank 1 others before it"


def test_a_filter_of_the_caller_is_named(vault):
    told = MemoryCorpus(vault, where={"domain": "auth"}).explain(ASKED, "entry-0")
    assert told.reason == "it does not pass where domain"


def test_nobody_tells_of_an_entry_that_there_is_not(corpus):
    assert corpus.explain(ASKED, "nobody") is None


def test_the_corpus_whose_entry_it_is_gives_the_reason_of_a_retrieval(vault):
    with vault.retriever("planned-retrieval") as retriever:
        told = retriever.explain("tokens", "chunk-ducks", corpora=["memory", "document_chunks"])
        assert told.reason.endswith("document_chunks has it, and no list holds it: by words: holds none of tokens")
        told = retriever.explain("tokens", "chunk-ducks", corpora=["memory"])
        assert told.reason == "not found: it does not pass kind of memory"


class TestInventory:
    @pytest.fixture
    def repository(self, tmp_path):
        return rested(written(tmp_path / "repository", FILES | {".gitignore": "*.log\n", "a/token.log": "x"}))

    @pytest.mark.parametrize(
        ("path", "reason", "holds"),
        [
            ("src/policy.py", "rank 2 of 3 by its path, and 1 are listed", True),
            (".gitignore", "its path holds no word of the query", True),
            ("a/token.log", "rules of .gitignore or names to skip exclude it, or it is a link", True),
            ("nowhere.py", "there is no such file", False),
            ("../other.py", "it is not below the folder", False),
        ],
    )
    def test_a_file_is_told_why_it_is_not_listed(self, repository, path, reason, holds):
        told = InventoryCorpus(repository).explain(CorpusRequest("where is the policy?", 1), f"path:{path}")
        assert (told.reason, told.holds) == (reason, holds)

    def test_a_file_beyond_the_number_of_files_is_told_so(self, tmp_path):
        root = written(tmp_path / "many", {f"{at}.txt": "" for at in range(5)})
        told = InventoryCorpus(root, most_files=3).explain(CorpusRequest("txt", 10), "path:4.txt")
        assert "more files than the maximum" in told.reason

    @pytest.mark.parametrize("entry_id", ["entry-0", "path:a\0b"])
    def test_what_names_no_path_is_not_told_of(self, repository, entry_id):
        assert InventoryCorpus(repository).explain(CorpusRequest("policy", 1), entry_id) is None

    def test_a_retrieval_says_that_a_file_is_left_out(self, vault, repository):
        with vault.retriever({"corpora": {"repository": str(repository)}}) as retriever:
            told = retriever.explain("where is the policy", "path:a/token.log", corpora=["repo_inventory"])
            assert told.reason == "not found: it does not pass rules of repo_inventory"
