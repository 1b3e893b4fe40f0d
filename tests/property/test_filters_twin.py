"""A filter as SQL lets through exactly what a slow reading of it in Python lets through."""

from hypothesis import given, settings

from septet import Vault
from twins.filters import DRAWN, FILTERS, slowly

steady = settings(derandomize=True, deadline=None, max_examples=250)


@steady
@given(DRAWN, FILTERS)
def test_sql_and_a_slow_reading_in_python_agree(entries, where):
    with Vault(":memory:", clock=lambda: 10.0) as made:
        made.add_many([{"id": str(i), "title": "word", "created_at": 0, **e} for i, e in enumerate(entries)])
        wanted = [str(i) for i, e in enumerate(entries) if slowly(e, where)]
        assert sorted(made.search("word", where=where, limit=50).ids) == wanted
