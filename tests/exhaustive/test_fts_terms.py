"""Tests of `property/test_fts_terms.py` that take seconds."""

import random

from property.test_fts_terms import assert_same_terms


def test_terms_of_every_code_point():
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert_same_terms([" ".join(f"{chr(c)} 1{chr(c)}2" for c in codes[i : i + 64]) for i in range(0, len(codes), 64)])


def test_stems_of_made_up_words():
    rng = random.Random(2)
    endings = (
        "s ed ing eed ies sses ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism "
        "iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible "
        "ant ement ment ent sion tion ion ou ism ate iti ous ive ize e ll y at bl iz"
    ).split()
    words = []
    for _ in range(60_000):
        stem = "".join(rng.choice("aeiouybcdlszntrxw") for _ in range(rng.randrange(7)))
        words.append(stem + rng.choice(endings) + rng.choice(["", "", "s", "ed", "ing", "ly", "e", "ment"]))
    assert_same_terms(words)
