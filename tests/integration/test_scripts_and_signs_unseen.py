"""One syllable or kana inside a word, and characters that nobody sees, before and after the index is in memory."""

import pytest

from septet import Vault

UNSEEN = ["\u00ad", "\u200d", "\u200e", "\u200f", "\u2060", "\ufeff", "\u202a", "\u2066", "\ufe0f"]


@pytest.fixture(params=[True, False], ids=["memory", "fts5"])
def of(request, monkeypatch):
    """Return a vault that holds a text, which is searched in memory or by FTS5."""
    if not request.param:
        monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    opened = []

    def make(text):
        opened.append(Vault(":memory:"))
        opened[-1].add(title="a title", description=text)
        return opened[-1]

    yield make
    for vault in opened:
        vault.close()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("집", "어제 집에 갔다"),
        ("물", "물을 마셨다"),
        ("책", "책이 많다"),
        ("차", "자동차를 샀다"),
        ("회의", "회의를 했다"),
        ("猫", "猫が寝る"),
        ("カ", "カメラ"),
        ("ラ", "カメラ"),
        ("と", "ひとつ"),
        ("ｶ", "カメラ"),
    ],
)
def test_one_character_inside_a_word_is_found(of, query, text):
    assert of(text).search(query)
    assert not of("something else, 다른 것, ほか").search(query)


@pytest.mark.parametrize("char", UNSEEN, ids=[f"U+{ord(char):04X}" for char in UNSEEN])
@pytest.mark.parametrize("word", ["database", "getUserName", "Straße", "база"])
def test_a_character_that_nobody_sees_parts_no_word(of, char, word):
    with_it = f"{char}{word[:3]}{char}{word[3:]}{char}"
    vault = of(f"the {with_it} is down")
    assert vault.search(word) and vault.search(with_it)
    (entry,) = vault.entries()
    assert with_it in entry.description
    assert of(f"the {word} is down").search(with_it)


def test_a_zero_width_space_parts_words(of):
    assert of("ตลาด\u200bน้ำ and data\u200bbase").search("data")
