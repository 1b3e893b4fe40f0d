"""Redactor: secrets of every kind are hidden, ordinary text stays, users add rules and switch some off."""

import base64
import json
import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secrets_planted import KINDS, planted
from septet import EntryError, Redactor
from septet.files import RedactionRule
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
    assert len(DEFAULT) > 70
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
        ({"without": ["made-up"]}, "unknown rule 'made-up' in without"),
        ({"add": [("a", "(")]}, "'a' cannot be used: unclosed group; patterns"),
        ({"add": [("a", "(" * 5_000)]}, "'a' cannot be used: unclosed group"),
        ({"add": [("a", "(?=x)")]}, "without look-around"),
        ({"add": [("a",)]}, "a rule is"),
        ({"add": [("a", "b", "hide")]}, "masks are hidden, documented, block"),
        ({"add": [("a", "x" * 10_001)]}, "at most 10,000 are allowed"),
        ({"add": [("a", "(?:x{1000}){1000}")]}, "cannot be used"),
        ({"add": 5}, "add"),
    ],
)
def test_a_malformed_rule_is_refused_with_what_was_wanted(fields, said):
    with pytest.raises(EntryError, match=said) as refused:
        Redactor(**fields)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 1_500


def test_many_texts_at_once_are_redacted_as_one_by_one():
    draw = random.Random(5)
    texts = [planted(kind, draw)[0] if i % 2 else f"plain {i}" for i, kind in enumerate(KINDS)]
    found = dict(ALL.redact_all(texts))
    assert sorted(found) == [i for i in range(len(texts)) if i % 2]
    assert all(found[i] == ALL.redact(texts[i]) for i in found)


def test_half_a_character_and_no_character_are_no_obstacle():
    assert ALL.redact("\ud800 TOKEN=abc\0") == ("\ufffd TOKEN=***", {"env_assignment": 1})
    assert ALL.redact("") == ("", {})


#: How texts come to be written that hold a secret; what is masked is looked for without what they add.
WRITTEN = {
    "in JSON, behind a line break of two letters": lambda text: json.dumps({"x": f"line\n{text}\nmore"}),
    "in JSON within JSON": lambda text: json.dumps(json.dumps({"x": f"line\n\t{text}\nmore"})),
    "with line ends of Windows": lambda text: f"a\r\n{text}\r\nb",
    "with a character that nobody sees in the middle": lambda text: "\u200b".join(halves(text)),
    "with two of them, and one in front": lambda text: "\ufeff" + "\u00ad\u2060".join(halves(text)),
    "behind letters of another script": lambda text: f"密钥是{text}请保密",
    "in a table": lambda text: f"| key | {text} |",
    "in bold": lambda text: f"**{text}**",
}


def halves(text):
    return text[: len(text) // 2], text[len(text) // 2 :]


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_secrets_are_found_however_they_are_written(written):
    draw, missed, number = random.Random(11), [], 0
    for kind in KINDS:
        for _ in range(4):
            text, secret = planted(kind, draw)
            number += 1
            masked = ALL.redact(written(text)).text
            for hidden in "\u200b\u00ad\u2060\ufeff":
                masked = masked.replace(hidden, "")
            if any(secret[at : at + 8] in masked for at in range(len(secret) - 7)):
                missed.append(kind)
    assert len(missed) <= 0.01 * number, missed


def test_a_token_in_emphasis_and_a_private_key_in_base64_are_found():
    token = "ghp_" + "Zq7x" * 9
    assert ALL.redact(f"an _{token}_ here").text == "an _***_ here"
    key = base64.b64encode(("-----BEGIN RSA PRIVATE" + " KEY-----\nMIIabc7" * 9).encode()).decode()
    assert ALL.redact(f"client-key-data: {key}").text == "client-key-data: ***"


def test_line_breaks_of_two_letters_and_invisible_characters_alone_change_nothing():
    for text in (
        "a\\nb \\t c:\\new \\\\n",
        "e\u200bf \u00ad",
        "_private_name_of_a_thing_ __init__",
        '{"a": "b\\nc \\"d\\""}',
    ):
        assert ALL.redact(text) == (text, {}) and ALL.spans(text) == ([], {})


def test_spans_are_where_the_masks_stand():
    draw = random.Random(12)
    for kind in KINDS:
        text = f"in front {planted(kind, draw)[0]} between\u200b {planted(kind, draw)[0]} behind"
        spans, counts = ALL.spans(text)
        masked, others = ALL.redact(text)
        kept = [text[a:b] for a, b in zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)])]
        assert masked == "***".join(kept) and counts == others and spans == sorted(spans)


@pytest.mark.parametrize("unit", ["a", "eyJ", "password=", "-----BEGIN PRIVATE KEY-----\n", "http://a:b", "x_key: '"])
def test_a_text_four_times_as_long_takes_about_four_times_as_long(unit):
    def took(count):
        text, took = unit * (count // len(unit)), []
        for _ in range(3):
            began = time.process_time()
            ALL.redact(text)
            took.append(time.process_time() - began)
        return min(took)

    took(20_000)
    # Sixteen times where the time grew with the square of the length.
    assert took(240_000) < 10 * took(60_000)
