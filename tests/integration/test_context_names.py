"""Entries that a query names: whole words and phrases of their tags ``alias:NAME``, in any script."""

import pytest

from septet import Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1.7e9) as opened:
        yield opened


def codes(context):
    return [(item.hit.id, item.code) for item in context.items]


@pytest.mark.parametrize("query", ["what is PG", "pg?", "Tune PG, please", "(pg)", "the Post  GRES"])
def test_a_name_in_the_query_brings_its_entry(vault, query):
    vault.add(id="db", title="Storage of orders", tags=["alias:pg", "Alias: post gres "])
    vault.add(id="other", title="Storage of pictures")
    assert ("db", "alias") in codes(vault.context(query))


@pytest.mark.parametrize("query", ["pgx", "p g", "postgres", "upg", "alias"])
def test_a_name_is_a_whole_word_or_phrase(vault, query):
    vault.add(id="db", title="Storage of orders", tags=["alias:pg", "alias:post gres"])
    assert ("db", "alias") not in codes(vault.context(query))


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("C++", "should I write it in c++ or not"),
        ("プロジェクト", "このプロジェクトについて教えて"),
        ("Ärzte", "wer sind die ÄRZTE?"),
        ("k8s-prod", "restart k8s-prod now"),
    ],
)
def test_a_name_may_have_signs_and_any_script(vault, name, query):
    vault.add(id="it", title="Something else", tags=[f"alias:{name}"])
    for number in range(80):
        vault.add(id=f"e{number}", title=f"Note {number} on an alias that is always there")
    assert ("it", "alias") in codes(vault.context(query))


@pytest.mark.parametrize("others", [0, 200])
@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("결제 서비스", "결제 서비스는 어디에 있어?"),
        ("결제", "결제에서는 무엇을 쓰나"),
        ("팀", "팀은 어디"),
        ("Vega", "Vega는 언제 시작해"),
        ("Vega", "Vegaの鍵はいつ変わる"),
        ("Vega", "ＶＥＧＡ?"),
        ("Rust语言", "学习Rust语言吧"),
        ("café", "the cafe\u0301 is open"),
        ("cafe\u0301", "the café is open"),
    ],
)
def test_a_name_is_found_before_particles_at_another_script_and_in_each_form_of_a_letter(vault, name, query, others):
    vault.add(id="it", title="Something else", tags=[f"alias:{name}"])
    vault.add_many({"title": f"Entry {number}", "tags": [f"alias:filler {number}"]} for number in range(others))
    assert ("it", "alias") in codes(vault.context(query))


@pytest.mark.parametrize(("name", "query"), [("C", "build it in C++"), ("C", "is C# good"), ("팀", "팀장 누구")])
def test_a_name_is_no_part_of_another_name(vault, name, query):
    vault.add(id="it", title="Something else", tags=[f"alias:{name}"])
    assert ("it", "alias") not in codes(vault.context(query))


def test_a_name_is_found_among_many_that_begin_with_the_same_word(vault):
    vault.add_many({"id": f"n{number}", "title": "It", "tags": [f"alias:team {number}"]} for number in range(600))
    assert codes(vault.context("who is in team 507 now")) == [("n507", "alias")]
