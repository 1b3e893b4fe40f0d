"""Corpora over vaults and over functions: what each finds, in which lists, and what it does when it cannot."""

import threading

import numpy as np
import pytest

from golden.loader import other_recording
from septet import Federation, SeptetError, Vault
from septet.model.links import Link
from septet.query.refine import deadline_of
from septet.retrieval.corpora.chunks import ChunkCorpus, MirrorCorpus, fused_chunks
from septet.retrieval.corpora.given import MOST_HANGING, FunctionCorpus
from septet.retrieval.corpora.graph import Edge, GraphCorpus, edge_weight, led_by
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.knowledge import store_of

NOW = 1_760_000_000.0
DAY = 86_400.0


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def asked(query, limit=10, **more):
    return CorpusRequest(query, limit, **more)


def ids(answered, name):
    (ranked,) = [one for one in answered.lists if one.name == name]
    return [item.hit.id for item in ranked.items]


def hits(answered, name):
    (ranked,) = [one for one in answered.lists if one.name == name]
    return {item.hit.id: item.hit for item in ranked.items}


@pytest.mark.parametrize("case", other_recording("vox-chunk-hybrid")["cases"], ids=lambda case: str(case["fused"]))
def test_chunks_are_fused_as_recorded(case):
    cosines = {one["id"]: one["cosine"] for one in case["vector"]}
    fused = fused_chunks(case["text_ids_in_order"], cosines, case["vector_weight"])
    assert [(one, round(score, 6)) for one, score in fused.items()] == [(f["id"], f["score"]) for f in case["fused"]]


class TestMemory:
    def corpus(self, vault, **more):
        return MemoryCorpus(vault, clock=lambda: NOW, **more)

    def test_memories_and_entries_are_found_but_not_what_other_corpora_have(self, vault):
        vault.add(title="Token refresh", id="entry")
        vault.remember("Token rotation was agreed", id="memory")
        for kind in ("chunk", "node", "path", "symbol", "web"):
            vault.add(title="Token", id=kind, kind=kind)
        assert sorted(ids(self.corpus(vault).search(asked("token")), "text")) == ["entry", "memory"]
        assert ids(self.corpus(vault, kinds=["web", "node"]).search(asked("token")), "text") == ["node", "web"]

    def test_state_and_age_weigh_what_words_find(self, vault):
        text = {"title": "Token refresh", "description": "How tokens are refreshed."}
        vault.add(**text, id="legacy", attrs={"status": "legacy"}, updated_at=NOW)
        vault.add(**text, id="old", attrs={"status": "Current"}, updated_at=NOW - 180 * DAY)
        vault.add(**text, id="ancient", updated_at=NOW - 9999 * DAY)
        vault.add(**text, id="evergreen", attrs={"evergreen": 1, "status": "draft"}, updated_at=NOW - 9999 * DAY)
        vault.add(**text, id="plain", updated_at=NOW)
        found = hits(self.corpus(vault).search(asked("token refresh")), "text")
        factors = {one: (hit.raw["status_factor"], hit.raw["age_factor"]) for one, hit in found.items()}
        assert factors == {
            "plain": (1.2, 1.0),
            "evergreen": (1.0, 1.0),
            "old": (1.2, 0.5),
            "legacy": (0.2, 1.0),
            "ancient": (1.2, 0.1),
        }
        assert [*found] == ["plain", "evergreen", "old", "legacy", "ancient"]
        for hit in found.values():
            factor = hit.raw["status_factor"] * hit.raw["age_factor"]
            assert hit.score == pytest.approx(hit.raw["bm25"] * factor)
            assert hit.tier == "memory"

    def test_factors_may_bring_up_what_stands_behind_the_limit(self, vault):
        for at in range(3):
            vault.add(title="Token token token", id=f"legacy-{at}", attrs={"status": "legacy"}, updated_at=NOW)
        vault.add(title="Token", description="and much else beside it", id="new", updated_at=NOW)
        assert ids(self.corpus(vault).search(asked("token", 1)), "text") == ["new"]

    def test_a_vector_that_points_the_same_way_comes_first(self, vault):
        for at, angle in enumerate((0.0, 0.5, 1.0, 1.5)):
            vault.add(title=f"entry {at}", id=str(at), vector=np.array([np.cos(angle), np.sin(angle)]))
        answered = self.corpus(vault).search(asked("nothing of it", vector=np.array([1.0, 0.0], dtype=np.float32)))
        found = hits(answered, "vector")
        assert [*found] == ["0", "1", "2", "3"]
        assert [hit.score for hit in found.values()] == pytest.approx(np.cos([0.0, 0.5, 1.0, 1.5]), abs=1e-6)
        assert ids(answered, "text") == []
        assert [*answered.backends] == ["memory_bm25", "memory_vector"]
        assert not answered.fallback

    @pytest.mark.parametrize(("mode", "lists"), [("full_text", ["text"]), ("vector", ["vector"])])
    def test_the_mode_decides_which_legs_are_asked(self, vault, mode, lists):
        vault.add(title="Token", vector=[1.0, 0.0])
        answered = self.corpus(vault).search(asked("token", mode=mode, vector=np.ones(2, dtype=np.float32)))
        assert [one.name for one in answered.lists] == lists

    def test_other_phrasings_are_not_compared_by_vectors(self, vault):
        vault.add(title="Token", vector=[1.0, 0.0])
        answered = self.corpus(vault).search(asked("token", variant=1, vector=np.ones(2, dtype=np.float32)))
        assert [(one.name, one.variant) for one in answered.lists] == [("text", 1)]

    def test_a_vector_of_another_size_leaves_the_words(self, vault):
        vault.add(title="Token", id="a", vector=[1.0, 0.0])
        answered = self.corpus(vault).search(asked("token", vector=np.ones(3, dtype=np.float32)))
        assert ids(answered, "text") == ["a"]
        assert "vector_mismatch" in {note.code for note in answered.notes}

    def test_parts_of_words_are_a_fallback_and_said_to_be_one(self, vault):
        vault.add(title="Prerefreshing", id="a", description="nothing else")
        vault.add(title="refreshingly", id="chunk", kind="chunk")
        answered = self.corpus(vault).search(asked("efreshin"))
        assert (answered.fallback, ids(answered, "fallback")) == (True, ["a"])
        assert "lexical_fallback" in answered.backends
        without = self.corpus(vault, fallback=False).search(asked("efreshin"))
        assert not without.fallback
        assert [one.name for one in without.lists] == ["text"]

    def test_nothing_at_all_is_no_fallback(self, vault):
        answered = self.corpus(vault).search(asked("token"))
        assert (answered.fallback, [list(one.items) for one in answered.lists]) == (False, [[]])

    def test_two_titles_that_share_a_word_and_differ_are_a_contradiction(self, vault):
        vault.add_many([{"title": f"filler {at}"} for at in range(10)])
        vault.add(title="alpha claim", description="alpha evidence says yes", updated_at=NOW)
        vault.add(title="alpha counterclaim", description="alpha evidence says no", updated_at=NOW)
        assert self.corpus(vault).search(asked("alpha evidence")).contradictions == 2
        assert self.corpus(vault).search(asked("alpha evidence", 1)).contradictions == 0

    def test_the_snippet_is_the_best_line_with_those_beside_it(self, vault):
        lines = ["one", "two", "the gateway refreshes a token", "four", "five"]
        vault.add(title="log", description="\n".join(lines), id="a")
        (hit,) = hits(self.corpus(vault).search(asked("token gateway")), "text").values()
        assert hit.snippet == "two\nthe gateway refreshes a token\nfour"

    def test_a_synced_folder_of_memories_is_one_corpus_and_its_chunks_no_other(self, tmp_path):
        folder = tmp_path / "workspace"
        (folder / "memory").mkdir(parents=True)
        (folder / "memory" / "2026-05-11.md").write_text("---\nstatus: legacy\n---\n# Log\ntoken refresh was fixed\n")
        with Vault(tmp_path / "v.db") as vault:
            vault.sync(folder, layout="memory", name="notes")
            vault.add(title="Token", id="doc", kind="chunk")
            found = hits(MemoryCorpus(vault, roots=["notes"]).search(asked("token")), "text")
            assert [(hit.source, hit.raw["status_factor"]) for hit in found.values()] == [("notes", 0.2)]
            assert ids(ChunkCorpus(vault, without=["notes"]).search(asked("token")), "text") == ["doc"]
            assert len(ids(ChunkCorpus(vault).search(asked("token")), "text")) == 2

    def test_a_whole_entry_is_fetched_by_the_id_of_a_hit(self, vault):
        vault.add(title="Token", id="a")
        corpus = self.corpus(vault)
        assert corpus.get("a") == vault.get("a")
        assert corpus.get("b") is None

    @pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "a" * 5000, "NEAR(", "token AND OR NOT", "🦀"])
    def test_any_query_is_answered(self, vault, query):
        vault.add(title="Token AND or not near", id="a")
        self.corpus(vault).search(asked(query))


class TestChunks:
    def test_both_legs_meet_in_one_list(self, vault):
        vault.add(title="Token", id="both", kind="chunk", vector=[1.0, 0.0])
        vault.add(title="Gateway", id="near", kind="chunk", vector=[0.4, np.sqrt(1 - 0.16)])
        vault.add(title="a token among others", id="words", kind="chunk")
        vault.add(title="Token", id="entry", vector=[1.0, 0.0])
        answered = ChunkCorpus(vault).search(asked("token", vector=np.array([1.0, 0.0], dtype=np.float32)))
        found = hits(answered, "hybrid")
        assert [*found] == ["both", "near", "words"]
        assert [hit.score for hit in found.values()] == pytest.approx([1.6, 0.8, 0.5], abs=1e-6)
        assert (found["both"].raw["bm25"], found["both"].raw["cosine"]) == (
            pytest.approx(found["both"].raw["bm25"]),
            1.0,
        )
        assert [*answered.backends] == ["chunk_fts", "chunk_vector"]

    def test_words_rank_by_how_well_they_match_and_not_by_date(self, vault):
        for at in range(5):
            text = "token " * (5 - at) + "filler " * at
            vault.add(title="Chunk", description=text, id=str(at), kind="chunk", created_at=NOW + at)
        assert ids(ChunkCorpus(vault).search(asked("token")), "text") == ["0", "1", "2", "3", "4"]

    def test_a_chunk_made_anew_keeps_its_vector_and_its_place(self, tmp_path):
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.md").write_text("# Token\nrefresh\n")
        with Vault(tmp_path / "v.db") as vault:
            vault.sync(tmp_path / "notes", name="notes")
            before = ids(ChunkCorpus(vault).search(asked("token")), "text")
            (tmp_path / "notes" / "a.md").rename(tmp_path / "notes" / "b.md")
            vault.sync(tmp_path / "notes", name="notes")
            assert ids(ChunkCorpus(vault).search(asked("token")), "text") == before

    def test_a_mirror_is_a_store_of_its_own(self, vault):
        with Vault(":memory:") as docs:
            for one in (vault, docs):
                one.add(title="Token", id="a", kind="chunk")
            (one,) = ChunkCorpus(vault).search(asked("token")).lists
            (other,) = MirrorCorpus(docs).search(asked("token")).lists
            assert (one.corpus, other.corpus) == ("document_chunks", "docs_mirror")
            assert one.items[0].key != other.items[0].key
            assert other.items[0].key == f"{store_of(docs)}:a"

    def test_a_federation_is_asked_like_a_vault(self, vault):
        vault.add(title="Token", id="a", kind="chunk")
        with Vault(":memory:") as team, Federation({"project": vault, "team": team}) as both:
            team.add(title="Token", id="b", kind="chunk")
            assert sorted(ids(ChunkCorpus(both).search(asked("token")), "text")) == ["a", "b"]


class TestGraph:
    def test_edges_lead_from_what_words_find(self, vault):
        vault.add(title="Gateway", description="lets tokens in", id="gateway", kind="node")
        vault.add(title="Billing", id="billing", kind="node")
        vault.add(title="Ledger", id="ledger", kind="node")
        vault.add(title="Far", id="far", kind="node")
        vault.link("gateway", "billing", "calls", note="0.5; since spring")
        vault.link("ledger", "gateway", "part of")
        vault.link("billing", "far", "calls")
        answered = GraphCorpus(vault).search(asked("gateway tokens"))
        assert ids(answered, "text") == ["gateway"]
        found = hits(answered, "neighbours")
        assert [(one, hit.score, led_by(hit)) for one, hit in found.items()] == [
            ("ledger", 0.5, [Edge("gateway", "part of", 1.0)]),
            ("billing", 0.25, [Edge("gateway", "calls", 0.5)]),
        ]
        assert [*answered.backends] == ["knowledge_fts", "knowledge_links"]

    def test_nodes_rank_by_how_well_they_match_and_not_by_date(self, vault):
        for at in range(5):
            text = "token " * (5 - at) + "filler " * at
            vault.add(title="Node", description=text, id=str(at), kind="node", created_at=NOW + at)
        assert ids(GraphCorpus(vault).search(asked("token")), "text") == ["0", "1", "2", "3", "4"]

    @pytest.mark.parametrize("edges", [0, 1, 3, 10, 11, 500])
    def test_a_hub_floods_no_list(self, vault, edges):
        vault.add(title="Hub", id="hub", kind="node")
        vault.add_many([{"title": f"spoke {at}", "id": str(at), "kind": "node"} for at in range(edges)])
        vault.link_many([("hub", str(at), "has", f"weight={at / 1000}") for at in range(edges)])
        found = ids(GraphCorpus(vault).search(asked("hub", 100)), "neighbours")
        assert found == [str(at) for at in range(edges - 1, max(-1, edges - 11), -1)]

    def test_the_parts_of_a_text_are_no_neighbours(self, vault):
        vault.add(title="Token", id="a", kind="node")
        vault.add(title="next one", id="b", kind="node")
        vault.link("a", "b", "next")
        assert ids(GraphCorpus(vault).search(asked("token")), "neighbours") == []

    def test_without_time_the_edges_are_left_and_a_note_says_so(self, vault):
        vault.add(title="Token", id="a", kind="node")
        vault.add(title="beside", id="b", kind="node")
        vault.link("a", "b")
        answered = GraphCorpus(vault).search(asked("token", deadline=deadline_of(0.0)))
        assert "deadline" in {note.code for note in answered.notes}
        assert all("b" not in [item.hit.id for item in one.items] for one in answered.lists)

    @pytest.mark.parametrize(
        ("note", "weight"),
        [
            ("", 1.0),
            ("0.8", 0.8),
            ("weight=0.25", 0.25),
            ("Weight", 1.0),
            (".5, often", 0.5),
            ("7", 1.0),
            ("3 times", 1.0),
        ],
    )
    def test_the_weight_of_an_edge_is_what_its_note_begins_with(self, note, weight):
        assert edge_weight(Link("a", "b", "calls", note)) == weight


class TestFunctions:
    def test_dicts_and_hits_become_whole_hits(self, vault):
        vault.add(title="Token", id="a")

        def ask(query, limit):
            return [{"title": "From elsewhere", "id": "x", "score": 3.5}, {"title": "Another"}, *vault.search(query)]

        corpus = FunctionCorpus("remote", ask, backend="remote_vectors")
        answered = corpus.search(asked("token", 3))
        (ranked,) = answered.lists
        assert [(item.hit.title, item.hit.tier) for item in ranked.items] == [
            ("From elsewhere", "remote"),
            ("Another", "remote"),
            ("Token", "remote"),
        ]
        assert [item.hit.score for item in ranked.items][:2] == [3.5, 0.5]
        assert corpus.get("x").title == "From elsewhere"
        assert corpus.get("nobody") is None
        assert [*answered.backends] == ["remote_vectors"]

    def test_no_more_is_taken_than_was_asked_for(self):
        def ask(query, limit):
            at = 0
            while True:
                at += 1
                yield {"title": str(at)}

        (ranked,) = FunctionCorpus("remote", ask).search(asked("token", 7)).lists
        assert [item.hit.title for item in ranked.items] == [str(at) for at in range(1, 8)]

    @pytest.mark.parametrize(
        "given",
        [None, "text", b"bytes", {"title": "one"}, [1], [None], [{"titel": "x"}], [{"title": "a", "score": "b"}]],
    )
    def test_what_is_no_list_of_results_raises(self, given):
        with pytest.raises(SeptetError, match="returned an invalid result"):
            FunctionCorpus("remote", lambda query, limit: given).search(asked("token"))

    def test_what_it_raises_is_said(self):
        def ask(query, limit):
            raise ConnectionError("no route")

        with pytest.raises(SeptetError, match="remote raised ConnectionError: no route"):
            FunctionCorpus("remote", ask).search(asked("token"))

    def test_a_function_that_hangs_is_left_alone_until_it_comes_back(self):
        gate, calls = threading.Event(), []

        def ask(query, limit):
            calls.append(query)
            gate.wait()
            return [{"title": "late"}]

        corpus = FunctionCorpus("remote", ask, timeout_s=0.01)
        for _ in range(MOST_HANGING):
            with pytest.raises(SeptetError, match="no answer within"):
                corpus.search(asked("token"))
        with pytest.raises(SeptetError, match="it is skipped"):
            corpus.search(asked("token"))
        assert len(calls) <= MOST_HANGING
        gate.set()
        for running in list(corpus._running):
            running.result()
        corpus._timeout_s = 60.0
        assert len(corpus.search(asked("token")).lists[0].items) == 1
