"""A path, with a line too, is an id where one entry is read: in the library, in a federation, for agents."""

import asyncio

import pytest

from septet import AsyncVault, EntryError, EntryNotFound, Federation, Vault
from septet.service.operations import OPERATIONS
from septet.service.running import get, load
from septet.service.served import Served


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.md").write_text("# Tea\n\n" + "Green.\n" * 300 + "# End\n\nBlack.\n" * 80, encoding="utf-8")
    (folder / "b#L2.md").write_text("# Odd\n\nA name.\n", encoding="utf-8")
    return folder


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db") as made:
        made.sync(notes)
        yield made


def spans(vault, path="deep/a.md"):
    return sorted((e.span.first_line, e.span.last_line, e.id) for e in vault if e.span and e.span.path == path)


def test_a_path_is_the_first_chunk_of_its_file_and_a_line_the_chunk_that_holds_it(vault):
    own = spans(vault)
    assert len(own) > 2 and vault.get("deep/a.md").id == own[0][2]
    for first, last, id in own:
        assert vault.get(f"deep/a.md#L{first}-L{last}").id == vault.get(f"deep/a.md#L{first}-{last}").id == id
        assert vault.get(f"deep/a.md#L{last}").span.last_line >= last
    for entry in vault:
        assert vault.get(entry.citation) == entry
    assert vault.get("b#L2.md").title == "Odd" and vault.get("b#L2.md#L3").title == "Odd"


@pytest.mark.parametrize("missing", ["deep/b.md", "a.md", "deep/a.md#L99999", "deep/a.md#L0", "deep", "#L1", ".", "/"])
def test_what_is_no_place_is_nothing(vault, missing):
    assert vault.get(missing) is None and missing not in vault


def test_an_id_that_exists_comes_first_and_contains_means_ids(vault):
    assert "deep/a.md" not in vault and vault.load(["deep/a.md"]) == []
    vault.add(id="deep/a.md", title="An entry of its own")
    assert vault.get("deep/a.md").title == "An entry of its own" and vault.get("deep/a.md#L1").title == "Tea"
    assert "deep/a.md" in vault


def test_a_path_in_two_folders_is_refused_with_the_ids_that_it_may_be(vault, tmp_path):
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / "more" / "deep" / "a.md").write_text("# Another\n", encoding="utf-8")
    vault.sync(tmp_path / "more")
    second = next(e.id for e in vault if e.source == "more")
    with pytest.raises(EntryError) as told:
        vault.get("deep/a.md")
    assert all(name in str(told.value) for name in (second, "notes", "more"))
    assert vault.get(second).title == "Another"


def test_a_federation_finds_it_in_the_tier_that_has_it(vault):
    own = spans(vault)
    with Vault(":memory:") as other, Federation({"top": other, "files": vault}) as federation:
        assert federation.get("deep/a.md").id == federation.tier("files").get("deep/a.md").id == own[0][2]
        assert federation.tier("top").get("deep/a.md") is None and "deep/a.md" not in federation


def test_an_async_vault_finds_it(vault, tmp_path):
    async def asked():
        async with AsyncVault(tmp_path / "v.db") as opened:
            return await opened.get("deep/a.md#L1")

    assert asyncio.run(asked()).id == spans(vault)[0][2]


def test_the_service_gets_and_loads_by_path(vault):
    served, own = Served(vault), spans(vault)
    requests = {name: one.request for name, one in OPERATIONS.items()}
    asked = requests["get"](id="deep/a.md#L1")
    assert get(served, asked)["id"] == own[0][2]
    answer = load(served, requests["load"](ids=[own[0][2], "deep/a.md", own[1][2], "b#L2.md", "gone.md", "gone"]))
    assert [one["id"] for one in answer["entries"]] == [own[0][2], own[1][2], vault.get("b#L2.md").id]
    assert answer["missing"] == ["gone.md", "gone"]
    with pytest.raises(EntryNotFound):
        get(served, requests["get"](id="gone.md"))
