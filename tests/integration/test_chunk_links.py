"""Links from chunk to chunk of a file are there to be read, and make no chunk near another in a search."""

import pytest

from septet import Vault

NOW = 1_760_000_000.0
SECTIONS = [
    "herons stand still",
    "otters sleep in the reeds",
    "rain fell on the weir",
    "nobody came by",
    "the end of it",
]


@pytest.fixture
def folder(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    long = "".join(f"# Part {i}\n\n" + f"{text}. " * 90 + "\n\n" for i, text in enumerate(SECTIONS))
    (notes / "long.md").write_text(long, encoding="utf-8")
    (notes / "other.md").write_text("# Other\n\nMoles dig below the weir, see [[long]].\n", encoding="utf-8")
    return notes


def proximities(found):
    return {hit.entry.title: hit.signals["graph_proximity"] for hit in found}


@pytest.mark.parametrize("profile", ["septet", "seven-signals"])
def test_chunks_are_not_near_because_they_stand_one_behind_the_other(folder, profile):
    with Vault(":memory:", clock=lambda: NOW, profile=profile) as vault:
        vault.sync(folder)
        chunks = {entry.title: entry.id for entry in vault}
        links = [link for entry in vault for link in vault.links(entry.id)]
        assert {link.type for link in links} == {"next", "mentions"}
        # The chunk that names the file of the other is near its first, and no neighbour of that comes along.
        found = proximities(vault.search("moles dig", limit=50))
        assert set(found) == {"Other", "Part 0"} and found["Part 0"] == 0.5
        assert not any(proximities(vault.search("otters sleep", limit=50)).values())
        vault.link(chunks["Part 1"], chunks["Part 2"], "related")
        assert proximities(vault.search("otters sleep", limit=50))["Part 2"] == 0.5
        vault.unlink(chunks["Part 1"], chunks["Part 2"])
        assert not any(proximities(vault.search("otters sleep", limit=50)).values())


def test_it_is_the_same_after_changes_and_for_a_vault_that_is_opened_again(folder, tmp_path):
    path = tmp_path / "v.septet"
    for again in range(3):
        with Vault(path, clock=lambda: NOW) as vault:
            vault.sync(folder)
            assert not any(proximities(vault.search("otters sleep", limit=50)).values())
            vault.optimize()
            (folder / "long.md").write_text((folder / "long.md").read_text() + f"\n# New {again}\n\nMore.\n")
            vault.sync()
            assert not any(proximities(vault.search("otters sleep", limit=50)).values())
            assert proximities(vault.search("moles dig", limit=50))["Part 0"] == 0.5


def test_parts_of_a_split_text_are_near_and_steps_of_the_users_own():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="doc", title="River", description=" ".join(f"{text}. " * 60 for text in SECTIONS), split=150)
        assert [link.type for link in vault.links("doc#2")] == ["next", "next"]
        assert any(hit.signals["graph_proximity"] for hit in vault.search("otters sleep", limit=50))
        for kind in ("entry", "chunk"):
            vault.add(id="first", title="Weigh the flour", kind=kind)
            vault.add(id="second", title="Knead the dough")
            vault.link("first", "second", "next")
            assert proximities(vault.search("flour", limit=50))["Knead the dough"] == 0.5
