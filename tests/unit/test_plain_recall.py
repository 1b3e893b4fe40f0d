"""The program that a recall is measured beside: it does the documented work, and its best are those of a recall."""

import numpy as np
import pytest

from septet import Vault

SOURCES = {"entry": "knowledge", "distillation": "distillations", "message": "messages"}
WORDS = "wal checkpoint vacuum busy timeout writer reader journal page index trigger schema cursor backup lock".split()


@pytest.fixture
def benches(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benches"))
    import plain_recall

    return plain_recall


@pytest.fixture
def made():
    rng = np.random.default_rng(1)
    rows = []
    for at in range(45):
        chosen = rng.choice(WORDS, 6, replace=False).tolist()
        vector = rng.normal(size=8).astype(np.float32)
        text = {
            "id": f"e{at}",
            "title": " ".join(chosen[:2]),
            "description": " ".join(chosen[2:]),
            "context": "",
            "tags": [],
        }
        rows.append(({**text, "created_at": 1.7e9 + at}, vector / np.linalg.norm(vector)))
    return rows


def by_source(made):
    return {source: made[at::3] for at, source in enumerate(SOURCES.values())}


def test_words_are_prefixes_and_all_of_them_come_before_fewer(benches, made, tmp_path):
    program = benches.PlainRecall(tmp_path / "plain.db", by_source(made))
    whole = {"id": "all", "title": "zebra", "description": "quagga okapi", "context": "", "tags": [], "created_at": 1.0}
    some = {**whole, "id": "some", "description": "quagga"}
    more = {source: [*own, (whole, own[0][1]), (some, own[0][1])] for source, own in by_source(made).items()}
    program.close()
    program = benches.PlainRecall(tmp_path / "more.db", more)
    found = [row[1] for row in program._words("messages", ["zeb", "quag", "oka"])]
    assert found == ["all"]
    assert [row[1] for row in program._words("messages", ["zeb", "quag", "nothing"])] == ["some", "all"]
    assert program._words("messages", ["nothing"]) == []
    program.close()


def test_what_it_finds_a_recall_finds_too(benches, made, tmp_path):
    """The places differ: full text has other statistics, and a recall two lists more and less weight for knowledge."""
    program = benches.PlainRecall(tmp_path / "plain.db", by_source(made))
    with Vault(":memory:") as vault:
        kinds = list(SOURCES)
        vault.add_many({**entry, "kind": kinds[at % 3], "vector": vector} for at, (entry, vector) in enumerate(made))
        with vault.retriever("recall") as retriever:
            for entry, vector in made[::5]:
                query = f"{entry['title']} {entry['description']}"
                ours = {hit.id for hit in retriever.retrieve(query, query_vector=vector, limit=30)}
                theirs = [id for id, _ in program.ask(query, vector)]
                assert entry["id"] in ours and entry["id"] in theirs[:10]
                assert len(ours & set(theirs)) >= 0.8 * len(theirs)
    program.close()
