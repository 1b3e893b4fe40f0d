"""Facts that change: what a new memory is to the stored ones, and what takes the place of another."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from septet import AsyncVault, EntryError, Federation, ReadOnly, Vault
from septet.types import Suggestion


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(clock):
    with Vault(":memory:", clock=clock) as made:
        yield made


def titles(results):
    return [hit.title for hit in results]


@pytest.mark.parametrize(
    ("known", "text", "verdict"),
    [
        ("The API listens on port 8080", "The API now listens on port 9090", "changes"),
        ("The API listens on port 8080", "Port 8080 is where the API listens", "same"),
        ("The API listens on port 8080", "The API does not listen on port 8080", "contradicts"),
        ("The API listens on port 8080", "The API has 4 workers", "new"),
        ("Bob owns the billing service", "Carol took over the billing service from Bob", "changes"),
        ("Ann is on leave until October 1", "The printer is out of toner", "new"),
        ("Use tabs in Rust", "Use tabs in Go", "new"),
        ("The owner is Will", "The owner is May", "new"),
        ("Ann eats meat", "Bob does not eat meat", "new"),
        ("The red team meets on Friday", "The blue team meets on Friday", "new"),
        ("Bob owns the billing service", "Bob owns the search service", "new"),
        ("The feature flag is on", "The feature flag is off", "contradicts"),
    ],
)
def test_a_suggestion_names_the_relation_and_stores_nothing(vault, known, text, verdict):
    other = vault.remember(known)
    generation = vault.search("api").tiers[0].generation
    suggestion = vault.remember(text, on_similar="suggest")
    assert isinstance(suggestion, Suggestion)
    assert (suggestion.verdict, suggestion.other) == (verdict, None if verdict == "new" else other)
    assert 0 < suggestion.probability <= 1 and suggestion.reason
    assert [entry.id for entry in vault] == [other]
    assert vault.search("api").tiers[0].generation == generation
    assert vault.remember(text) == suggestion.id


def test_the_first_entry_is_new_and_a_repeated_one_the_same(vault):
    first = vault.remember("Bob owns billing", on_similar="suggest")
    assert first == Suggestion("new", first.id, None, 1.0, "no entry is about the same")
    id = vault.remember("Bob owns billing", topics=["bob"])
    again = vault.remember("Bob owns billing", topics=["other"], on_similar="suggest")
    assert (again.verdict, again.id, again.other, again.probability) == ("same", id, id, 1.0)
    assert vault.get(id).tags == ("bob",), "a suggestion changes no field"


def test_of_many_entries_the_one_that_differs_in_its_value_is_named(vault):
    for number in range(40):
        vault.remember(f"Service number{number} listens on port {8000 + number}")
    other = vault.remember("The billing gateway listens on port 7443")
    vault.add(id="page", title="The billing gateway listens on port 7443")
    suggestion = vault.remember("The billing gateway now listens on port 9999", on_similar="suggest")
    assert (suggestion.verdict, suggestion.other, suggestion.reason) == ("changes", other, "7443 → 9999")


def test_a_change_supersedes_and_the_past_stays(vault, clock):
    old = vault.remember("The API listens on port 8080")
    clock.now = 2_000.0
    new = vault.remember("The API now listens on port 9090", on_similar="supersede")
    assert new != old
    clock.now = 3_000.0
    assert titles(vault.recall("API port")) == ["The API now listens on port 9090"]
    assert titles(vault.recall("API port", as_of=1_500)) == ["The API listens on port 8080"]
    assert (vault.get(old).valid_until, vault.get(new).valid_from) == (2_000, 2_000)
    assert [tuple(link) for link in vault.links(new)] == [(new, old, "supersedes", "8080 → 9090")]
    assert [version.call for version in vault.history(old)] == ["supersede"]
    assert vault.reinstate(old)
    assert set(vault.recall("API port").ids) == {old, new}


def test_facts_may_change_again_and_back(vault, clock):
    ids = []
    for port in (8080, 9090, 8080, 7070):
        clock.now += 1_000
        ids.append(
            vault.remember(f"The API now listens on port {port} as of day {clock.now:.0f}", on_similar="supersede")
        )
    assert len(set(ids)) == 4
    clock.now += 1_000
    assert vault.recall("API port").ids == [ids[-1]]
    for number, id in enumerate(ids):
        assert vault.recall("API port", as_of=2_500 + 1_000 * number).ids == [id]


def test_a_fact_that_holds_again_is_stored_again_and_both_times_stay(vault, clock):
    texts = ["The API listens on port 8080", "The API now listens on port 9090", "The API listens on port 8080"]
    ids = []
    for text in texts:
        clock.now += 1_000
        ids.append(vault.remember(text, on_similar="supersede"))
    assert len({*ids}) == 3
    clock.now += 1_000
    assert vault.remember(texts[0], on_similar="supersede") == ids[2]
    assert vault.remember(texts[0], on_similar="suggest").verdict == "same"
    assert vault.recall("API port").ids == [ids[2]]
    assert [vault.recall("API port", as_of=2_500 + 1_000 * number).ids for number in range(3)] == [[id] for id in ids]


def test_facts_of_another_domain_are_another_scope(vault, clock):
    old = vault.remember("The API listens on port 8080", domain="ours")
    clock.now += 1
    for number in range(30):
        vault.remember(f"The API listens on port {number}", domain=f"of {number}")
    for text in ("The API now listens on port 9090", "Port 8080 is where the API listens"):
        assert vault.remember(text, domain=f"of {text}", on_similar="suggest").verdict == "new"
        vault.remember(text, domain=f"of {text}", on_similar="supersede")
        assert vault.recall("API 8080 9090", domain="ours").ids == [old]
    clock.now += 1
    assert vault.remember("The API now listens on port 7070", domain="ours", on_similar="suggest").other == old


def test_a_fact_is_found_behind_many_like_it_of_other_kinds_and_domains(vault):
    port = "The API listens on port 8080"
    vault.add_many({"title": f"{port} {number}", "kind": "memory"} for number in range(60))
    vault.add_many({"title": f"{port} {number}"} for number in range(60))
    old = vault.remember(f"As far as we know in this quarter of the year: {port}", domain="ours")
    suggestion = vault.remember("The API now listens on port 9090", domain="ours", on_similar="suggest")
    assert (suggestion.verdict, suggestion.other) == ("changes", old)


def test_a_successor_takes_over_pin_and_names_but_no_other_tag(vault, clock):
    vault.remember("The release branch is main", topics=["always", "alias:release", "git"])
    clock.now += 1
    topics = ["branches", "git"]
    new = vault.remember("The release branch is now trunk", topics=topics, on_similar="supersede")
    assert vault.context("").ids == [new]
    assert vault.get(new).tags == ("branches", "git", "always", "alias:release")


def test_long_texts_that_differ_behind_what_is_read_are_not_the_same(vault):
    text = " ".join(f"Fact {number} is about thing {number}." for number in range(500))
    vault.remember(f"{text} The port is 8080.")
    other = vault.remember(f"{text} The port is 9090.", on_similar="supersede")
    assert vault.get(other) is not None and vault.count({"kind": "memory"}) == 2
    assert vault.remember(f"{text}  the port is 9090.", on_similar="suggest").verdict == "same"


def test_a_writer_that_comes_late_supersedes_what_the_other_one_stored(vault, clock, monkeypatch):
    first = vault.remember("The API listens on port 8080")
    clock.now += 1
    compared, others = vault._suggested, ["The API now listens on port 7070"]

    def compare_before_another_write(batch):
        suggestion = compared(batch)
        if others:
            vault.remember(others.pop(), on_similar="supersede")
        return suggestion

    monkeypatch.setattr(vault, "_suggested", compare_before_another_write)
    last = vault.remember("The API now listens on port 9090", on_similar="supersede")
    assert vault.recall("API port").ids == [last]
    assert vault.recall("API port", include_expired=True).total == 3 and vault.get(first).valid_until is not None


def test_of_writers_at_once_none_supersedes_what_is_superseded(vault):
    old = vault.remember("The API listens on port 8080")
    texts = [f"The API now listens on port {port}" for port in range(9000, 9012)]
    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(lambda text: vault.remember(text, on_similar="supersede"), texts))
    assert len({*ids}) == len(texts) and len(vault) == len(texts) + 1
    targets = [link.target for id in ids for link in vault.links(id) if link.source == id]
    assert old in targets and len(targets) == len({*targets})


def test_an_entry_is_found_by_its_vector_where_many_share_the_words(vault):
    for number in range(50):
        vault.add(title=f"The billing owner has note {number}", vector=[0, 1, 0])
    other = vault.add(
        title="Bob is responsible for the billing service and for nothing that is older", vector=[1, 0, 0]
    )
    suggestion = vault.add(
        title="Carol now owns the billing service and nothing that is older", vector=[1, 0.1, 0], on_similar="suggest"
    )
    assert (suggestion.verdict, suggestion.other) == ("changes", other)


def test_the_same_fact_is_kept_once(vault):
    known = vault.remember("Uploads are limited to 25 MB")
    assert vault.remember("The maximum upload size is 25 MB", on_similar="supersede") == known
    assert len(vault) == 1
    assert vault.remember("The maximum download size is 2 GB", on_similar="supersede") != known
    assert len(vault) == 2


@pytest.mark.parametrize(("trust", "replaces"), [("untrusted", False), ("unverified", True), ("trusted", True)])
def test_an_entry_supersedes_none_that_is_trusted_more(vault, trust, replaces):
    old = vault.remember("The API listens on port 8080", trust="unverified")
    new = vault.remember("The API now listens on port 9090", trust=trust, on_similar="supersede")
    assert (vault.get(old).valid_until is not None) == replaces
    assert bool(vault.links(new)) == replaces


def test_an_older_statement_changes_none_that_is_newer(vault):
    vault.remember("The API listens on port 9090", created_at=900)
    suggestion = vault.remember("The API now listens on port 8080", created_at=800, on_similar="suggest")
    assert (suggestion.verdict, suggestion.other) == ("new", None)
    assert suggestion.probability > 0.8 and "older" in suggestion.reason


def test_memories_with_other_topics_have_other_subjects(vault):
    ann = vault.remember("prefers tea", topics=["ann"])
    assert vault.remember("prefers tea", "in the morning", topics=["bob"], on_similar="suggest").other is None
    assert vault.remember("now prefers coffee", topics=["ann"], on_similar="suggest").other == ann


def test_an_id_that_exists_is_overwritten(vault):
    vault.remember("The API listens on port 8080", id="port")
    suggestion = vault.remember("The API now listens on port 9090", id="port", on_similar="suggest")
    assert (suggestion.verdict, suggestion.id, suggestion.other) == ("changes", "port", "port")
    assert vault.remember("The API now listens on port 9090", id="port", on_similar="supersede") == "port"
    assert vault.get("port").valid_until is None
    assert [version.entry.title for version in vault.history("port")] == ["The API listens on port 8080"]


def test_entries_of_other_kinds_and_split_ones_are_not_compared(vault):
    vault.add(id="page", title="The API listens on port 8080")
    assert vault.remember("The API now listens on port 9090", on_similar="suggest").verdict == "new"
    assert vault.add(title="The API now listens on port 9090", on_similar="suggest").other == "page"
    text = "\n\n".join(f"Paragraph {n} about ducks." for n in range(9))
    assert vault.add(title="API", description=text, split=10, on_similar="suggest").verdict == "new"
    assert vault.add(title="The API is off", valid_until=10, on_similar="suggest").verdict == "new"


def test_a_statement_in_the_description_is_compared(vault):
    other = vault.add(title="Ports", description="The API listens on port 8080")
    assert vault.add(title="The API now listens on port 9090", on_similar="suggest").other == other
    assert vault.add(title="Ports", description="The API now listens on port 9090", on_similar="suggest").other == other


def test_many_entries_supersede_one_after_another_but_have_no_suggestions(vault, clock):
    ids = vault.add_many(
        [{"title": f"The API now listens on port {port}", "kind": "memory"} for port in (8080, 9090, 9090)],
        on_similar="supersede",
    )
    assert ids[1] == ids[2] != ids[0]
    clock.now += 1
    assert vault.recall("API").ids == [ids[1]]
    with pytest.raises(EntryError, match="on_similar"):
        vault.add_many([{"title": "ducks"}], on_similar="suggest")


def test_a_vault_opened_for_reading_suggests_but_supersedes_nothing(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.remember("The API listens on port 8080")
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        assert vault.remember("The API now listens on port 9090", on_similar="suggest").verdict == "changes"
        with pytest.raises(ReadOnly):
            vault.remember("The API now listens on port 9090", on_similar="supersede")


def test_every_face_of_a_vault_suggests(tmp_path):
    vault = Vault(tmp_path / "v.db")
    other = vault.remember("The API listens on port 8080")
    with Federation({"agent": vault}) as memory:
        assert memory.remember("The API now listens on port 9090", on_similar="suggest").other == other
    vault.close()

    async def ask():
        async with AsyncVault(tmp_path / "v.db") as memory:
            suggestion = await memory.remember("The API now listens on port 9090", on_similar="suggest")
            assert suggestion.other == other
            assert await memory.remember("The API now listens on port 9090", on_similar="supersede") == suggestion.id

    asyncio.run(ask())


@pytest.mark.parametrize(
    "text", ["?", "\x01 \x02", "'" * 500, "no longer from to " * 40, "1:1:1 " * 99, "東京 は 大きい"]
)
def test_hostile_texts_are_stored_or_kept(vault, text):
    vault.remember("The API listens on port 8080")
    assert vault.remember(text, on_similar="suggest").verdict == "new"
    assert vault.remember(text, on_similar="supersede") in [entry.id for entry in vault]
