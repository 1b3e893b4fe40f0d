"""What is beyond a limit of docs/operations.md is an error that names it, and nothing is done."""

import re
from pathlib import Path

import numpy as np
import pytest

from septet import AsyncVault, Chunking, Profile, Redactor, SeptetError, TfidfVectorizer, Vault, chunk_markdown
from septet.client import ExternalFirst
from septet.embedding import FallbackEmbedder
from septet.retrieval import CreditBudget, FunctionCorpus, Policy, RecallSettings
from septet.retrieval.corpora.folders import Folder
from septet.retrieval.expansion.expanding import Expanding

TABLE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text().partition("## Limits")[2]
ROWS = dict(re.findall(r"^\| (.*?) \| (.*) \|$", TABLE.partition("### Every bound")[0], re.MULTILINE))

#: A row of the table, what goes beyond it by one, and the number that the error names.
BEYOND = [
    ("id", "256", lambda v, d: v.add(id="x" * 257, title="t")),
    ("texts and attrs of an entry", "50,000,000", lambda v, d: v.add(title="x" * 50_000_001)),
    ("tags of an entry", "10,000", lambda v, d: v.add(title="t", tags=["t"] * 10_001)),
    ("tags of an entry", "4,096", lambda v, d: v.add(title="t", tags=["t" * 4_097])),
    ("`source` of an entry", "4,096", lambda v, d: v.add(title="t", source="s" * 4_097)),
    ("vector", "65,536", lambda v, d: v.add(title="t", vector=np.ones(65_537, np.float32))),
    ("texts of a `TfidfVectorizer`", "100", lambda v, d: TfidfVectorizer(ngram_range=(1, 101)).fit(["a b"])),
    ("ids in one call of `load` or `delete`", "2,000,000", lambda v, d: v.load(range(2_000_001))),
    ("ids in one call of `load` or `delete`", "2,000,000", lambda v, d: v.delete(range(2_000_001))),
    ("versions of an entry", "1,000,000", lambda v, d: Vault(d / "n.db", history=1_000_001)),
    ("query", "50,000,000", lambda v, d: v.search("x" * 50_000_001)),
    ("queries in one call of `search_many`", "1,000,000", lambda v, d: v.search_many(range(1_000_001))),
    (
        "`text.snippet_chars` of a profile",
        "1,000,000",
        lambda v, d: Profile(name="p", text={"snippet_chars": 1_000_001}),
    ),
    (
        "words that a cascade asks for together",
        "4,096",
        lambda v, d: Profile(name="p", text={"min_terms": 4_097}),
    ),
    (
        "`text.stop_words` as a list",
        "10,000",
        lambda v, d: Profile(name="p", text={"stop_words": [f"w{n}" for n in range(10_001)]}),
    ),
    ("`timeout_s` of a search", "86,400", lambda v, d: v.search("t", timeout_s=86_401)),
    ("`timeout_s` of a search", "0.01", lambda v, d: v.search("t", timeout_s=0.009)),
    ("results, and waiting time, of an `ExternalFirst`", "86,400", lambda v, d: ExternalFirst(print, v, timeout_s=9e4)),
    ("a function that is a corpus", "86,400", lambda v, d: FunctionCorpus("f", print, timeout_s=86_401)),
    ("files of a `Folder`", "1,000,000", lambda v, d: Folder(d, most_files=1_000_001)),
    ("credits of a `CreditBudget`", "1,000,000", lambda v, d: CreditBudget(1_000_001)),
    ("a list of words of a policy, its texts", "1,000", lambda v, d: Policy(code_words=tuple("w" * 1_001))),
    ("a list of words of a policy, its texts", "4,096", lambda v, d: Policy(code_words=("w" * 4_097,))),
    ("a retrieval", "100,000", lambda v, d: v.retriever().retrieve("x" * 100_001)),
    ("a retrieval", "1,000", lambda v, d: v.retriever().retrieve("x", limit=1_001)),
    ("a retrieval", "100", lambda v, d: v.retriever().retrieve("x", scope={f"n{n}": "x" for n in range(101)})),
    ("a retrieval", "24 hours", lambda v, d: v.retriever().retrieve("x", timeout_s=86_401)),
    ("sources of a recall", "1,000", lambda v, d: RecallSettings(mostLists=1_001)),
    ("an expander", "86,400", lambda v, d: Expanding(list, timeout_s=86_401)),
    ("an expander", "1,000,000", lambda v, d: Expanding(list, cache_size=1_000_001)),
    ("phrasings of a query", "10", lambda v, d: Expanding(list, most=11)),
    ("models in a chain", "100", lambda v, d: FallbackEmbedder([print] * 101)),
    ("similar entries in one call of `similar`", "1,000,000", lambda v, d: v.similar("a", limit=1_000_001)),
    (
        "`max_workers` of `AsyncVault` and `AsyncFederation`",
        "256",
        lambda v, d: AsyncVault.of(lambda: Vault(d / "n.db"), max_workers=257),
    ),
    ("`where`", "32", lambda v, d: v.count(nested(40))),
    ("`where`", "1,000", lambda v, d: v.count({f"attrs.a{n}": 1 for n in range(1_001)})),
    ("`where`", "1,000,000", lambda v, d: v.count({"id": {"$in": range(1_000_001)}})),
    ("fields in `order_by`, names in `tiers`", "8", lambda v, d: v.entries(order_by=["id"] * 9)),
    ("names in `map`", "10,000", lambda v, d: v.import_([], map={f"n{n}": None for n in range(10_001)})),
    ("`include`, `exclude`, `extra` of a folder", "1,000", lambda v, d: v.sync(d, include=["*.md"] * 1_001)),
    ("`include`, `exclude`, `extra` of a folder", "4,096", lambda v, d: v.sync(d, exclude=["x" * 4_097])),
    ("`sync_on_search`", "3,600", lambda v, d: Vault(d / "n.db", sync_on_search=3_601)),
    ("`sync_on_search`", "3,600", lambda v, d: Vault(d / "n.db", sync_on_search=float("inf"))),
    ("`sync_on_search`", "0", lambda v, d: Vault(d / "n.db", sync_on_search=-1)),
    ("`debounce_s` and `interval_s` of `watch_files`", "86,400", lambda v, d: v.watch_files(interval_s=86_401)),
    ("`tokens`, and `overlap`, of `chunk_markdown`", "100,000", lambda v, d: chunk_markdown("x", tokens=100_001)),
    ("`tokens`, and `overlap`, of `chunk_markdown`", "100,000", lambda v, d: Chunking(tokens=100_001)),
    ("rules of a `Redactor`", "1,000", lambda v, d: Redactor(add=[(f"r{n}", "x") for n in range(1_001)])),
    ("rules of a `Redactor`", "10,000", lambda v, d: Redactor(add=[("r", "x" * 10_001)])),
    ("rules of a `Redactor`", "1,000,000", lambda v, d: Redactor().redact_all(range(1_000_001))),
    ("paths in one call of `sync`", "1,000,000", lambda v, d: v.sync(d, paths=range(1_000_001))),
    ("`must`, `must_not`, `phrase`, `prefix`", "100", lambda v, d: v.search("t", words={"must": ["w"] * 101})),
    ("`must`, `must_not`, `phrase`, `prefix`", "10,000", lambda v, d: v.search("t", words={"phrase": "w" * 10_001})),
    ("`facets` of a search", "16", lambda v, d: v.search("t", facets=[f"attrs.a{n}" for n in range(17)])),
]


def nested(levels):
    """Return a filter of so many levels, each of which could not be left out."""
    where = {"id": "a"}
    for _ in range(levels):
        where = {"$not": {"$and": [where, {"kind": "entry"}]}}
    return where


@pytest.fixture
def vault():
    with Vault(":memory:") as vault:
        vault.add(id="a", title="Stored before")
        yield vault


@pytest.mark.parametrize(("row", "number", "call"), BEYOND, ids=[f"{row[:40]}-{n}" for row, n, _ in BEYOND])
def test_what_is_beyond_a_limit_is_an_error_that_names_it_and_nothing_is_done(vault, tmp_path, row, number, call):
    assert number in ROWS[row], "the page says another limit"
    with pytest.raises(SeptetError) as told:
        call(vault, tmp_path)
    number = number.replace("24 hours", "86,400").split()[0]
    assert number in str(told.value) or number.replace(",", "") in str(told.value), str(told.value)
    assert [entry.id for entry in vault] == ["a"] and not list(tmp_path.iterdir())
