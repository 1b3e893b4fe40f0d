"""Tests of `integration/test_retrieval_waves.py` that start servers."""

import asyncio

import pytest

from corpora_told import LONG_S, Held
from retrieved import hit
from septet import AsyncVault, Vault
from septet.retrieval import Envelope


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="a", title="ducks swim", description="Ducks swim in ponds.")
        made.add(id="b", title="geese fly", kind="chunk")
        yield made


def test_an_explanation_names_what_was_late(vault):
    slow = Held("slow", hits=[hit("s", tier="slow")])
    with vault.retriever("recall", corpora={"slow": slow}) as retriever:
        told = retriever.explain("ducks", "s", timeout_s=0.3)
        assert {one.corpus: one.state for one in told.corpora}["slow"] == "late"
        assert "slow (late)" in told.reason
    slow.gate.set()


def test_the_hook_is_told_of_each_retrieval_once_and_not_of_its_own(vault):
    told = []

    def hook(envelope):
        told.append(envelope)
        retriever.retrieve("geese")

    with vault.retriever(on_retrieval=hook) as retriever:
        found = retriever.retrieve("ducks")
        assert told == [found.envelope]
        assert isinstance(told[0], Envelope)
        retriever.plan("ducks")
        assert len(told) == 1
        retriever.explain("ducks", "a")
        assert len(told) == 2


def test_a_retrieval_is_a_span_with_its_searches_inside():
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    collected, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(collected))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        with Vault(":memory:", telemetry=True) as vault:
            vault.add(id="a", title="ducks of the secret pond")
            with vault.retriever() as retriever:
                for timeout_s in (None, LONG_S):
                    collected.clear()
                    retriever.retrieve("secret ducks", timeout_s=timeout_s)
                    (span,) = [one for one in collected.get_finished_spans() if one.name == "septet.retrieve"]
                    inner = [one for one in collected.get_finished_spans() if one.name == "septet.search"]
                    assert inner and {one.parent.span_id for one in inner} == {span.context.span_id}
                    assert span.attributes["db.response.returned_rows"] == 1
                    assert "secret" not in str(dict(span.attributes))


def test_everything_is_awaited(tmp_path):
    async def ask():
        async with AsyncVault(tmp_path / "v.db") as vault:
            await vault.add(id="a", title="ducks swim")
            async with await vault.retriever("recall") as retriever:
                found = await retriever.retrieve("ducks")
                assert found.ids == ["a"]
                assert (await retriever.plan("ducks")) == found.plan
                assert (await retriever.explain("ducks", "a")).found
                assert (await retriever.get("a")).title == "ducks swim"
                assert retriever.blocking.retrieve("ducks").ids == ["a"]

    asyncio.run(ask())
