"""An id that is made from a text holds nothing that is masked, so that a redaction leaves nothing behind."""

import pytest

from septet import Vault

KEY = "sk-" + "ant-api03-" + "Tapir9941Quokka2207Wombat5518Numbat6623"
TITLES = [
    f"key {KEY}",
    "mysql -u root -pTapir9941 shop",
    "password: Tapir9941",
    "DB_PASSWORD=Tapir9941 is for staging",
    "https://ann:Tapir9941@example.org/db",
    "pass: Tapir9941",
    "machine example.org login ann password TapirQuokka",
]


def holds(text):
    return any(part in text.casefold() for part in ("tapir", "quokka", "sk-ant"))


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        yield made


@pytest.mark.parametrize("title", TITLES)
def test_no_way_into_the_vault_makes_an_id_with_a_secret(vault, title):
    ids = [vault.add(title=title), vault.remember(title), vault.remember(title, "said in passing")]
    ids += vault.add_many([{"title": title, "context": "one"}, {"title": "a plain note"}])
    ids += vault.add_many([{"title": title, "kind": "rule", "description": "word " * 400}], split="auto")
    ids += vault.add_many([{"title": title, "trust": "untrusted"}], on_similar="keep")
    assert not [one for one in ids if holds(one)]


@pytest.mark.parametrize("title", TITLES)
def test_a_redaction_of_what_was_added_leaves_no_secret(vault, title):
    vault.add_many([{"title": title}, {"title": "a plain note"}])
    vault.remember(title)
    report = vault.redact()
    assert not report.left
    assert not any(holds(f"{one.id} {one.title}") for one in vault.entries())


@pytest.mark.parametrize("title", TITLES)
def test_the_same_text_still_has_the_same_id_and_another_secret_another_one(vault, title):
    first = vault.add(title=title)
    assert vault.add_many([{"title": title}]) == [first] and len(vault) == 1
    assert vault.add(title=title.replace("Tapir", "Tapirs")) != first
    memory = vault.remember(title, topics=["a"])
    assert vault.remember(title) == memory and vault.get(memory).tags == ("a",)


def test_titles_without_secrets_keep_their_ids_and_an_id_of_ones_own_stays(vault):
    assert vault.add(title="Rotate the JWT: keys of sha256, pass the test!").startswith("rotate-the-jwt-keys-of-sha256")
    assert vault.add(id="mine", title=TITLES[0]) == "mine"
