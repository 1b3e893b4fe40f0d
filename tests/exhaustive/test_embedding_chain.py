"""Tests of `integration/test_embedding_chain.py` that take seconds."""

import pytest

from chains import ALL, answering, fill, held, models, opened
from septet import EmbeddingOptions


@pytest.mark.parametrize("share", [0, 1, 50, 99, 100])
def test_when_the_first_is_back_it_embeds_what_it_missed_and_nothing_is_paid_twice(tmp_path, share):
    first, second = models()
    first.lasts = share
    options = EmbeddingOptions(automatic=False, rest_s=0, batch_texts=1)
    with opened(tmp_path / "v.db", first, second, options=options) as vault:
        fill(vault)
        vault.embed()
        assert held(vault).get("test/first", 0) == share
        first.fault, first.lasts = None, None
        assert vault.embed().missing == 0
        kept = ALL if share < ALL else 0
        assert held(vault) == {m: n for m, n in (("test/first", ALL), ("test/second", kept)) if n}
        assert answering(vault) == "test/first"
        paid = [[text for text in one.sent() if text.startswith("title")] for one in (first, second)]
        assert len(set(paid[0])) == ALL and len(paid[1]) == len(set(paid[1])) == kept
        standing = [s for s in vault.embedding_status().spaces if s.standby]
        assert [s.model for s in standing] == (["test/second"] if kept else [])
