"""Tests of `golden/test_web.py` that start servers."""

from __future__ import annotations

import pytest

from embedding_server import Reply
from golden.differences import differs
from septet.retrieval.corpora.web import WebCorpus, WebOptions
from septet.retrieval.corpora.web.calls import WebFault
from septet.retrieval.corpora.web.pages import PageReader, PageRules
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.planning.policy import Policy
from web_server import WebServer, urls_of


@differs("robots-are-kept-to", "text-is-asked-of-pages", "abstracts-are-results")
def test_what_is_read_of_the_web_is_asked_for_and_text() -> None:
    policy = Policy(web_enabled=True)
    assert policy.scraper_robots_txt_respect
    abstract = {"AbstractURL": "https://d.example/dove", "AbstractText": "A bird.", "Heading": "Dove"}
    grouped = [{"Name": "See also", "Topics": [{"FirstURL": "https://d.example/1", "Text": "Rock dove"}]}]
    links = b"<a href='/a/very/long/address'>x</a>" * 20
    with WebServer() as server:
        server.topics = {**abstract, "RelatedTopics": grouped}
        server.pages = {"/links": Reply(200, links, {"content-type": "text/html"})}
        options = WebOptions(duckduckgo_url=f"{server.url}/ddg")
        corpus = WebCorpus(policy, options=options)
        reader = PageReader(PageRules(timeout_s=20, robots=False, allow_private=True))
        try:
            assert urls_of(corpus.search(CorpusRequest("dove", 5)).lists) == [
                "https://d.example/dove",
                "https://d.example/1",
            ]
            with pytest.raises(WebFault, match="is text"):
                reader.read(f"{server.url}/links", 20.0)
        finally:
            corpus.close()
            reader.close()
