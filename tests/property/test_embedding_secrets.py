"""Keys: however a provider echoes one, none of it is seen in an error, a note, a log or a traceback."""

from __future__ import annotations

import base64
import functools
import html
import json
import pickle
import random
import re
import string
import traceback
import unicodedata
import urllib.parse

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import EmbeddingConfigError, EmbeddingError, Vault
from septet.embedding import GeminiEmbedder, OpenAIEmbedder
from septet.embedding.config import config_of
from septet.net.client import IO
from septet.net.keys import SHOWN_CHARS, KeyMasker


def drawn(prefix, size, seed):
    return prefix + "".join(random.Random(seed).choices(string.ascii_letters + string.digits + "-_.", k=size))


KEYS = st.builds(
    drawn, st.sampled_from(["", "sk-", "sk-proj-", "AIza", "pa-"]), st.integers(24, 60), st.integers(0, 10**9)
)
ECHOES = {
    "as it is": lambda key: key,
    "first half": lambda key: key[: len(key) // 2],
    "last half": lambda key: key[len(key) // 2 :],
    "the middle": lambda key: key[4:-4],
    "but one character": lambda key: key[:12] + "*" + key[13:],
    "by lines": lambda key: "\n".join(key[at : at + 5] for at in range(0, len(key), 5)),
    "by blanks": lambda key: " ".join(key),
    "by marks": lambda key: "|".join(key),
    "in capitals": str.upper,
    "in the other case": str.swapcase,
    "backwards": lambda key: key[::-1],
    "in wide letters": lambda key: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in key),
    "percent": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "percent twice": lambda key: urllib.parse.quote("".join(f"%{ord(c):02X}" for c in key)),
    "in a query": lambda key: urllib.parse.urlencode({"key": key}),
    "JSON": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "JSON in JSON": lambda key: json.dumps("".join(f"\\u{ord(c):04x}" for c in key)),
    "a text of Python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    "octal": lambda key: "".join(f"\\{ord(c):03o}" for c in key),
    "HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "HTML in hexadecimal": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "HTML twice": lambda key: html.escape("".join(f"&#{ord(c)};" for c in key)),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of the header": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a user": lambda key: base64.urlsafe_b64encode(f"a:{key}".encode()).decode(),
    "base64 of more": lambda key: base64.b64encode(f'{{"key":"{key}"}}'.encode()).decode(),
    "base32": lambda key: base64.b32encode(key.encode()).decode(),
    "base32 of more": lambda key: base64.b32encode(f"key={key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal by colons": lambda key: key.encode().hex(":"),
}


def folded(text):
    return "".join(filter(str.isalnum, text.casefold()))


@functools.lru_cache(maxsize=64)
def pieces_of(key):
    """All forms of eight characters of a key in a row."""
    bare, content = folded(key), key.encode()
    pieces = {form[at : at + SHOWN_CHARS] for form in (bare, bare[::-1]) for at in range(len(bare) - SHOWN_CHARS + 1)}
    pieces |= {content[at : at + 8].hex() for at in range(len(content) - 7)}
    pieces |= {folded(base64.b64encode(content[at : at + 9]).decode()) for at in range(len(content) - 8)}
    return pieces | {folded(base64.b32encode(content[at : at + 10]).decode()) for at in range(len(content) - 9)}


def seen(text, key):
    """What of a key can be read in a text, as it is or decoded."""
    unescaped = re.sub(r"\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2}))", lambda m: chr(int(m[1] or m[2], 16)), text)
    unescaped = re.sub(r"\\+([0-7]{3})", lambda m: chr(int(m[1], 8)), unescaped)
    readings = [text, urllib.parse.unquote(urllib.parse.unquote(text)), html.unescape(html.unescape(text)), unescaped]
    shown = "|".join(map(folded, [*readings, unicodedata.normalize("NFKC", text)]))
    return sorted(piece for piece in pieces_of(key) if piece in shown)


@pytest.mark.parametrize("how", ECHOES)
@heavy()
@given(key=KEYS, before=st.text(max_size=10), after=st.text(max_size=10))
def test_no_way_of_writing_a_key_passes(how, key, before, after):
    echoed = ECHOES[how](key)
    assert seen(echoed, key), "the test would see it"
    masked = KeyMasker([key, "another-key-0123456789"])(f"{before} wrong key {echoed} {after}")
    assert not seen(masked, key), masked
    assert "[key]" in masked and "wrong" in masked


@given(key=KEYS, text=st.text(string.ascii_lowercase + " ", max_size=200))
def test_a_text_without_a_key_stays_as_it_is(key, text):
    if not seen(text, key):
        assert KeyMasker([key])(text) == text


@pytest.mark.parametrize("key", ["k", "abc", "good-key", "1234567"])
def test_a_short_key_is_masked_as_a_whole(key):
    assert KeyMasker([key])(f"<{key}>") == "<[key]>"
    assert KeyMasker([key])("") == ""


@pytest.mark.parametrize("make", [OpenAIEmbedder, GeminiEmbedder], ids=["openai", "gemini"])
@given(key=KEYS, how=st.sampled_from(sorted(ECHOES)), status=st.sampled_from([200, 301, 400, 401, 404, 429, 500, 503]))
def test_nothing_of_an_error_holds_a_key(make, key, how, status):
    echoed = ECHOES[how](key)

    def reply(request):
        assert key in str(request.headers.raw)
        flat = " ".join(echoed.split()).encode("ascii", "replace").decode()
        headers = {"content-type": f"text/html {flat}", "location": f"https://host/?key={flat}", "x-echo": flat}
        return httpx.Response(status, headers=headers, json={"error": {"message": f"wrong key {echoed}"}})

    quick = IO(sleep=lambda seconds: None, transport=httpx.MockTransport(reply))
    embedder = make("m", api_key=key, environment={}, outside=quick)
    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["a text"])
    fault = raised.value
    assert fault.__cause__ is None and fault.__context__ is None
    frames = traceback.TracebackException.from_exception(fault, capture_locals=True)
    # The first frame is that of this test, which knows the key.
    frames.stack[:] = frames.stack[1:]
    told = [str(fault), repr(fault), repr(fault.args), repr(vars(fault)), repr(embedder), "".join(frames.format())]
    told += [repr(pickle.dumps(fault)), repr(embedder.client), repr(embedder.client.context)]
    for text in told:
        assert not seen(text, key), (text, key)
    embedder.close()


@pytest.mark.parametrize("wrong", [{"nope": 1}, {"dimensions": -1}, {"provider": "nope"}, {"apiKeys": "x y"}])
def test_an_error_in_a_configuration_holds_no_key(wrong):
    key = "sk-proj-T0pS3cretT0pS3cretT0pS3cret"
    for make in (
        lambda: config_of({"provider": "openai", "apiKey": key, **wrong}),
        lambda: Vault(":memory:", embedder={"provider": "openai", "apiKey": key, **wrong}),
    ):
        with pytest.raises(EmbeddingConfigError) as raised:
            make()
        told = [
            str(raised.value),
            repr(raised.value.args),
            repr(raised.value.__cause__),
            repr(raised.value.__context__),
        ]
        assert not seen("".join(told), key)


@pytest.mark.parametrize(
    "make",
    [
        lambda key: config_of({"provider": "openai", "apiKey": key, "nope": 1}),
        lambda key: OpenAIEmbedder("m", api_key=key, dimensions=-1, environment={}),
        lambda key: OpenAIEmbedder("m", api_key=key, base_url="ftp://host", environment={}),
        lambda key: OpenAIEmbedder("m", environment={"OPENAI_API_KEY": f"{key} {key}"}),
        lambda key: GeminiEmbedder("m", environment={"OPENAI_API_KEY": key}),
    ],
)
def test_the_frames_of_an_error_in_a_configuration_hold_no_key(make):
    key = "sk-proj-T0pS3cretT0pS3cretT0pS3cret"
    with pytest.raises(EmbeddingConfigError) as raised:
        make(key)
    frames = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
    # Those of this file know the key.
    ours = [frame for frame in frames.stack if frame.filename != __file__]
    assert ours and not seen(repr([frame.locals for frame in ours]), key)
