"""Index terms against those of FTS5 itself."""

import os
import random
import re
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core

TOKENIZER = "porter unicode61 remove_diacritics 2"

SAMPLES = {
    "Latin": "Crème brûlée, naïve Ångström; Größe & Straße. Łódź Đà Nẵng İstanbul ŒUVRE ﬁn",
    "Greek": "Ἐν ἀρχῇ ἦν ὁ Λόγος, ΚΑΛΗΜΈΡΑ ς σ ΐ",
    "Cyrillic": "Съешь ещё этих мягких булок, ЙОЖ Ґанок Ђак ӂ",
    "Armenian": "Բարեւ Ձեզ, և մնաք բարով",
    "Georgian": "გამარჯობა მსოფლიო ᲒᲐᲛᲐᲠᲯᲝᲑᲐ",
    "Hebrew": "שָׁלוֹם עולם, ״מה״ נשמע",
    "Arabic": "السَّلامُ عَلَيْكُم ـ كتاب ١٢٣ ﻻ",
    "Devanagari": "नमस्ते दुनिया, हिन्दी क़लम १२३",
    "Bengali": "নমস্কার পৃথিবী ড়",
    "Tamil": "வணக்கம் உலகம் கொ",
    "Thai": "สวัสดีชาวโลก น้ำ ๑๒๓",
    "Lao": "ສະບາຍດີ ຊາວໂລກ",
    "Tibetan": "བཀྲ་ཤིས་བདེ་ལེགས།",
    "Khmer": "សួស្តី​ពិភពលោក",
    "Ethiopic": "ሰላም ልዑል፣ ዓለም፡",
    "Cherokee": "ᎣᏏᏲ ꭳꮟᏺ",
    "Han": "東京都の認証トークン、更新する。㐀𠀀豈",
    "Kana": "ガギグ ｶﾞｷﾞ ぱ は゜ ヷ",
    "Hangul": "안녕하세요 세계 한글 ㈀",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ",
    "Adlam": "𞤀𞤣𞤤𞤢𞤥 𞤆𞤵𞤤𞤢𞤪",
    "Deseret": "𐐔𐐯𐑅𐐨𐑉𐐯𐐻",
    "Symbols": "x² ½ ⅷ Ⓐ ① ℌ ﬀ 👍🏽 e\u0301 \u0301a a\u0327\u0301b \u20dd \ue000 \U000f0000 \U0010ffff \u0378 a\0b",
}


def fts5_terms(texts):
    """FTS5's index terms of each text, in order."""
    sql = sqlite3.connect(":memory:")
    sql.execute(f"CREATE VIRTUAL TABLE t USING fts5(x, tokenize = '{TOKENIZER}')")
    sql.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    sql.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
    found = [[] for _ in texts]
    for term, row in sql.execute("SELECT CAST(term AS BLOB), doc FROM v ORDER BY doc, offset"):
        found[row].append(term)
    sql.close()
    return found


def assert_same_terms(texts):
    for text, terms in zip(texts, fts5_terms(texts)):
        assert _core.index_terms(text) == terms, text


def random_text(rng, codes, length):
    return "".join(chr(rng.choice(codes)) for _ in range(length))


@pytest.mark.parametrize("script", SAMPLES)
def test_terms_of_a_script(script):
    text = SAMPLES[script]
    assert_same_terms([text, text.upper(), text.lower(), *text.split(), *(a + b for a, b in pairwise(text))])


def test_terms_of_random_unicode():
    rng = random.Random(1)
    everything = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    blocks = [range(0x20, 0x250), range(0x250, 0x600), range(0x900, 0x1000), range(0x1D00, 0x2200), everything]
    assert_same_terms([random_text(rng, rng.choice(blocks), rng.randrange(60)) for _ in range(20_000)])


def test_stems_of_english_words():
    library = Path(os.__file__).parent
    sources = [library / "pydoc_data" / "topics.py", *sorted(library.glob("*.py"))]
    words = {word for path in sources for word in re.findall("[A-Za-z]+", path.read_text(encoding="utf-8"))}
    assert len(words) > 10_000
    assert_same_terms(sorted(words))


def test_stems_that_end_inside_a_letter():
    assert _core.index_terms("aッed") == [b"a\xe3\x83"]
    rng = random.Random(3)
    assert_same_terms(
        ["".join(rng.choice("aeッーyßéding") for _ in range(rng.randrange(30))) + "ed" for _ in range(5_000)]
    )


def test_long_tokens_are_cut_where_fts5_cuts_them():
    assert_same_terms(
        [letter * count + "ing" for letter in "aß漢" for count in (1, 21, 30, 31, 61, 62, 32_767, 33_000)]
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_terms_of_any_text(text):
    assert_same_terms([text])
