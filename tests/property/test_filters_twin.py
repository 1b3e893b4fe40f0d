"""A filter as SQL lets through exactly what a slow reading of it in Python lets through."""

from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Vault
from twins.filters import DRAWN, FILTERS, slowly


@given(DRAWN, FILTERS)
def test_sql_and_a_slow_reading_in_python_agree(entries, where):
    with Vault(":memory:", clock=lambda: 10.0) as made:
        made.add_many([{"id": str(i), "title": "word", "created_at": 0, **e} for i, e in enumerate(entries)])
        wanted = [str(i) for i, e in enumerate(entries) if slowly(e, where)]
        assert sorted(made.search("word", where=where, limit=50).ids) == wanted


ODD_TAGS = st.text(st.sampled_from('ab"\\,[]/ é\u2028😀%_'), min_size=1, max_size=4).filter(str.strip)


@heavy()
@given(held=st.lists(st.lists(ODD_TAGS, max_size=3), min_size=1, max_size=6), asked=st.lists(ODD_TAGS, max_size=10))
def test_tags_are_compared_whole_whatever_they_are_made_of(held, asked):
    with Vault(":memory:") as vault:
        # Plain dicts and tuples go through different checks on their way in.
        items = [{"id": str(i), "title": "word", "tags": tuple(t) if i % 2 else t} for i, t in enumerate(held)]
        vault.add_many(items)
        for tag in {*asked, *(t for own in held for t in own)}:
            wanted = {str(i) for i, own in enumerate(held) if tag in own}
            assert set(vault.search("word", where={"tags": tag}, limit=100, min_score=0).ids) == wanted
            assert vault.delete(where={"tags": tag}, dry_run=True) == len(wanted)
            assert vault.delete(where={"tags": {"$ne": tag}}, dry_run=True) == len(held) - len(wanted)
        some = {str(i) for i, own in enumerate(held) if set(own) & set(asked)}
        assert vault.delete(where={"tags": {"$in": asked}}, dry_run=True) == len(some)
        assert vault.delete(where={"tags": {"$nin": asked}}, dry_run=True) == len(held) - len(some)
