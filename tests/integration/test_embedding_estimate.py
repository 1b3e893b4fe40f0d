"""vault.embed(dry_run=True): texts, tokens, requests and cost of a run, without sending or writing anything."""

import pytest

from doubles import Letters
from septet import EmbeddingConfigError, EmbeddingOptions, Vault
from septet.embedding import FallbackEmbedder, OllamaEmbedder, OpenAIEmbedder
from septet.embedding.embedder import estimate_tokens
from septet.embedding.providers import prices

BY_HAND = EmbeddingOptions(automatic=False)
KEYED = {"api_key": "sk-of-a-test"}


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{n}", "title": f"title {n}"} for n in range(250))
    return tmp_path / "v.db"


def opened(path, embedder, **options):
    return Vault(path, embedder=embedder, embedding_options=BY_HAND, **options)


def test_a_dry_run_counts_what_a_run_then_does(path):
    embedder = Letters()
    with opened(path, embedder) as vault:
        seen = []
        dry = vault.embed(dry_run=True, progress=lambda done, total: seen.append((done, total)))
        assert embedder.calls == [] and dry.embedded == dry.requests == 0 and not dry.complete
        assert seen == [(100, 250), (200, 250), (250, 250)]
        real = vault.embed()
        assert (dry.estimate.texts, dry.estimate.requests, dry.missing) == (real.embedded, real.requests, 250)
        assert real.estimate is None
        again = vault.embed(dry_run=True)
        assert again.complete and (again.estimate.texts, again.estimate.tokens, again.estimate.requests) == (0, 0, 0)


def test_nothing_is_written_by_a_dry_run(path):
    with opened(path, Letters()) as vault:
        with vault._store.reading() as read:
            before = list(read.sql.iterdump())
        vault.embed(dry_run=True)
        with vault._store.reading() as read:
            assert list(read.sql.iterdump()) == before


def test_the_cost_is_the_list_price_of_the_tokens(path):
    with opened(path, OpenAIEmbedder(**KEYED)) as vault:
        work, cheaper = (vault.embed(dry_run=True, batch=batch).estimate for batch in (False, True))
    tokens = sum(estimate_tokens(f"title {n}") for n in range(250))
    # A batch of the vault has a hundred texts.
    assert (work.texts, work.tokens, work.requests) == (250, tokens, 3)
    assert work.cost_usd == pytest.approx(tokens * 0.02 / 1e6) and work.prices_of == prices.month()
    assert cheaper.cost_usd == pytest.approx(work.cost_usd / 2) and cheaper.tokens == tokens


def test_a_long_text_counts_by_its_pieces_and_prefixes_count(tmp_path):
    with opened(tmp_path / "v.db", OpenAIEmbedder(max_input_tokens=100, document_prefix="doc: ", **KEYED)) as vault:
        vault.add(title="a long one", description="words " * 500)
        work = vault.embed(dry_run=True).estimate
    assert work.tokens > estimate_tokens("a long one" + "words " * 500) + 9 * estimate_tokens("doc: ")


@pytest.mark.parametrize(
    "embedder",
    [
        OpenAIEmbedder(base_url="http://127.0.0.1:9", **KEYED),
        OpenAIEmbedder("text-embedding-9", **KEYED),
        Letters(),
    ],
    ids=["another server", "an unknown model", "an embedder of the user"],
)
def test_an_unknown_price_is_none_and_no_guess(path, embedder):
    with opened(path, embedder) as vault:
        work = vault.embed(dry_run=True).estimate
    assert work.cost_usd is None and work.prices_of is None and work.tokens > 250


def test_several_providers_of_one_model_cost_the_price_of_the_first(path):
    chain = FallbackEmbedder([OpenAIEmbedder(**KEYED), OpenAIEmbedder(base_url="http://127.0.0.1:9", **KEYED)])
    with opened(path, chain) as vault:
        assert vault.embed(dry_run=True).estimate.cost_usd > 0


def test_texts_in_the_cache_cost_nothing(path, tmp_path):
    cache = tmp_path / "cache.db"
    with opened(path, Letters(), embedding_cache=cache) as vault:
        vault.embed()
    with opened(tmp_path / "other.db", Letters(), embedding_cache=cache) as vault:
        vault.add_many({"title": f"title {n}"} for n in range(240, 260))
        work = vault.embed(dry_run=True).estimate
    assert (work.texts, work.cached, work.requests) == (10, 10, 1)


def test_a_vault_without_an_embedder_has_nothing_to_estimate(tmp_path):
    with Vault(tmp_path / "v.db") as vault, pytest.raises(EmbeddingConfigError, match="no embedder"):
        vault.embed(dry_run=True)


def test_prices_are_positive_and_those_of_batches_are_lower():
    table = prices._table()["usd_per_million_tokens"]
    rows = [(provider, model) for provider, models in table.items() for model in models]
    assert len(rows) > 8
    for provider, model in rows:
        single, batch = (prices.usd_per_million(provider, model, batch=batch) for batch in (False, True))
        assert 0 < batch < single < 1


def test_a_model_on_this_machine_costs_nothing(path):
    with opened(path, OllamaEmbedder("any")) as vault:
        work = vault.embed(dry_run=True).estimate
    assert (work.cost_usd, work.prices_of) == (0, None) and work.requests == 4
