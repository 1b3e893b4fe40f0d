"""Hits of the web that a vault keeps: in the background, once each, masked, and never in the way of a retrieval."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from septet import Federation, Vault
from septet.query.refine import deadline_of
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpora.web import WebCorpus
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.knowledge import Knowledge
from septet.retrieval.planning.policy import Policy
from septet.retrieval.waves import CorpusThreads
from septet.retrieval.waves import ask as wave_of

SECRET = "ghp_0123456789abcdefghij0123456789abcdef"


@pytest.fixture
def vault() -> Iterator[Vault]:
    with Vault(":memory:") as made:
        yield made


def found_of(*pages: tuple[str, str]) -> Any:
    return lambda query, limit: [{"url": url, "title": f"About {url}", "text": text} for url, text in pages]


def corpus_of(knowledge: Knowledge | None, web: Any, **knobs: Any) -> WebCorpus:
    return WebCorpus(Policy(web_enabled=True, web_keep_days=7, **knobs), knowledge, web=web)


def ask(corpus: WebCorpus, query: str = "doves") -> CorpusAnswer:
    found = corpus.search(CorpusRequest(query, 10))
    assert corpus.flush()
    return found


def test_hits_are_kept_and_found_by_later_searches(vault: Vault) -> None:
    corpus = corpus_of(vault, found_of(("https://a.example/1", "doves coo"), ("https://b.example/2", "doves fly")))
    found = ask(corpus)
    kept = vault.entries({"kind": "web"}).entries
    assert {one.source for one in kept} == {"https://a.example/1", "https://b.example/2"}
    assert {one.trust for one in kept} == {"untrusted"}
    for item in found.lists[0].items:
        assert item.hit.entry is not None
        stored = vault.get(item.hit.id)
        assert stored is not None and stored == corpus.get(item.hit.id)
        assert (stored.title, stored.attrs, stored.valid_until) == (
            item.hit.entry.title,
            item.hit.entry.attrs,
            item.hit.entry.valid_until,
        )
    (hit, other) = vault.search("doves coo")
    assert (hit.source, hit.kind, hit.trust) == ("https://a.example/1", "web", "untrusted") and other.kind == "web"
    assert len(vault.search("doves", where={"trust": {"$gte": "unverified"}})) == 0
    # It is the same entry in the lists of the vault, so both are fused into one.
    assert {item.key.rpartition(":")[2] for item in found.lists[0].items} == {hit.id, other.id}


@pytest.mark.parametrize("profile", ["septet", "planned-retrieval"])
def test_what_was_kept_is_in_the_local_corpus_of_documents(vault: Vault, profile: Any) -> None:
    ask(corpus_of(vault, found_of(("https://a.example/1", "doves coo"))))
    with vault.retriever(profile) as retriever:
        found = retriever.retrieve("where doves coo")
    assert [(hit.kind, hit.tier, hit.source) for hit in found] == [("web", "document_chunks", "https://a.example/1")]


def test_what_was_kept_stands_in_where_no_service_answers(vault: Vault) -> None:
    vault.add(title="doves coo here too", kind="note")
    ask(corpus_of(vault, found_of(("https://a.example/1", "doves coo"))))
    for web in (found_of(), found_of(("no address", "x")), raising):
        found = ask(corpus_of(vault, web), "cooing doves")
        assert [(one.name, [item.hit.source for item in one.items]) for one in found.lists] == [
            ("web", []),
            ("kept", ["https://a.example/1"]),
        ]
        (item,) = found.lists[1].items
        assert item.hit.tier == "web_research" and item.hit.entry == vault.get(item.hit.id)
    # Neither while the web is off, nor where nothing is kept.
    off = WebCorpus(Policy(), vault, web=found_of())
    assert [one.name for one in ask(off).lists] == ["web"]
    assert [one.name for one in ask(corpus_of(vault, found_of(), persist_web_hits=False)).lists] == ["web"]


def raising(query: str, limit: int) -> list[Any]:
    raise RuntimeError("down")


def test_hits_are_not_valid_for_ever(vault: Vault) -> None:
    corpus = corpus_of(vault, found_of(("https://a.example/1", "doves coo")))
    ask(corpus)
    (entry,) = vault.entries({"kind": "web"}).entries
    assert entry.valid_until == pytest.approx(entry.created_at + 7 * 86_400)


def test_what_is_found_again_is_updated_and_not_doubled(vault: Vault) -> None:
    ask(corpus_of(vault, found_of(("https://a.example/1?from=x", "doves coo"))))
    ask(corpus_of(vault, found_of(("http://A.example/1/", "doves coo and fly"))))
    (entry,) = vault.entries({"kind": "web"}).entries
    assert (entry.description, entry.source) == ("doves coo and fly", "http://A.example/1/")
    written = vault.stats().generation
    ask(corpus_of(vault, found_of(("http://A.example/1/", "doves coo and fly"))))
    # The same text of today is not written again.
    assert vault.stats().generation == written


def test_the_text_of_a_page_is_not_replaced_by_less(vault: Vault) -> None:
    corpus = corpus_of(vault, found_of(("https://a.example/1", "doves coo")))
    ask(corpus)
    (entry,) = vault.entries({"kind": "web"}).entries
    vault.update(entry.id, description="the whole page", attrs={**entry.attrs, "page": True})
    ask(corpus_of(vault, found_of(("https://a.example/1", "doves fly"))))
    (entry,) = vault.entries({"kind": "web"}).entries
    assert (entry.description, entry.context, entry.attrs["page"]) == ("the whole page", "doves fly", True)


def test_an_entry_of_another_kind_is_left_alone(vault: Vault) -> None:
    corpus = corpus_of(vault, found_of(("https://a.example/1", "doves coo")))
    (item,) = ask(corpus).lists[0].items
    vault.update(item.hit.id, kind="note", description="mine")
    ask(corpus_of(vault, found_of(("https://a.example/1", "doves fly"))))
    (entry,) = vault.entries().entries
    assert (entry.kind, entry.description) == ("note", "mine")


def test_secrets_are_masked_before_anything_is_kept(vault: Vault) -> None:
    url = f"https://user:hunter2-hunter2@a.example/1?token={SECRET}"
    ask(corpus_of(vault, found_of((url, f"the token {SECRET} of doves"))))
    (entry,) = vault.entries({"kind": "web"}).entries
    said = str(entry.to_dict())
    assert SECRET not in said and "hunter2" not in said and "doves" in entry.description


def test_nothing_is_kept_when_the_policy_says_so(vault: Vault) -> None:
    ask(corpus_of(vault, found_of(("https://a.example/1", "doves")), persist_web_hits=False))
    assert vault.count() == 0


class Failing:
    """A vault that cannot be read or written."""

    def get(self, id: str) -> None:
        raise OSError("no room on the disk")


def test_a_vault_that_fails_fails_no_retrieval() -> None:
    corpus = corpus_of(Failing(), found_of(("https://a.example/1", "doves")))  # type: ignore[arg-type]
    assert ask(corpus).notes == []
    second = ask(corpus, "doves again")
    assert [(note.code, "no room on the disk" in note.cause) for note in second.notes] == [("web_not_kept", True)]
    assert len(second.lists[0].items) == 1
    third = ask(corpus_of(Failing(), raising))  # type: ignore[arg-type]
    assert [note.code for note in third.notes] == ["web_failed"] * 2 and third.lists[0].items == []


def test_a_closed_vault_fails_no_retrieval() -> None:
    vault = Vault(":memory:")
    corpus = corpus_of(vault, found_of(("https://a.example/1", "doves")))
    vault.close()
    assert len(ask(corpus).lists[0].items) == 1
    corpus.close()


class Slow(Failing):
    """A vault that takes its time."""

    def __init__(self) -> None:
        self.go_on, self.held = threading.Event(), []

    def get(self, id: str) -> None:
        self.go_on.wait(30)

    def add_many(self, items: Any) -> list[str]:
        self.held += [one.id for one in items]
        return []


def test_a_retrieval_does_not_wait_until_hits_are_kept() -> None:
    slow = Slow()
    corpus = corpus_of(slow, found_of(*[(f"https://a.example/{number}", "doves") for number in range(3)]))  # type: ignore[arg-type]
    for number in range(5):
        assert len(corpus.search(CorpusRequest(f"q{number}", 10)).lists[0].items) == 3
    assert not corpus.flush(0)
    slow.go_on.set()
    assert corpus.flush()
    # Each page once for what waited, however often it was found.
    assert sorted({*slow.held}) == sorted(slow.held[-3:]) and len(slow.held) <= 4


def test_a_federation_keeps_hits_and_a_vault_that_is_only_read_says_that_it_does_not(tmp_path: Path) -> None:
    path, web = tmp_path / "notes.db", found_of(("https://a.example/1", "doves coo"))
    with Vault(path) as own, Vault(":memory:") as other, Federation({"own": own, "other": other}) as both:
        (item,) = ask(corpus_of(both, web)).lists[0].items
        stored = both.get(item.hit.id)
        assert stored is not None and stored.source == "https://a.example/1"
        assert both.search("doves coo").ids == [item.hit.id]
    with Vault(path, read_only=True) as vault:
        corpus = corpus_of(vault, found_of(("https://b.example/2", "doves fly")))
        assert ask(corpus, "one").notes == []
        assert [note.code for note in ask(corpus, "two").notes] == ["web_not_kept"]
        assert vault.entries({"source": "https://b.example/2"}).entries == ()


def test_a_wave_of_a_retrieval_asks_the_web_beside_the_vault(vault: Vault) -> None:
    vault.add(id="note", title="doves coo in the morning")
    go_on = threading.Event()

    def hung(query: str, limit: int) -> list[Any]:
        go_on.wait(60)
        return []

    asked = CorpusRequest("doves coo", 5)
    for web, found in ((found_of(("https://a.example/1", "doves")), True), (hung, False)):
        corpora = [corpus_of(None, web), MemoryCorpus(vault)]
        wave = wave_of(corpora, asked._replace(deadline=deadline_of(30.0 if found else 1.0)), CorpusThreads())
        by_name = {one.corpus: one.answered for one in wave.answers}
        memory, of_web = by_name["memory"], by_name["web_research"]
        assert memory is not None and any(item.hit.id == "note" for one in memory.lists for item in one.items)
        assert of_web is None or bool(of_web.lists[0].items) is found
        assert found or ({note.code for note in wave.notes} <= {"web_failed", "deadline"} and wave.notes)
    go_on.set()
