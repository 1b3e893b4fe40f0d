"""Settings of a recall: where they come from, how names may be written, and what errors say."""

import json

import pytest

from septet.errors import ProfileError
from septet.retrieval.recall.settings import RecallSettings, SourceSettings, settings_of


def test_names_may_be_written_either_way():
    camel = settings_of({"recallLimit": 5, "ftsWeights": {"title": 1}, "recall": {"charBudget": 3000}})
    snake = settings_of({"recall_limit": 5, "fts_weights": {"title": 1}, "recall": {"char_budget": 3000}})
    assert camel == snake == RecallSettings(recallLimit=5, ftsWeights={"title": 1}, recall={"charBudget": 3000})


def test_what_is_left_out_has_its_default_at_every_level():
    settings = settings_of({"search": {"ftsWeights": {"content": 0}, "recall": None}})
    weights = settings.fts_weights
    assert (weights.title, weights.content, weights.category) == (6, 0, 3)
    assert settings.recall == RecallSettings().recall
    assert settings_of({"search": None}) == settings_of({}) == settings_of(None) == RecallSettings()
    assert settings_of(settings) is settings


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_file_may_hold_the_block_beside_others(tmp_path, suffix):
    file = tmp_path / f"septet{suffix}"
    text = {
        ".toml": '[embedding]\nprovider = "none"\n[search]\nrecallLimit = 7\n',
        ".json": json.dumps({"embedding": {"provider": "none"}, "search": {"recallLimit": 7}}),
    }
    file.write_text(text[suffix])
    assert settings_of(file).limit == settings_of(str(file)).limit == 7
    file.write_text({".toml": "recallLimit = 8\n", ".json": '{"recallLimit": 8}'}[suffix])
    assert settings_of(file).limit == 8
    file.write_text({".toml": '[embedding]\nprovider = "none"\n', ".json": '{"embedding": {}}'}[suffix])
    assert settings_of(file) == RecallSettings()


def test_sources_are_named_in_their_order():
    settings = settings_of(
        {
            "sources": [
                {"name": "notes", "kinds": "chunk", "limit": 3},
                {"name": "team", "vault": "team", "where": {"tags": "core"}, "weight": 0.5, "role": "other"},
            ]
        }
    )
    assert [source.name for source in settings.sources] == ["notes", "team"]
    assert settings.sources[0] == SourceSettings(name="notes", kinds=("chunk",), limit=3)
    assert settings.sources[1].where == {"tags": "core"}


def test_a_fraction_of_a_limit_counts_by_its_whole_part():
    assert [settings_of({"recallLimit": n}).limit for n in (1, 1.9, 10.5, 50)] == [1, 1, 10, 50]


def test_everything_that_is_wrong_is_named_at_once():
    with pytest.raises(ProfileError) as caught:
        settings_of({"recallLimit": 0, "recalLimit": 1, "recall": {"maxResults": True}, "lists": {"exact": -1}})
    said = str(caught.value)
    assert "search.recallLimit is invalid: Input should be greater than or equal to 1" in said
    assert "search.recalLimit does not exist: did you mean recallLimit?" in said
    assert "search.recall.maxResults is invalid" in said
    assert "search.lists.exact is invalid" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "the settings are 3"),
        ({"search": [1]}, r"search is \[1\]"),
        ({1: 2}, "a key of type int"),
        ({"recallLimit": float("nan")}, "search.recallLimit is invalid"),
        ({"sources": 3}, "Input should be a list"),
        ({"sources": [{"kind": "chunk"}]}, r"search.sources.0.kind does not exist: did you mean kinds\?"),
        ({"ftsWeights": {"titles": 1}}, r"search.ftsWeights.titles does not exist: did you mean title\?"),
        ({"fts_weights": {"titles": 1}}, r"search.fts_weights.titles does not exist: did you mean title\?"),
        ({"sources": [{"name": "a"}, {"name": "a"}]}, "sources has the name 'a' twice"),
        ({"sources": [{"name": "a\0b"}]}, "wanted printable characters"),
        ({"sources": [{"name": "a", "where": {"x": object()}}]}, "object is no text, number, list or dict"),
        ({"embeddings": {"apiKey": "sk-secret"}}, "search.embeddings.apiKey does not exist"),
    ],
)
def test_what_is_wrong_is_said_without_its_value(given, said):
    with pytest.raises(ProfileError, match=said) as caught:
        settings_of(given)
    assert "secret" not in str(caught.value)


def test_an_unreadable_file_is_named(tmp_path):
    file = tmp_path / "septet.yml"
    with pytest.raises(ProfileError, match="cannot be read"):
        settings_of(tmp_path / "none.toml")
    with pytest.raises(ProfileError, match="must end in"):
        settings_of(tmp_path / "settings.ini")
    file.write_text("- 1\n")
    with pytest.raises(ProfileError, match="must contain a mapping"):
        settings_of(file)


def test_weights_of_words_become_those_of_a_profile():
    settings = settings_of({"ftsWeights": {"title": 9, "category": 0}})
    columns = settings.profile().text.weights
    assert (columns.title, columns.description, columns.context, columns.tags) == (9, 2, 2, 0)
    alike = settings.profile("session").text.weights
    assert (alike.title, alike.description, alike.context, alike.tags) == (1, 1, 1, 1)
    assert settings.profile(base="seven-signals").name == "seven-signals"
