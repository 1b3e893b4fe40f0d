"""Redactor: secrets of every kind are hidden, ordinary text stays, users add rules and switch some off."""

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secrets_planted import KINDS, planted
from septet import EntryError, RedactionRule, Redactor
from septet.files.secrets import DEFAULT, LITERAL

ALL = Redactor()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_a_secret_of_any_kind_stays(kind):
    draw = random.Random(kind)
    for _ in range(25):
        text, secret = planted(kind, draw)
        found = ALL.redact(f"Here it is: {text} and then more words.")
        assert secret not in found.text, (kind, text, found)
        assert "***" in found.text
        assert sum(found.counts.values()) >= 1


def test_there_are_secrets_of_25_kinds_and_more():
    assert len(KINDS) >= 25
    assert len({rule.name for rule in DEFAULT}) >= 25
    assert len(LITERAL) == 16


ORDINARY = [
    "MONKEY=banana",
    "my key: value",
    "password is hunter2",
    "Bearer short",
    "no secrets here",
    "card 4111 1111 1111 1111",
    "The token: a string of letters",
    "max_tokens=200, tokens: u32, use super::tokens::Neon;",
    "def login(password: str, token: Token | None = None) -> None:",
    "API_KEY=<your key>, or export API_KEY=$OTHER",
    "--password option, --token TOKEN_NAME",
    "sk-toggleable__label, sk-estimator-doc-link",
    "https://host:8080/path@version",
    "token = self.next_token(text)",
    "Basic authentication, Bearer authentication",
    "Thẻ bài: mật khẩu là gì?",
    "a" * 40 + " " + "0" * 64,
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    assert ALL.redact(text) == (text, {})


@given(st.text(max_size=200))
def test_a_redacted_text_is_not_changed_again(text):
    once = ALL.redact(text)
    assert ALL.redact(once.text) == (once.text, {})


@settings(max_examples=50)
@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.text(max_size=40), st.text(max_size=40))
def test_a_secret_is_hidden_among_any_text_once_for_all_and_lines_keep_their_numbers(kind, seed, before, after):
    text, secret = planted(kind, random.Random(seed))
    found = ALL.redact(f"{before} \n {text} \n {after}")
    assert secret not in found.text
    assert found.text.count("\n") == f"{before}{text}{after}".count("\n") + 2
    assert ALL.redact(found.text).text == found.text


def test_a_private_key_on_one_line_and_one_without_its_end_are_hidden():
    body = "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=400))
    kind = "RSA PRIVATE" + " KEY"
    assert body[:64] not in ALL.redact(f"-----BEGIN {kind}----- {body[:64]} {body[64:]} -----END {kind}-----").text
    cut = ALL.redact(f"see -----BEGIN {kind}-----\n{body[:64]}\n{body[64:200]}").text
    assert body[:64] not in cut
    assert body[64:128] not in cut


def test_a_rule_of_the_user_runs_and_a_rule_that_is_switched_off_does_not():
    own = Redactor(add=[("badge", "B-[0-9]+"), RedactionRule("ticket", "(?i)ticket ([a-z]+)")], without="telegram")
    text = "badge B-1234, ticket abc, bot 123456789:AAFabcdefghijklmnopqrstuvwxyz12345"
    assert own.redact(text) == (
        "badge ***, ticket ***, bot 123456789:AAFabcdefghijklmnopqrstuvwxyz12345",
        {"badge": 1, "ticket": 1},
    )
    assert ALL.redact(text).counts == {"telegram": 1}
    again = Redactor(**own.settings)
    assert again.rules == own.rules
    assert again.identity == own.identity != ALL.identity


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rules": "none"}, "known are default, literal"),
        ({"without": ["made-up"]}, "without names 'made-up'"),
        ({"add": [("a", "(")]}, "cannot be used"),
        ({"add": [("a", "(?=x)")]}, "without look-around"),
        ({"add": [("a",)]}, "a rule is"),
        ({"add": [("a", "b", "hide")]}, "masks are hidden, documented, block"),
        ({"add": [("a", "x" * 10_001)]}, "the most is 10,000"),
        ({"add": [("a", "(?:x{1000}){1000}")]}, "cannot be used"),
        ({"add": 5}, "add"),
    ],
)
def test_a_malformed_rule_is_refused_with_what_was_wanted(fields, said):
    with pytest.raises(EntryError, match="(?s)" + said):
        Redactor(**fields)


def test_many_texts_at_once_are_redacted_as_one_by_one():
    draw = random.Random(5)
    texts = [planted(kind, draw)[0] if i % 2 else f"plain {i}" for i, kind in enumerate(KINDS)]
    found = dict(ALL.redact_all(texts))
    assert sorted(found) == [i for i in range(len(texts)) if i % 2]
    assert all(found[i] == ALL.redact(texts[i]) for i in found)


def test_half_a_character_and_no_character_are_no_obstacle():
    assert ALL.redact("\ud800 TOKEN=abc\0") == ("\ufffd TOKEN=***", {"env_assignment": 1})
    assert ALL.redact("") == ("", {})
