"""Texts are cut into chunks as recorded: the documented version is `literal`, the one that mended it `capped`."""

from __future__ import annotations

import hashlib

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import _core, chunk_markdown
from septet.files.chunking import Chunking, cut

CASES = other_recording("openclaw-chunk-markdown")["cases"]
LISTS = other_recording("openclaw-chunk-per-entry")["cases"]
SPLITS = other_recording("openclaw-split-utf8")["cases"]
LIMITS = other_recording("openclaw-embedding-limits")["cases"]
VARIANTS = {"2026.2.12": "literal", "2026.9.6": "capped"}
#: So large that only the structure of a text cuts it.
UNBOUNDED = 100_000


def whole(text):
    """The recording counts UTF-16 units and may hold halves of characters, which no encoded text can."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def units(text):
    return len(text.encode("utf-16-le")) // 2


def begins(text, head):
    """Compare as the recording does, by units: its head may end in the middle of a character."""
    cut = text.encode("utf-16-le")[: len(head.encode("utf-16-le", "surrogatepass"))]
    return whole(cut.decode("utf-16-le", "surrogatepass")) == whole(head)


def ends(text, tail):
    cut = text.encode("utf-16-le")[-len(tail.encode("utf-16-le", "surrogatepass")) :]
    return whole(cut.decode("utf-16-le", "surrogatepass")) == whole(tail)


def is_recorded(chunk, recorded):
    assert (chunk.first_line, chunk.last_line) == (recorded["startLine"], recorded["endLine"])
    assert chunk.hash == recorded["hash"]
    assert chunk.hash == hashlib.sha256(chunk.text.encode()).hexdigest()
    if "utf16" in recorded:
        assert units(chunk.text) == recorded["utf16"]
    if "text" in recorded:
        assert chunk.text == whole(recorded["text"])
    else:
        assert begins(chunk.text, recorded["head"])
        assert ends(chunk.text, recorded["tail"])


@pytest.mark.parametrize("version", VARIANTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@differs("halves-are-replaced")
def test_chunks_are_the_recorded_ones(case, version):
    recorded = case["outputs"].get(version)
    if recorded is None:
        pytest.skip("not recorded of this version")
    chunks = chunk_markdown(case["content"], **case["chunking"], variant=VARIANTS[version])
    assert len(chunks) == len(recorded)
    for chunk, expected in zip(chunks, recorded):
        is_recorded(chunk, expected)


@pytest.mark.parametrize("case", LISTS, ids=lambda case: case["content"][:20] or "empty")
def test_curated_lists_are_cut_at_the_recorded_entries(case):
    chunking = {name: value for name, value in case["chunking"].items() if name != "perEntry"}
    chunks = chunk_markdown(
        case["content"], **chunking, variant="entries" if case["chunking"]["perEntry"] else "capped"
    )
    assert len(chunks) == len(case["chunks"])
    for chunk, recorded in zip(chunks, case["chunks"]):
        is_recorded(chunk, recorded)
    entries = chunk_markdown(case["content"], tokens=UNBOUNDED, variant="entries")
    assert [(e.first_line, e.last_line, e.text) for e in entries] == [
        (e["startLine"], e["endLine"], e["text"]) for e in case["entries"]
    ]
    # A part of a bullet is known to be one by the lines of the whole bullet.
    bullets = [(e["startLine"], e["endLine"]) for e in case["entries"] if e["kind"] == "entry"]
    for recorded in case["chunks"]:
        around = [b for b in bullets if b[0] <= recorded["startLine"] and recorded["endLine"] <= b[1]]
        named = (recorded["entryStartLine"], recorded["entryEndLine"]) if "entryStartLine" in recorded else None
        assert around == ([] if named is None else [named])


@pytest.mark.parametrize("case", SPLITS, ids=lambda case: f"{case['text'][:8]} {case['maxUtf8Bytes']}")
def test_texts_are_split_at_the_recorded_bytes(case):
    assert _core.split_utf8(whole(case["text"]), case["maxUtf8Bytes"]) == [whole(part) for part in case["output"]]


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: f"{case['provider']['model']} {case['limit']}")
def test_chunks_over_a_limit_of_bytes_are_cut_as_recorded(case):
    (first, *_) = chunk_markdown(case["inputText"], tokens=UNBOUNDED)
    parts = chunk_markdown(case["inputText"], tokens=UNBOUNDED, max_bytes=case["limit"])
    recorded = [part for part in case["parts"] if part["startLine"] == case["parts"][0]["startLine"]]
    assert [(len(part.text.encode()), part.hash) for part in parts] == [
        (part["bytes"], part["hash"]) for part in recorded
    ]
    # Parts keep the lines of the whole.
    assert {(part.first_line, part.last_line) for part in parts} == {(first.first_line, first.last_line)}
    assert len({(part["startLine"], part["endLine"]) for part in recorded}) == 1


def test_files_are_cut_into_the_recorded_chunks():
    """What the documented system stored for a folder: path, lines and digest of each chunk."""
    recording = other_recording("openclaw-e2e-index-search")
    settings = recording["settings"]
    chunking = Chunking(settings["chunkTokens"], settings["overlap"], "literal")
    (first,) = [s for s in recording["scenarios"] if "chunks" in s.get("index", {})][:1]
    stored = {(c["path"], c["start_line"], c["end_line"], c["hash"], c["len"]) for c in first["index"]["chunks"]}
    made = {
        (path, chunk.first_line, chunk.last_line, chunk.hash, units(chunk.text))
        for path, text in recording["files"].items()
        for chunk in cut(text, chunking)
        if chunk.text.strip()
    }
    assert made == stored
