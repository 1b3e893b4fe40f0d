"""Tests of `unit/test_web_texts.py` that take seconds."""

from __future__ import annotations

import pytest

from septet.retrieval.corpora.web.html_text import text_of_html
from unit.test_web_texts import HARD


@pytest.mark.parametrize("piece", HARD)
def test_pages_made_to_be_slow_end(piece: str) -> None:
    for text in (piece * 40_000, "<script>" + piece * 40_000, "<title>" + piece * 40_000):
        page = text_of_html(text, 1_000)
        assert len(page.text) <= 1_000 and len(page.title) <= 500
