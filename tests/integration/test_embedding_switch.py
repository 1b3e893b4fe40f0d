"""Another model: the old space answers until the new one is complete; then it is used, and the old one goes."""

import pytest

from doubles import Letters, down, refused
from septet import EmbeddingOptions, Vault
from septet.sqlite.tables import texts

BY_HAND = EmbeddingOptions(automatic=False)


@pytest.fixture
def path(tmp_path):
    """A vault of 250 entries with the vectors of the model `old`."""
    with opened(tmp_path / "v.db", Letters("old")) as vault:
        vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(250))
        vault.embed()
    return tmp_path / "v.db"


def opened(path, embedder, **options):
    return Vault(path, embedder=embedder, embedding_options=BY_HAND, **options)


def shown(vault):
    return [(s.model, s.entries, s.missing, s.active) for s in vault.embedding_status().spaces]


def codes(results):
    return [n.code for n in results.notes]


def test_the_old_space_answers_until_the_new_one_is_complete(path):
    new, old = Letters("new", 16), Letters("old")
    new.script.extend([None, refused(402, "no quota")])
    with opened(path, new, previous_embedder=old) as vault:
        report = vault.embed()
        assert (report.embedded, report.missing) == (100, 150)
        assert shown(vault) == [("test/old", 250, 0, True), ("test/new", 100, 150, False)]
        found = vault.search("title 7", legs="vector", limit=3)
        assert len(found) == 3 and not found.degraded
        assert (len(old.sent("query")), len(new.sent("query"))) == (1, 0)
        vault.embed()
        assert shown(vault) == [("test/new", 250, 0, True)]
        assert not vault.search("title 8", legs="vector", limit=3).degraded
        assert (len(old.sent("query")), len(new.sent("query"))) == (1, 1)
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (250,)
    assert len(new.sent()) == 350 and len(set(new.sent())) == 250


def test_without_the_old_embedder_full_text_answers_until_half_is_there(path):
    new = Letters("new")
    with opened(path, new) as vault:
        found = vault.search("title 7")
        assert found and codes(found) == ["other_model"] and found.weights["vector"] == 0
        assert "test/old" in found.notes[0].cause and found.degraded
        new.script.extend([None, refused(402)])
        vault.embed()
        found = vault.search("title 7")
        assert codes(found) == ["space_incomplete"] and found.weights["vector"] == 0
        assert "100 of 250" in found.notes[0].cause and new.sent("query") == []
        new.script.extend([None, refused(402)])
        vault.embed()
        found = vault.search("title 7")
        assert codes(found) == ["space_incomplete", "vectors_incomplete"] and found.weights["vector"] > 0
        vault.embed()
        assert codes(vault.search("title 7")) == []


def test_another_process_of_the_old_model_goes_on_until_the_switch_and_says_so_after_it(path):
    with opened(path, Letters("old")) as old, opened(path, Letters("new")) as new:
        assert old.search("title 7").weights["vector"] > 0
        new.embed()
        found = old.search("title 7")
        assert codes(found) == ["other_model"] and found.weights["vector"] == 0 and "e7" in found.ids
        assert codes(new.search("title 7")) == []


def test_a_profile_that_keeps_one_vector_per_model_keeps_the_old_space(path):
    with opened(path, Letters("new"), profile="six-signals") as vault:
        vault.embed()
        assert shown(vault) == [("test/old", 250, 0, True), ("test/new", 250, 0, True)]
        assert codes(vault.search("title 7")) == []
    with opened(path, Letters("old"), profile="six-signals") as vault:
        assert vault.embed().requests == 0
        assert codes(vault.search("title 7")) == []


def test_going_back_embeds_again_and_the_vectors_are_the_right_ones(path):
    for model in ("new", "old", "new"):
        embedder = Letters(model, 16 if model == "new" else 32)
        with opened(path, embedder) as vault:
            assert vault.search("title 7", legs="vector").notes
            assert vault.embed().embedded == 250
            assert shown(vault) == [(f"test/{model}", 250, 0, True)]
            assert vault.search("title 7", legs="vector", limit=1).ids == ["e7"]


def test_the_same_model_with_another_dimension_is_another_space(path):
    with opened(path, Letters("old", 16)) as vault:
        assert [(s.dimensions, s.active) for s in vault.embedding_status().spaces] == [(32, True), (16, False)]
        assert vault.embed().embedded == 250
        assert [(s.dimensions, s.active) for s in vault.embedding_status().spaces] == [(16, True)]
        assert vault.search("title 7", legs="vector", limit=1).ids == ["e7"]


def test_texts_that_no_run_can_embed_do_not_hold_up_the_switch(path):
    with opened(path, Letters("old")) as vault:
        vault.add(id="bad", title="poison")
        vault.embed()
    new = Letters("new")

    def picky(batch):
        if any("poison" in text for text in batch):
            raise refused(400, "not understood")

    new.script.extend([picky] * 99)
    with opened(path, new) as vault:
        assert vault.embed().missing == 1
        assert shown(vault) == [("test/new", 250, 1, True)]


def test_a_switch_that_failed_on_the_way_leaves_the_old_space_in_use(path):
    new = Letters("new")
    new.script.extend([None, None, down()])
    with opened(path, new, previous_embedder=Letters("old")) as vault:
        assert vault.embed().missing == 50
        assert [s.active for s in vault.embedding_status().spaces] == [True, False]
        assert not vault.search("title 7", legs="vector").degraded


def test_a_prune_that_was_cut_short_is_finished_by_the_next_run(path):
    with opened(path, Letters("new")) as vault:
        vault.embed()
        with vault._store.writing() as write:
            space = texts.make_space(write, "test/gone", 32, 0.0)
            texts.put(write, space, ["x", "y"], Letters().embed(["x", "y"]))
            texts.move(write, space, "left")
        assert shown(vault) == [("test/new", 250, 0, True)]
        vault.embed()
        with vault._store.reading() as read:
            assert texts.left_spaces(read) == []


def test_an_answer_that_comes_in_after_the_switch_does_not_bring_the_old_space_back(path):
    old = Letters("old")

    def switched(batch):
        with opened(path, Letters("new")) as other:
            assert other.embed().missing == 0

    old.script.append(switched)
    with opened(path, old) as vault:
        vault.add(title="one more")
        report = vault.embed()
        assert [n.code for n in report.notes] == ["other_model"]
        assert shown(vault)[0] == ("test/new", 251, 0, True)
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (251,)


def test_a_vault_whose_old_vectors_are_all_gone_begins_with_the_new_model_by_itself(path):
    with Vault(path) as vault:
        vault.delete(f"e{i}" for i in range(250))
        vault.purge()
    new = Letters("new")
    with Vault(path, embedder=new) as vault:
        vault.add(title="red apples")
        assert vault.embedding_status(wait_s=60).activity == "idle" and new.sent() == ["red apples"]
        assert vault.search("apples", legs="vector").notes == ()
