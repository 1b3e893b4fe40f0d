"""No value is a part of a statement: text that looks like SQL is text, wherever it is given."""

import pytest

from septet import SeptetError, Vault

HOSTILE = [
    "'; DROP TABLE entries; --",
    '"; DELETE FROM entries; --',
    "x' OR '1'='1",
    'x" OR 1=1 --',
    "') UNION SELECT id FROM entries --",
    "%s $1 ?1 :a {0} %(a)s",
    "\\'; SELECT pg_sleep(9); --",
]


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{number}", "title": "Session cookies", "domain": "web"} for number in range(3))
        yield vault


def whole(vault, *more):
    assert sorted(vault.entries(limit=None).ids) == sorted(["e0", "e1", "e2", *more])


@pytest.mark.parametrize("text", HOSTILE)
def test_text_like_sql_is_stored_and_found_as_it_is(vault, text):
    vault.add(
        id=text,
        title=text,
        description=text,
        context=text,
        domain=text,
        type=text,
        tags=[text],
        source=text,
        attrs={text: text, "k": text},
        vector=[1.0, 0.0],
        model=text,
    )
    vault.link(text, "e0", text, note=text)
    vault.feedback(text, text, "accepted")
    entry = vault.get(text)
    assert (entry.title, entry.domain, entry.tags, entry.attrs) == (text, text, (text,), {text: text, "k": text})
    assert [tuple(link) for link in vault.links(text)] == [(text, "e0", text, text)]
    for where in ({"domain": text}, {"tags": text}, {"id": text}, {"attrs.k": text}, {"source": {"$in": [text]}}):
        assert vault.entries(where).ids == [text]
    assert vault.facets("domain")[text] == 1
    assert vault.vectors([text], model=text).tolist() == [[1.0, 0.0]]
    assert vault.delete(text) == 1
    whole(vault)


@pytest.mark.parametrize(
    "asked",
    [
        lambda vault, text: vault.search(text),
        lambda vault, text: vault.search("cookies", words={"must": text}),
        lambda vault, text: vault.search("cookies", words={"phrase": text}),
        lambda vault, text: vault.search("cookies", domain=text),
        lambda vault, text: vault.search("cookies", where={f"attrs.{text}": text}),
        lambda vault, text: vault.search("cookies", where={text: 1}),
        lambda vault, text: vault.search("cookies", query_vector=[1.0], model=text),
        lambda vault, text: vault.search("cookies", profile=text),
        lambda vault, text: vault.search("cookies", facets=text),
        lambda vault, text: vault.entries(order_by=text),
        lambda vault, text: vault.entries(after=text),
        lambda vault, text: vault.facets(f"attrs.{text}"),
        lambda vault, text: vault._ids_beginning(text),
        lambda vault, text: vault.explain(text, "e0"),
        lambda vault, text: vault.similar(text=text),
        lambda vault, text: vault.update_many({"domain": text}, type=text),
        lambda vault, text: vault.delete(where={"domain": text}),
        lambda vault, text: vault.rename("tags", {text: "new"}),
    ],
)
def test_what_is_asked_in_text_like_sql_finds_nothing_else_and_changes_nothing(vault, asked):
    before = [vault.get(f"e{number}") for number in range(3)]
    for text in HOSTILE:
        try:
            asked(vault, text)
        except SeptetError as fault:
            # Told by Septet, not by a database that tried to run it.
            assert "syntax error" not in str(fault) and fault.__cause__ is None
    whole(vault)
    assert [vault.get(f"e{number}") for number in range(3)] == before
