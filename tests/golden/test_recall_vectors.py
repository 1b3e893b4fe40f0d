"""The vectors of a recall: cosines, how they are stored, and the list of the nearest under a filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import is_zero, other_recording
from septet import Vault, _core
from septet.errors import VectorError

COSINES = other_recording("lore-cosine")
NEAREST = other_recording("lore-vector")
CORPUS = other_recording("lore-corpus")

TRUSTED = {"attrs.confidence": {"$gt": 0.2}}
#: Rows are kept at unit length, with 32 bits a component.
SINGLE = 1e-7
#: By recorded list the table it is of, and its filter.
LISTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "knowledge": ("knowledge", TRUSTED),
    "knowledge_without_preferences": ("knowledge", {**TRUSTED, "attrs.category": {"$ne": "preference"}}),
    "distillations": ("distillations", {"attrs.archived": False}),
    "temporal_A": ("temporal", {"attrs.project": "A"}),
    "temporal_A_s1": ("temporal", {"attrs.project": "A", "attrs.session": "s1"}),
}


@pytest.mark.parametrize("case", COSINES["cases"])
@differs("one-space-a-search", "zero-vectors-are-refused")
def test_cosines_are_the_recorded_ones(case: Mapping[str, Any]) -> None:
    one, other = np.array(case["a"], dtype=np.float32), np.array(case["b"], dtype=np.float32)
    if is_zero(case["a"]):
        # It has no direction: the recorded cosine is 0.
        assert case["cosine"] == 0
        with pytest.raises(ValueError, match="length 0"):
            _core.cosine_at(one.astype(np.float64), other.reshape(1, -1), np.array([0]))
        return
    if len(one) != len(other):
        # The recorded system compares as far as the shorter one goes.
        with pytest.raises(ValueError, match="query"):
            _core.cosine_at(one.astype(np.float64), other.reshape(1, -1), np.array([0]))
        return
    found = _core.cosine_at(one.astype(np.float64), other.reshape(1, -1), np.array([0]))
    assert found[0] == pytest.approx(case["cosine"], abs=1e-12)


@pytest.mark.parametrize("case", COSINES["blobs"])
@differs("zero-vectors-are-refused")
def test_vectors_are_stored_as_recorded(case: Mapping[str, Any]) -> None:
    with Vault(":memory:") as vault:
        if is_zero(case["values"]):
            with pytest.raises(VectorError):
                vault.add(id="it", title="It", vector=case["values"])
            return
        vault.add(id="it", title="It", vector=case["values"])
        ((blob,),) = vault._store._writer.execute("SELECT vector FROM vectors").fetchall()
        assert blob.hex() == case["hex"]
        assert np.frombuffer(blob, dtype="<f4").astype(float).tolist() == case["restored"]


@pytest.fixture(scope="module")
def vaults() -> Iterator[Mapping[str, Vault]]:
    with Vault(":memory:") as known, Vault(":memory:") as distilled, Vault(":memory:") as said:
        found = {"knowledge": known, "distillations": distilled, "temporal": said}
        for table, vault in found.items():
            for one in CORPUS[table]:
                attrs = {k: v for k, v in one.items() if k not in ("id", "embedding", "title", "content")}
                vector = one["embedding"] if one["embedding"] is not None and not is_zero(one["embedding"]) else None
                title = one.get("title") or one.get("content") or one["observations"]
                vault.add(id=one["id"], title=title, vector=vector, attrs=attrs)
        yield found


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("case", NEAREST["cases"], ids=lambda case: case["query"])
def test_the_nearest_under_a_filter_are_the_recorded_ones(
    case: Mapping[str, Any], name: str, vaults: Mapping[str, Vault]
) -> None:
    table, where = LISTS[name]
    recorded = {one["id"]: one["similarity"] for one in case[name]}
    found = vaults[table].search(
        case["query"],
        query_vector=case["query_vector"],
        profile="recall",
        legs="vector",
        where=where,
        limit=len(recorded),
    )
    ours = {hit.id: hit.raw["cosine"] for hit in found}
    assert list(ours.values()) == pytest.approx(list(recorded.values()), abs=SINGLE)
    # Of those that are as near as the last, any may be among them.
    last = min(recorded.values())
    assert {id for id, s in ours.items() if s > last + SINGLE} == {
        id for id, s in recorded.items() if s > last + SINGLE
    }
