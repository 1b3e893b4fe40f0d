"""The search that everybody makes first: words alone, over technical texts."""

import re

import pytest

from septet import Vault

NOW = 1.7e9


def of(*texts):
    """A vault of entries e0, e1, … of one age."""
    vault = Vault(":memory:", clock=lambda: NOW)
    vault.add_many({"id": f"e{number}", "title": text, "created_at": NOW} for number, text in enumerate(texts))
    return vault


@pytest.mark.parametrize("pages", [5, 20, 60])
def test_a_part_of_an_identifier_is_no_rarer_than_the_word(pages):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="about", title="Blueprints", description="How routes are grouped.", created_at=NOW)
        text = "The state that flask.blueprints.BlueprintSetupState keeps while it is made."
        vault.add(id="api", title="API internals", description=text, created_at=NOW)
        items = [{"title": f"Page {n}", "description": f"Number {n} has blueprints beside it."} for n in range(pages)]
        items += [{"title": f"Other {n}", "description": f"Nothing of the kind, only {n}."} for n in range(4_000)]
        vault.add_many({**item, "created_at": NOW} for item in items)
        vault.optimize()
        assert vault.search("blueprints")[0].id == "about"


SIGNS = (
    "Pointers in C code",
    "Writing destructors in C++ code here",
    "Async await in C# code here",
    "A net for fishing",
    "The runtime of .NET Core, in short",
    "Write to AT&T about this",
    "Don't do T at home",
    "Build the image with no cache at all",
    "Pass --no-cache to build anew",
    "The home directory: get a dir of your own",
    "Call get_home_dir to know it",
    "It has changed in version 2, 1 and 0",
    "It came with v2.1.0 last year",
)


@pytest.mark.parametrize(
    ("query", "first"),
    [("C++", 1), ("C#", 2), (".NET", 4), ("AT&T", 5), ("--no-cache", 8), ("get_home_dir", 10), ("v2.1.0", 12)],
)
@pytest.mark.parametrize("question", ["{}", "what is {}", "how do I use {} here"])
def test_a_name_with_signs_finds_the_text_that_holds_it_as_it_is_written(query, first, question):
    with of(*SIGNS) as vault:
        assert vault.search(question.format(query))[0].id == f"e{first}"


def test_the_words_of_a_name_find_where_nothing_holds_the_name():
    with of("The home of a user", "A dir to get", "Something else") as vault:
        assert set(vault.search("get_home_dir").ids) == {"e0", "e1"}


def test_one_name_in_three_styles_is_one_name():
    texts = ("call get_home_dir here", "call getHomeDir here", "get your dir at home here", *["nothing of it"] * 30)
    with Vault(":memory:") as vault:
        vault.add_many({"id": f"e{n}", "title": "Note", "description": text} for n, text in enumerate(texts))
        for query in ("get_home_dir", "getHomeDir"):
            assert set(vault.search(query).ids[:2]) == {"e0", "e1"}


@pytest.mark.parametrize("title", ["shutil.copytree", "is_zipfile", "Blueprints", "The rest of the story", "os.path"])
def test_an_exact_title_is_first(title):
    others = [f"{title}.chapter", f"Everything {title} offers users", f"{title} {title} {title} repeated"]
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="it", title=title, description="What it is, at some length, in other words.", created_at=NOW)
        vault.add_many({"title": other, "description": title, "created_at": NOW} for other in others)
        assert vault.search(title)[0].id == "it"


def test_a_rare_word_counts_more_than_any_number_of_ordinary_ones():
    ordinary = "error windows raise value call function returns".split()
    texts = [" ".join(ordinary[n % 7 :] + ordinary[: n % 7]) for n in range(300)]
    with of(*texts, "the sp_pwdp field", "error") as vault:
        assert vault.search("why does sp_pwdp raise an error on windows when I call a function")[0].id == "e300"


@pytest.mark.parametrize("vector", [None, [1.0, 0.0]])
def test_a_linked_neighbour_without_a_word_stands_behind_everything_that_matches(vector):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="best", title="Session cookies", created_at=NOW)
        vault.add(id="weak", title="A long note on many a thing, with cookies in it", created_at=NOW - 90 * 86_400)
        vault.add(id="linked", title="Token rotation", severity="critical", created_at=NOW)
        vault.link("best", "linked")
        if vector:
            vault.update("best", vector=[1.0, 0.0])
        assert vault.search("session cookies", query_vector=vector).ids == ["best", "weak", "linked"]


@pytest.mark.parametrize("severity", ["suggestion", "critical"])
@pytest.mark.parametrize("age_days", [0, 900])
@pytest.mark.parametrize("count", [1, 3, 300])
def test_facts_that_all_candidates_share_add_nothing_to_a_score(severity, age_days, count):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        facts = {"severity": severity, "created_at": NOW - age_days * 86_400}
        vault.add_many({"id": f"e{n}", "title": f"a note on ponds {n}", **facts} for n in range(count))
        for query in ("ponds", "who waits by the ponds on corner seven"):
            for hit in vault.search(query):
                assert (hit.breakdown["severity"], hit.breakdown["temporal_decay"]) == (0, 0)
                assert hit.score == hit.breakdown["semantic"] < 0.65


def test_facts_that_tell_candidates_apart_weigh_what_they_did():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="old", title="ponds", created_at=NOW - 365 * 86_400)
        vault.add(id="new", title="ponds", created_at=NOW)
        vault.add(id="grave", title="ponds", created_at=NOW, severity="critical")
        grave, new, old = vault.search("ponds")
        assert [grave.id, new.id, old.id] == ["grave", "new", "old"]
        assert grave.score - new.score == pytest.approx(0.10 * (1.0 - 0.4) / 0.55)
        assert new.score - old.score == pytest.approx(0.10 * 0.5 / 0.55)


def test_random_vectors_do_not_hide_what_words_find():
    texts = [f"note {n} about the weather and the wind" for n in range(300)]
    wanted = [f"kumquat marmalade, jar {n}" for n in range(12)]
    with Vault(":memory:", clock=lambda: NOW) as vault:
        items = [{"id": f"e{n}", "title": text} for n, text in enumerate([*texts, *wanted])]
        # Vectors of another model: nothing to do with the texts.
        vectors = [[((n * 7919 + d * 104729) % 997) / 997 - 0.5 for d in range(16)] for n in range(len(items))]
        vault.add_many({**item, "vector": vector, "created_at": NOW} for item, vector in zip(items, vectors))
        found = vault.search("kumquat marmalade jar", query_vector=vectors[0], limit=10)
        assert {int(hit.id[1:]) >= 300 for hit in found} == {True}


@pytest.mark.parametrize("memory", [True, False])
def test_explain_tells_words_from_parts_of_words(memory, monkeypatch):
    if not memory:
        monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    with of("BlueprintSetupState is made for a home", "blueprints of a house", "a page") as vault:
        legs = [vault.explain("blueprint setup home", f"e{n}").legs[0] for n in range(3)]
        alone = vault.explain("home", "e0").legs[0].value
    first, *others = [leg.detail for leg in legs]
    told = "matches home; in parts of words and names: blueprint, setup"
    assert others == ["matches blueprint", "holds none of blueprint, setup, home"]
    if not memory:
        assert first == told
        return
    before, share, after = re.split(r"; ([\d.]+)", first)
    assert (before, after) == (told, " of the score by parts")
    # What parts do not give is what the word gives by itself.
    assert float(share) == pytest.approx(legs[0].value - alone, abs=1e-4)
