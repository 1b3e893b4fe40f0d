"""A folder from its files to the results of a search: chunks, what is embedded when, and what queries find."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import CallableEmbedder, Chunking, Entry, Hit, Results, Vault

RECORDED = other_recording("openclaw-e2e-index-search")
SETTINGS = RECORDED["settings"]
VECTORS = RECORDED["vectors"]
STEPS = {step["step"]: step for step in RECORDED["scenarios"]}
FIRST = next(iter(STEPS.values()))
CHUNKING = Chunking(SETTINGS["chunkTokens"], SETTINGS["overlap"], "literal")


def profile_of(vector: float, text: float) -> dict[str, Any]:
    weights = {"vector": vector, "text": text}
    return {"extends": "markdown-memory", "weights": {"text": weights, "hybrid": weights}}


PROFILE = profile_of(SETTINGS["vectorWeight"], SETTINGS["textWeight"])
Key = tuple[str, int, int]


class Recorded:
    """The recorded model: it knows the vectors of the recorded texts, and which texts it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def vector(self, text: str) -> list[float]:
        found = VECTORS.get(text) or VECTORS.get(f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")
        assert found is not None, f"no vector was recorded of {text[:40]!r}"
        return list(found)

    def documents(self, texts: list[str]) -> list[list[float]]:
        """What is embedded is the title, the chunk and its headings, in lines."""
        self.sent += texts
        return [self.vector(self.chunk_in(text)) for text in texts]

    def chunk_in(self, text: str) -> str:
        lines = text.split("\n")
        for first, last in ((first, last) for first in (1, 0) for last in (len(lines), len(lines) - 1)):
            chunk = "\n".join(lines[first:last])
            if chunk in VECTORS or f"sha256:{hashlib.sha256(chunk.encode()).hexdigest()}" in VECTORS:
                return chunk
        raise AssertionError(f"no recorded chunk is in {text[:80]!r}")

    def embedder(self, model: str = SETTINGS["model"]) -> CallableEmbedder:
        dimensions = len(next(iter(VECTORS.values())))
        return CallableEmbedder(
            self.documents,
            model=model,
            dimensions=dimensions,
            queries=lambda texts: [self.vector(text) for text in texts],
        )

    def taken(self) -> int:
        """Return how many texts were sent since this was asked."""
        sent, self.sent = self.sent, []
        return len(sent)


def written(folder: Path) -> Path:
    for path, text in RECORDED["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder


def synced(vault: Vault, **options: Any) -> None:
    assert vault.sync(**options).complete
    vault.embed()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = written(tmp_path_factory.mktemp("memory") / "notes")
    with Vault(":memory:", profile=PROFILE, embedder=Recorded().embedder()) as made:
        synced(made, root=folder, layout="memory", chunking=CHUNKING)
        yield made


def key_of(one: Entry | Hit) -> Key:
    span = one.span if isinstance(one, Entry) else one.entry.span
    assert span is not None
    return span.path, span.first_line or 0, span.last_line or 0


def key(row: Mapping[str, Any]) -> Key:
    return row["path"], row["startLine"], row["endLine"]


def test_the_chunks_of_the_folder_are_the_recorded_ones(vault: Vault) -> None:
    made = sorted((key_of(one), hashlib.sha256(one.description.encode()).hexdigest()) for one in vault)
    stored = FIRST["index"]["chunks"]
    assert made == sorted(((c["path"], c["start_line"], c["end_line"]), c["hash"]) for c in stored)
    assert {one.span.path for one in vault if one.span} == {c["path"] for c in stored}


@pytest.fixture(scope="module")
def table(vault: Vault) -> Iterator[sqlite3.Connection]:
    """The recorded table of words."""
    made = sqlite3.connect(":memory:")
    made.execute("CREATE VIRTUAL TABLE t USING fts5(text, id UNINDEXED)")
    made.executemany("INSERT INTO t VALUES (?, ?)", [(one.description, one.id) for one in vault])
    yield made
    made.close()


def matched(table: sqlite3.Connection, query: str) -> set[str]:
    """Return the chunks that hold every recorded token of a query: runs of ASCII letters, digits and underscores."""
    match = " AND ".join(f'"{token}"' for token in re.findall("[A-Za-z0-9_]+", query))
    return {id for (id,) in table.execute("SELECT id FROM t WHERE t MATCH ?", (match,))} if match else set()


def cosines(found: Results) -> dict[str, float]:
    return {hit.id: hit.raw["cosine"] or 0.0 for hit in found}


def close_to(found: list[tuple[Key, float]], recorded: list[dict[str, Any]]) -> bool:
    """Whether scores are the recorded ones; chunks with the same lines are told apart by their score."""
    wanted = sorted((key(row), row["score"]) for row in recorded)
    found = sorted(found)
    return [one for one, _ in found] == [one for one, _ in wanted] and [score for _, score in found] == pytest.approx(
        [score for _, score in wanted], abs=2e-6
    )


def in_mode(hybrid: bool) -> list[dict[str, Any]]:
    return [case for case in RECORDED["queries"] if ("hybrid off" not in case["mode"]) == hybrid]


def name_of(case: Mapping[str, Any]) -> str:
    return f"{case['mode']}-{case['query']}"


@pytest.mark.parametrize("case", in_mode(hybrid=False), ids=name_of)
def test_vectors_alone_find_the_recorded_chunks(vault: Vault, case: Mapping[str, Any]) -> None:
    plan: dict[str, Any] = {"profile": profile_of(1.0, 0.0), "legs": "vector"}
    found = vault.search(case["query"], limit=len(vault), min_score=0.0, **plan)
    assert close_to([(key_of(hit), hit.score) for hit in found], case["minScore0"])
    shown = vault.search(case["query"], **plan)
    assert sorted(hit.score for hit in shown) == pytest.approx(sorted(row["score"] for row in case["top6"]), abs=2e-6)
    tied = len({round(row["score"], 5) for row in case["minScore0"]}) < len(case["minScore0"])
    assert tied or [key_of(hit) for hit in shown] == [key(row) for row in case["top6"]]


@pytest.mark.parametrize("case", in_mode(hybrid=True), ids=name_of)
@differs("words-by-bm25", "words-are-kept", "words-in-any-form")
def test_words_and_vectors_find_the_recorded_chunks(
    vault: Vault, table: sqlite3.Connection, case: Mapping[str, Any]
) -> None:
    found = vault.search(case["query"], limit=len(vault), min_score=-1.0)
    assert len(found) == len(vault)
    held, near = matched(table, case["query"]), cosines(found)
    # The recorded score of words is 1 for whatever they match.
    first, words = SETTINGS["vectorWeight"], SETTINGS["textWeight"]
    recorded = [(key_of(hit), first * near[hit.id] + words * (hit.id in held)) for hit in found]
    assert close_to([one for one in recorded if one[1] >= 0], case["minScore0"])
    assert len(held) == len(case["keywordLeg"])
    for hit in found:
        assert hit.entry is not None and hit.snippet.removesuffix("...") == hit.entry.description[:700]
    # A recorded snippet ends without a sign that more stands behind it.
    units = [(key_of(hit), len(hit.snippet.removesuffix("...").encode("utf-16-le")) // 2) for hit in found]
    assert {(key(row), row["snippetUtf16"]) for row in case["minScore0"]} <= set(units)

    bm25 = {hit.id: hit.raw["bm25"] or 0.0 for hit in found}
    assert held <= {id for id, value in bm25.items() if value > 0}
    sums = {id: first * near[id] + words * bm25[id] / (1 + bm25[id]) for id in near}
    assert {hit.id: hit.score for hit in found} == pytest.approx(sums, abs=1e-9)
    shown = vault.search(case["query"])
    kept = sorted((max(value, 0.35 if bm25[id] > 0 else -1.0) for id, value in sums.items()), reverse=True)
    assert [hit.score for hit in shown] == pytest.approx([value for value in kept if value >= 0.35][:6], abs=1e-9)
    # All that was shown then is shown, but for what made only a seventh of better ones.
    assert len(shown) == 6 or {key(row) for row in case["top6"]} <= {key_of(hit) for hit in shown}


@pytest.fixture
def model() -> Recorded:
    return Recorded()


@differs("same-texts-once", "names-stand-for-headings")
def test_a_folder_that_changes_is_embedded_as_often_as_recorded(tmp_path: Path, model: Recorded) -> None:
    folder = written(tmp_path / "notes")
    file = folder.with_suffix(".septet")
    sent_before = 0
    for name, step in STEPS.items():
        options: dict[str, Any] = {}
        before = stored(file) if sent_before else []
        if "appended" in name:
            append(folder)
        elif "deleted" in name:
            delete(folder, len(before) - step["chunks"], before)
        elif "renamed" in name:
            rename(folder, before)
        elif "forced" in name:
            options = {"force": True}
        elif "nothing changed" not in name and step is not FIRST and "model changed" not in name:
            raise AssertionError(f"no such step is known: {name}")
        embedder = model.embedder(step["embedCalls"][0]["model"] if step["embedCalls"] else SETTINGS["model"])
        with Vault(file, profile=PROFILE, embedder=embedder, embedding_cache=tmp_path / "cache.db") as vault:
            synced(vault, **({"root": folder, "layout": "memory", "chunking": CHUNKING} if not before else options))
            sent = model.taken()
            told = step.get("index", {}).get("cacheRows")
            assert sent == (0 if not step["embedCalls"] else told - sent_before), name
            sent_before = told or sent_before
            assert len(vault) == step.get("chunks", len(vault))
            assert vault.sync_status().roots[0].files == step.get("files", vault.sync_status().roots[0].files)
            assert not list(tmp_path.glob("*.tmp*"))


def stored(file: Path) -> list[Entry]:
    with Vault(file, read_only=True) as vault:
        return list(vault)


def append(folder: Path) -> None:
    """Write the recorded text that one of the files begins."""
    ((path, text),) = {
        (path, longer)
        for path, text in RECORDED["files"].items()
        for longer in VECTORS
        if text and longer.startswith(text) and longer != text
    }
    (folder / path).write_bytes(text.encode())


def delete(folder: Path, chunks: int, entries: list[Entry]) -> None:
    """Delete a file of so many chunks."""
    paths = [one.span.path for one in entries if one.span]
    (folder / max(path for path in set(paths) if paths.count(path) == chunks)).unlink()


def rename(folder: Path, entries: list[Entry]) -> None:
    """Rename a file whose chunks have headings: those of others have its name for a title, which is embedded."""
    with_headings = {one.span.path for one in entries if one.span and "headings" in one.attrs}
    path = folder / min(path for path in with_headings if path.startswith("memory/"))
    path.rename(path.with_name("renamed.md"))


def test_every_recorded_section_is_compared() -> None:
    assert set(RECORDED) == {
        "what", "versions", "runtime", "files", "settings", "scenarios", "queries", "vectors"
    }  # fmt: skip
