"""Texts with NUL, the characters that stand for it and backslashes are found in JSON as any other text is."""

from hypothesis import given
from hypothesis import strategies as st

from septet import Vault

PIECES = [*'\0\1\2\3\\"u01aÄß', "\\u0000", "\\u0001"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
#: SQLite has no way to write a quotation mark in a path.
NAMES = TEXTS.filter(lambda text: text and '"' not in text)


@given(texts=st.lists(TEXTS, min_size=1, max_size=5, unique=True), part=TEXTS, name=NAMES)
def test_no_text_in_attrs_is_mistaken_for_another(texts, part, name):
    with Vault(":memory:") as vault:
        vault.add_many({"id": text_id(i), "title": "t", "attrs": {name: t, "x": [t]}} for i, t in enumerate(texts))

        def check(where, wanted):
            assert sorted(entry.id for entry in vault.entries(where=where)) == wanted
            assert vault.delete(where=where, dry_run=True) == len(wanted)

        for asked in (*texts, part):
            for field in (f"attrs.{name}", "attrs.x"):
                check({field: asked}, [text_id(i) for i, text in enumerate(texts) if text == asked])
                holding = [text_id(i) for i, text in enumerate(texts) if asked.casefold() in text.casefold()]
                check({field: {"$contains": asked}}, holding)


def text_id(number):
    return f"e{number}"
