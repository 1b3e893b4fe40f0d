"""Spans of OpenTelemetry, collected by its own SDK: what they say, what they leave out, and when there are none."""

import asyncio
import sys

import pytest

from septet import AsyncVault, CallableEmbedder, Federation, Vault
from septet.errors import EntryNotFound, QueryError, StoreError, TierError

SECRET = "xylophone"


@pytest.fixture(scope="module")
def exporter():
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    collected = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(collected))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer_provider", lambda: provider)
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        yield collected


@pytest.fixture
def spans(exporter):
    exporter.clear()
    return exporter.get_finished_spans


def lengths(texts):
    return [[1.0, float(len(text))] for text in texts]


def test_a_search_is_a_span_with_what_it_did(spans):
    with Vault(":memory:") as vault:
        vault.add(title="ducks swim")
        found = vault.search("ducks")
    write, search = spans()
    assert (write.name, search.name) == ("septet.write", "septet.search")
    assert search.kind.name == write.kind.name == "INTERNAL"
    assert search.attributes["db.system.name"] == "septet"
    assert search.attributes["db.namespace"] == ":memory:"
    assert search.attributes["db.operation.name"] == "search"
    assert search.attributes["db.response.returned_rows"] == 1
    assert search.attributes["septet.candidates"] == found.tiers[0].candidates
    assert search.attributes["septet.profile"] == "septet"
    assert search.attributes["septet.generation"] == write.attributes["septet.generation"] == 1
    assert search.attributes["septet.notes"] == ()
    stages = [name for name in search.attributes if name.startswith("septet.stage.")]
    assert stages == [f"septet.stage.{stage}_ms" for stage in ("plan", "open", "recall", "rank", "read", "hits")]
    assert write.attributes["septet.count"] == 1
    assert search.status.is_unset and write.status.is_unset


def test_embedding_is_a_span_inside_the_search_and_for_a_run(spans):
    embedder = CallableEmbedder(lengths, model="m", dimensions=2)
    with Vault(":memory:", embedder=embedder) as vault:
        vault.add(title="ducks swim")
        vault.embed()
        vault.search("ducks")
    by_name = {}
    for span in spans():
        by_name.setdefault(span.name, []).append(span)
    run, query = by_name["septet.embed"]
    (search,) = by_name["septet.search"]
    assert run.parent is None
    assert run.attributes["gen_ai.operation.name"] == "embeddings"
    assert run.attributes["gen_ai.request.model"] == "function/m"
    assert run.attributes["septet.missing"] == 0
    assert query.parent.span_id == search.context.span_id
    assert "septet.stage.embed_ms" in search.attributes


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda v: v.search(SECRET, limit=-1), QueryError, "septet.search"),
        (lambda v: v.explain(SECRET, "nobody"), EntryNotFound, "septet.search"),
        (lambda v: v.update(SECRET, title="x"), EntryNotFound, "septet.write"),
    ],
)
def test_an_error_is_its_class_without_its_words(spans, call, error, name):
    with Vault(":memory:") as vault, pytest.raises(error):
        call(vault)
    (span,) = spans()
    assert (span.name, span.attributes["error.type"], span.status.status_code.name) == (name, error.__name__, "ERROR")
    assert SECRET not in span.to_json()


def test_no_text_of_a_query_or_an_entry_is_in_a_span(spans):
    embedder = CallableEmbedder(lengths, model="m", dimensions=2)
    with Vault(":memory:", embedder=embedder) as vault, Federation({"agent": vault}) as both:
        vault.add(id=SECRET, title=SECRET, description=SECRET)
        vault.embed()
        vault.search_many([SECRET, "ducks"])
        vault.recall(SECRET)
        vault.similar(SECRET)
        both.search(SECRET)
        both.feedback(SECRET, SECRET, "accepted")
        vault.delete(SECRET)
    told = [span.to_json() for span in spans()]
    assert len(told) >= 9
    assert SECRET not in " ".join(told)


def test_many_queries_are_a_batch_and_a_federation_has_no_file(spans):
    with Vault(":memory:", telemetry=False) as agent, Federation({"agent": agent}) as both:
        agent.add(title="ducks")
        both.search_many(["ducks", "geese", "swans"])
    (span,) = spans()
    assert span.attributes["db.operation.batch.size"] == 3
    assert "db.namespace" not in span.attributes


def test_spans_are_inside_those_of_the_program_also_from_an_async_vault(spans, exporter):
    from opentelemetry import trace

    tracer = trace.get_tracer_provider().get_tracer("program")

    async def ask(number):
        with tracer.start_as_current_span(f"request {number}"):
            await vault.search("ducks")

    async def serve():
        nonlocal vault
        async with AsyncVault(":memory:") as vault:
            await asyncio.gather(*(ask(number) for number in range(4)))

    vault = None
    asyncio.run(serve())
    requests = {span.context.span_id for span in spans() if span.name.startswith("request")}
    parents = [span.parent.span_id for span in spans() if span.name == "septet.search"]
    assert set(parents) == requests and len(parents) == len(requests) == 4


def test_without_telemetry_there_is_none(spans):
    with Vault(":memory:", telemetry=False) as vault:
        vault.add(title="ducks")
        vault.search("ducks")
        assert vault._watch is None
    assert spans() == ()


@pytest.mark.parametrize("wrong", [0, 1, "yes", 2.0])
def test_telemetry_is_checked(wrong):
    with pytest.raises(StoreError, match="wanted True, False or None"):
        Vault(":memory:", telemetry=wrong)
    with pytest.raises(TierError, match="wanted True, False or None"):
        Federation({}, telemetry=wrong)


def test_telemetry_that_is_not_installed_is_an_error_with_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(StoreError, match=r"pip install 'septet\[otel\]'"):
        Vault(":memory:", telemetry=True)
    with Vault(":memory:", telemetry=False) as vault:
        assert vault.search("ducks").ids == []
