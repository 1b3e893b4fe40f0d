"""A chat model says queries in other words over HTTP; whatever its server does, a search goes on in time."""

import base64
import json
import logging
import traceback
from contextlib import ExitStack, closing

import pytest

from embedding_server import EmbeddingServer, Reply, faults
from embedding_server.chat import chat, completion
from septet.errors import EmbeddingError, ProfileError, QueryError
from septet.retrieval.expansion.chat import ChatExpander, chat_url, expanding_of
from septet.retrieval.expansion.config import ExpansionConfig, expansion_config

KEY = "sk-secret-0123456789abcdef"
TWO = '["replace credentials", "renew API keys"]'


def said_by(reply):
    return EmbeddingServer(routes=[chat(lambda user: reply)], keys=())


@pytest.fixture
def server():
    with said_by(TWO) as made:
        yield made


@pytest.fixture
def open_():
    """Make things that are closed after the test."""
    with ExitStack() as stack:
        yield lambda made: stack.enter_context(closing(made))


@pytest.fixture
def asking(open_):
    return lambda server, **fields: open_(expanding_of({"model": "small", "base_url": server.url, **fields}))


def told(fault):
    """A traceback with what its frames hold, but for those of this file."""
    frames = fault.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.TracebackException(type(fault), fault, frames, capture_locals=True).format())


def test_a_query_is_sent_as_documented_and_said_in_other_words(server, asking):
    found = asking(server, timeoutS=20).begin("rotate keys").result()
    assert found.variants == ("rotate keys", "replace credentials", "renew API keys") and found.notes == ()
    (request,) = server.requests
    sent = request.json()
    assert request.path == "/v1/chat/completions" and "authorization" not in request.headers
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("small", 0, 256)
    assert sent["messages"][1] == {"role": "user", "content": 'Input: "rotate keys"'}
    assert "JSON array" in sent["messages"][0]["content"] and "two or three" in sent["messages"][0]["content"]


@pytest.mark.parametrize(
    ("provider", "environment", "path", "key", "limit"),
    [
        ("openai", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "{}"}, "/v1/", KEY, "max_completion_tokens"),
        ("ollama", {"OLLAMA_HOST": "{}", "OPENAI_API_KEY": KEY}, "/v1/", "", "max_tokens"),
        ("openrouter", {"OPENROUTER_API_KEY": KEY}, "/api/v1/", KEY, "max_tokens"),
        (None, {"OPENAI_API_KEY": KEY}, "/v1beta/openai/", "", "max_tokens"),
    ],
)
def test_each_provider_has_its_address_its_key_and_its_names(server, open_, provider, environment, path, key, limit):
    env = {name: value.format(server.url) for name, value in environment.items()}
    given = provider in ("openai", "ollama")
    base = None if given else server.url + path
    expander = open_(ChatExpander("small", provider=provider, base_url=base, environment=env, timeout_s=20))
    assert expander("rotate keys") == json.loads(TWO)
    (request,) = server.requests
    assert request.path == f"{path}chat/completions" and limit in request.json()
    assert request.headers.get("authorization", "") == (f"Bearer {key}" if key else "")
    assert KEY not in repr(expander)


def test_more_fields_are_sent_and_none_takes_one_away(server, open_):
    body = {"reasoning_effort": "minimal", "temperature": None, "max_tokens": None, "max_completion_tokens": 900}
    open_(ChatExpander("small", base_url=server.url, body=body, timeout_s=20))("q")
    sent = server.requests[0].json()
    assert sent.keys() == {"model", "messages", "reasoning_effort", "max_completion_tokens"}


READ = {
    "a fence": ('```json\n["a b", "c"]\n```', ("a b", "c")),
    "a bare fence": ('```\n["a b", "c"]\n```', ("a b", "c")),
    "prose around": ('Of course!\n["a b", "c"]\nAnything else?', ("a b", "c")),
    "numbers among": ('[1, "a b", 2.5, "c", null]', ("a b", "c")),
    "arrays in an array": ('[["a b"], ["c"]]', ("a b",)),
    "an object": ('{"queries": ["a b", "c"]}', ("a b", "c")),
    "thoughts first": ('<think>["no"]</think>\n["a b", "c"]', ("a b", "c")),
    "too many, and again": ('["a b", "A  B", "Q", "c", "d", "e"]', ("a b", "c", "d")),
    "none": ("[]", ()),
    "parts": ([{"type": "text", "text": '["a b",'}, {"type": "text", "text": ' "c"]'}], ("a b", "c")),
}


@pytest.mark.parametrize("kind", READ)
def test_replies_are_read_whatever_stands_around_them(asking, kind):
    reply, wanted = READ[kind]
    with said_by(reply) as server:
        found = asking(server, timeout_s=20).begin("q").result()
    assert found.variants == ("q", *wanted) and found.notes == ()


def json_of(value):
    return lambda provider, answer: Reply(content=value)


def redirect(provider, answer):
    return Reply(302, b"", {"location": "http://127.0.0.1:1/elsewhere"})


def bytes_of(size):
    return lambda provider, answer: completion('["' + "x" * size + '"]')


BROKEN = {
    "slow": (faults.slow_body, "no answer within"),
    "trickling": (faults.trickling_body, "no answer within"),
    "endless": (faults.endless_body, "the maximum for this request"),
    "10 MB": (bytes_of(10 * 2**20), "more than 1,048,576 bytes"),
    "500": (faults.status(500), "answered 500: told to fail"),
    "429": (faults.status(429, retry_after="60"), "which is too late"),
    "no quota": (faults.QUOTA, "no quota left"),
    "404": (faults.status(404, "model not found"), "check the model and the address"),
    "HTML": (faults.html, "a page of text/html instead of JSON"),
    "half of the JSON": (faults.half_json, "not JSON, or are truncated"),
    "cut in the middle": (faults.cut_body, "broke off"),
    "closed": (faults.no_answer, "broke off"),
    "redirect": (redirect, "redirects are not followed"),
    "an array": (json_of(["a", "b"]), "no chat completion"),
    "null": (json_of(None), "no chat completion"),
    "no choices": (json_of({"choices": []}), "no chat completion"),
    "no message": (json_of({"choices": [{"index": 0}]}), "no text"),
    "an error with status 200": (json_of({"error": {"message": "overloaded"}}), "an error with status 200: overloaded"),
    "no content": (lambda provider, answer: completion(None, finish_reason="length"), "finish_reason length"),
    "prose alone": (lambda provider, answer: completion("I cannot do that."), "no JSON array"),
    "cut by its length": (lambda provider, answer: completion('["a", "b'), "no JSON array"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_whatever_the_server_does_the_query_alone_is_left_and_the_note_says_why(server, asking, kind):
    fault, said = BROKEN[kind]
    server.script(fault)
    # What comes late is waited for in vain; what comes at all has time, however busy the machine is.
    expanding = asking(server, timeout_s=1 if "no answer within" in said else 20)
    found = expanding.begin("rotate keys").result()
    (note,) = found.notes
    assert found.variants == ("rotate keys",) and note.code == "expansion_failed"
    assert said in note.cause and note.cause.isprintable() and len(note.cause) < 700
    assert len(server.requests) == 1
    assert "it rests" in expanding.begin("other").result().notes[0].cause and len(server.requests) == 1


def test_a_limited_rate_is_tried_again_within_the_time(server, asking):
    server.script(faults.status(429, retry_after_ms="10"))
    found = asking(server, timeout_s=20).begin("q").result()
    assert len(found.variants) == 3 and len(server.requests) == 2


def test_nobody_at_the_address_is_a_note_too(open_):
    with said_by(TWO) as server:
        gone = server.url
    found = open_(expanding_of({"model": "m", "base_url": gone})).begin("q").result()
    assert found.variants == ("q",) and "cannot be reached" in found.notes[0].cause


def test_a_key_is_seen_in_no_note_no_error_no_repr_and_no_log(server, open_, caplog):
    caplog.set_level(logging.DEBUG)
    server.keys = ("another key",)
    config = ExpansionConfig(model="small", base_url=server.url, api_key=KEY, timeout_s=20)
    expanding = open_(expanding_of(config))
    (note,) = expanding.begin("q").result().notes
    assert "401" in note.cause and "[key]" in note.cause
    with pytest.raises(EmbeddingError) as caught:
        open_(ChatExpander.of(config))("q")
    texts = [str(note), repr(config), str(config.model_dump()), repr(expanding), expanding.fault, caplog.text]
    assert not [text for text in (*texts, told(caught.value)) if KEY in text]


ECHOED = {
    "an error": lambda key: Reply(400, {"error": {"message": f"bad key {key}"}}),
    "an error with status 200": lambda key: Reply(200, {"error": {"message": f"bad key {key}"}}),
    "an error in base64": lambda key: Reply(200, {"error": {"message": base64.b64encode(key.encode()).decode()}}),
    "the end": lambda key: completion("", finish_reason=key),
    "the content": lambda key: completion(f"your key is {key}"),
    "the page": lambda key: Reply(502, f"bad {key}".encode(), {"content-type": "text/plain"}),
}


@pytest.mark.parametrize("kind", ECHOED)
def test_a_key_that_a_server_says_back_is_not_passed_on(server, asking, kind):
    server.script(lambda provider, answer: ECHOED[kind](KEY))
    (note,) = asking(server, api_key=KEY, timeout_s=20).begin("q").result().notes
    assert KEY not in str(note) and base64.b64encode(KEY.encode()).decode()[:12] not in str(note)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_keys_come_from_the_configuration_or_from_a_function_never_from_elsewhere(server, open_):
    server.keys = ("the-key-of-the-function",)
    asked = []

    def secrets(name):
        asked.append(name)
        return "the-key-of-the-function" if name == "GPU_KEY" else None

    environment = {"GPU_KEY": "the-key-of-the-environment"}
    config = {"model": "m", "baseUrl": server.url, "apiKeyEnv": "GPU_KEY", "timeoutS": 20}
    expanding = open_(expanding_of(config, secrets=secrets, environment=environment))
    assert len(expanding.begin("q").result().variants) == 3
    assert asked == ["GPU_KEY"]
    with pytest.raises(ProfileError, match="no API key for openai: set OPENAI_API_KEY"):
        ChatExpander("m", secrets=secrets, environment={"OPENAI_API_KEY": KEY})


def broken_secrets(name):
    raise RuntimeError(KEY)


@pytest.mark.parametrize("secrets", [broken_secrets, lambda name: 7, lambda name: "two words", lambda name: " ", "no"])
def test_a_function_of_secrets_that_gives_no_key_is_an_error_without_one(secrets):
    with pytest.raises(ProfileError) as caught:
        ChatExpander("m", secrets=secrets)
    assert KEY not in told(caught.value) and "two words" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "names no model"),
        ({"provider": "ollama"}, "no default model"),
        ({"model": "m", "provider": "openai-compatible"}, "no default address"),
        ({"model": "m", "provider": "clever"}, "provider"),
        ({"model": "m", "base_url": "gpu:8000"}, "must be an address"),
        ({"model": "m", "base_url": "http://gpu:port/v1"}, "invalid at base_url"),
        ({"model": "m", "base_url": f"http://user:{KEY}@gpu/v1"}, "put keys into apiKey"),
        ({"model": "m", "api_key": f"{KEY} {KEY}"}, "printable ASCII"),
        ({"model": "m", "temperature": 3}, "temperature"),
        ({"model": "m", "maxTokens": 0}, "maxTokens"),
        ({"model": "m", "timeoutS": 0}, "timeoutS"),
        ({"model": "m", "most": 11}, "most"),
        ({"model": "m", "body": {"seed": float("nan")}}, "body"),
        ({"model": "m", "body": [KEY]}, "body"),
        ({"model": "m", "key": KEY}, "has no field key; its fields are apiKey"),
    ],
)
def test_a_wrong_field_is_named_and_its_value_is_not_shown(fields, said):
    with pytest.raises(ProfileError, match=said) as caught:
        ChatExpander.of(expansion_config(fields), environment={})
    assert KEY not in told(caught.value)


def test_names_of_fields_are_taken_in_both_styles_and_nothing_is_expanded_unasked():
    snake = ExpansionConfig(model="m", base_url="http://gpu/v1", timeout_s=2, cache_size=5, max_tokens=64)
    camel = expansion_config(
        {"expansion": {"model": "m", "baseUrl": "http://gpu/v1", "timeoutS": 2, "cacheSize": 5, "maxTokens": 64}}
    )
    assert snake == camel and snake.chosen == "openai-compatible"
    assert expanding_of(None) is None and expanding_of({"provider": "off", "model": "m"}) is None
    assert ExpansionConfig(model="m").chosen == "openai" and ExpansionConfig(provider=False).chosen == "none"
    own = expanding_of({"most": 1}, expander=lambda query: ["a", "b"])
    assert own is not None and own.begin("q").result().variants == ("q", "a")
    with pytest.raises(QueryError, match="expander"):
        expanding_of(None, expander="m")


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://gpu", "http://gpu/v1/chat/completions"),
        ("http://gpu/", "http://gpu/v1/chat/completions"),
        ("http://gpu/v1/", "http://gpu/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai/chat/completions"),
        ("https://host/any/chat/completions", "https://host/any/chat/completions"),
    ],
)
def test_addresses_of_any_form_lead_to_the_chat_completions(base, url):
    assert chat_url(base) == url
