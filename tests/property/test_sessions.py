"""A transcript read bit by bit has the chunks that it has when it is read anew, whatever happens to it meanwhile."""

import json
import os
import random
from types import SimpleNamespace

import pytest

from septet.files.chunking import Chunking
from septet.files.redaction import Redactor
from septet.files.sessions import session_of

WORDS = ["word", "từ", "漢字漢字", "😀", "ghp_" + "a1B2" * 9]


def message(draw):
    said = " ".join(draw.choice([*WORDS, "x" * draw.randrange(1, 300)]) for _ in range(draw.randrange(60)))
    role = draw.choice(["user", "assistant"])
    whole = {"type": "message", "timestamp": draw.randrange(10**9), "message": {"role": role, "content": said}}
    other = draw.random()
    if other < 0.1:
        # A turn of a program, whose answers are not heard until the user speaks.
        whole["message"] = {"role": "user", "content": said, "provenance": {"kind": "internal_system"}}
    elif other < 0.2:
        whole |= {"type": role, "isMeta": draw.random() < 0.3}
    elif other < 0.3:
        content = [{"type": "input_text", "text": f"<environment_context>{said}</environment_context> {said}"}]
        whole = {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}
    return json.dumps(whole).encode() + (b"\n" if draw.random() < 0.9 else b"\r\n")


def written(path, draw):
    """Let a file grow as agents let it grow: whole lines, halves, ends without a line end; or cut or replace it."""
    with path.open("ab") as file:
        for _ in range(draw.randrange(4)):
            file.write(message(draw))
        file.write(
            draw.choice(
                [
                    *[b""] * 5,
                    b'{"type":"mess',
                    b'{"type":"message","message":{"role":"user","content":"end"}}',
                    b"\n",
                    b"\0\0\n",
                    b'{"type":"message","message":{"role":"user","content":"half \\ud83d a pair"}}\n',
                    b"\xff\xfe no text\n",
                ]
            )
        )
    if draw.random() < 0.1:
        os.truncate(path, path.stat().st_size // 2)
    elif draw.random() < 0.1:
        path.unlink()
        path.write_bytes(message(draw))


@pytest.mark.parametrize("seed", range(60))
def test_reading_on_gives_what_reading_anew_gives(tmp_path, seed):
    draw = random.Random(seed)
    path = tmp_path / "s.jsonl"
    path.touch()
    file = SimpleNamespace(path="a/s.jsonl", real=str(path))
    overlap = draw.choice([0, 7])
    chunking = Chunking(draw.choice([8, 40, 100, 400]), overlap, draw.choice(["capped", "capped", "literal"]))
    redactor = draw.choice([None, Redactor()])
    state, have = None, []
    for _ in range(8):
        written(path, draw)
        found = session_of(file, state, chunking, redactor)
        if found.keep:
            assert found.stored == len(have)
        have, state = [*have[: found.keep], *found.chunks], found.state
        assert have == session_of(file, None, chunking, redactor).chunks
    if redactor is not None:
        assert not any("ghp_a1B2" in chunk.fields["description"] for chunk in have)
