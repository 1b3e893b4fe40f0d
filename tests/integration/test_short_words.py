"""A word of one letter or digit finds what holds it, as longer words do, in the profile that asks for it."""

import pytest

from septet import Federation, Vault


@pytest.fixture(scope="module")
def vault():
    with Vault(":memory:") as made:
        made.add_many({"id": f"ch{n}", "title": f"Chapter {n}"} for n in range(1, 10))
        made.add_many({"id": f"vitamin-{letter}", "title": f"Vitamin {letter}"} for letter in "BCDE")
        made.add(id="dont", title="Why keys don't rotate", description="They can't, without a lock")
        made.add_many({"id": f"other {n}", "title": f"Filler {n} of some words"} for n in range(200))
        yield made


@pytest.mark.parametrize("number", range(1, 10))
def test_a_digit_finds_its_chapter_and_is_sure_of_it(vault, number):
    found = vault.search(f"chapter {number}", limit=3)
    assert found[0].id == f"ch{number}"
    assert found[0].confidence > 0.9 > 0.5 > found[1].confidence


def test_a_number_that_no_chapter_has_is_no_sure_answer(vault):
    assert vault.search("chapter 999").confidence < 0.5


@pytest.mark.parametrize("query", ["vitamin C", "c vitamin", "What is vitamin c?"])
def test_a_letter_finds_its_vitamin(vault, query):
    assert vault.search(query)[0].id == "vitamin-C"


def test_what_stands_behind_an_apostrophe_is_no_word(vault):
    assert vault.explain("don't", "dont").found
    assert "t" not in vault.explain("why don't they", "vitamin-B").reason.split()


def test_a_federation_and_a_batch_rank_alike(vault):
    queries = ["chapter 7", "vitamin c"]
    assert [found[0].id for found in vault.search_many(queries)] == ["ch7", "vitamin-C"]
    with Federation({"a": vault}) as mind:
        assert [mind.search(query)[0].id for query in queries] == ["ch7", "vitamin-C"]


@pytest.mark.parametrize("profile", ["seven-signals", "six-signals", "markdown-memory"])
def test_documented_profiles_leave_it_out_beside_other_words(vault, profile):
    assert vault.search("chapter 7", profile=profile, limit=200).total == 9
    scores = {hit.id: round(hit.signals["semantic"], 9) for hit in vault.search("chapter 7", profile="seven-signals")}
    assert len({scores[f"ch{n}"] for n in range(1, 10)}) == 1


def test_a_profile_of_ones_own_says_how_short_a_word_may_be(vault):
    from septet.profiles import resolve

    longer = {**resolve("septet").to_dict(), "name": "longer"}
    longer["text"] = {**longer["text"], "least_chars": 2}
    assert vault.search("chapter 7", profile=longer).total == 9
    assert vault.search("filler 7").total > 9
