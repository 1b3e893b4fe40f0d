"""A wiki link by another name of a note leads to that note, whatever comes, goes and is renamed."""

import pytest

from septet import Vault


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    return tmp_path / "notes"


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        yield made


def write(notes, **texts):
    for name, text in texts.items():
        (notes / f"{name}.md").write_text(text, encoding="utf-8")


def note(*aliases, text="# Pond\n\nIt is green.\n\n# Fish\n\nEels live there.\n"):
    return f"---\naliases: [{', '.join(aliases)}]\n---\n{text}"


def led(vault, path="home.md"):
    """Where the links of a file lead: path, title and note of each."""
    own = [entry.id for entry in vault if entry.span.path == path]
    links = (link for one in own for link in vault.links(one) if link.source == one and link.type == "mentions")
    titled = ((vault.get(link.target), link.note) for link in links)
    return sorted((entry.span.path, entry.title.partition(" (")[0], note) for entry, note in titled)


@pytest.mark.parametrize("said", ["[[The Lake]]", "![[the lake]]", "[[THE LAKE|that water]]"])
def test_another_name_leads_to_the_note_in_any_case(vault, notes, said):
    write(notes, home=f"See {said}.\n", pond=note("The Lake"))
    vault.sync(notes)
    assert led(vault) == [("pond.md", "Pond", "the lake")]


def test_a_note_is_found_by_another_name_before_those_that_mention_it(vault, notes):
    long = "# Pond\n\n" + "It is green.\n" * 20
    write(notes, pond=note("Mere", text=long), home="# Home\n\nThe mere, the mere: ours.\n", walk="Round the mere.\n")
    vault.sync(notes)
    assert vault.search("mere")[0].title == "Pond (Mere)"


def test_front_matter_may_name_a_note_by_its_other_name(vault, notes):
    write(notes, home='---\nup: "[[The Lake]]"\n---\nHome.\n', pond="---\nalias: The Lake\n---\n# Pond\n\nGreen.\n")
    vault.sync(notes)
    assert led(vault) == [("pond.md", "Pond", "the lake")]


def test_a_heading_behind_another_name_leads_to_its_chunk(vault, notes):
    long = "# Pond\n\n" + "It is green.\n" * 200 + "\n# Fish\n\n" + "Eels live there.\n" * 200
    write(notes, home="See [[The Lake#Fish|the eels]].\n", pond=note("The Lake", text=long))
    vault.sync(notes)
    assert led(vault) == [("pond.md", "Fish", "the lake#Fish")]


def test_a_file_of_that_name_counts_before_another_name(vault, notes):
    write(notes, home="See [[Lake]].\n", pond=note("Lake"))
    vault.sync(notes)
    assert led(vault) == [("pond.md", "Pond", "lake")]
    (notes / "deep" / "lake.md").write_text("# A lake\n\nBlue.\n", encoding="utf-8")
    vault.sync()
    assert led(vault) == [("deep/lake.md", "A lake", "lake")]
    (notes / "deep" / "lake.md").unlink()
    vault.sync()
    assert led(vault) == [("pond.md", "Pond", "lake")]


def test_of_several_notes_with_the_name_the_nearest_counts_as_of_files(vault, notes):
    write(notes, home="See [[Lake]].\n", farther=note("Lake", text="# Far\n\nBlue.\n"))
    (notes / "deep" / "a.md").write_text(note("Lake", text="# Deep\n\nBlack.\n"), encoding="utf-8")
    (notes / "deep" / "home.md").write_text("See [[Lake]].\n", encoding="utf-8")
    vault.sync(notes)
    assert [path for path, *_ in led(vault)] == ["farther.md"]
    assert [path for path, *_ in led(vault, "deep/home.md")] == ["deep/a.md"]


def test_links_follow_the_name_to_the_note_that_has_it_now(vault, notes):
    write(notes, home="See [[Lake]].\n", pond="# Pond\n\nGreen.\n")
    vault.sync(notes)
    assert led(vault) == []
    write(notes, pond=note("Lake"))
    vault.sync()
    assert led(vault) == [("pond.md", "Pond", "lake")]
    (notes / "pond.md").rename(notes / "deep" / "puddle.md")
    vault.sync()
    assert led(vault) == [("deep/puddle.md", "Pond", "lake")]
    (notes / "deep" / "puddle.md").write_text(note("Lake", text="# Puddle\n\nAnother text.\n"), encoding="utf-8")
    vault.sync()
    assert led(vault) == [("deep/puddle.md", "Puddle", "lake")]
    (notes / "deep" / "puddle.md").write_text("# Puddle\n\nAnother text.\n", encoding="utf-8")
    vault.sync()
    assert led(vault) == []


def test_the_link_goes_with_the_note(vault, notes):
    write(notes, home="See [[Lake]].\n", pond=note("Lake"))
    vault.sync(notes)
    (notes / "pond.md").unlink()
    vault.sync()
    assert led(vault) == []


def test_a_name_that_a_note_has_for_itself_makes_no_link(vault, notes):
    write(notes, pond=note("Lake", text="# Pond\n\nAlso called [[Lake]], see [[Sea]].\n"), sea="# Sea\n\nSalt.\n")
    vault.sync(notes)
    assert led(vault, "pond.md") == [("sea.md", "Sea", "sea")]


def test_a_chunk_that_stops_mentioning_and_keeps_its_other_name_loses_its_link(vault, notes):
    write(notes, pond="---\naliases: Lake\nup: '[[home]]'\n---\n# Pond\n\nGreen.\n", home="# Home\n\nSee [[Lake]].\n")
    vault.sync(notes)
    assert led(vault, "pond.md") == [("home.md", "Home", "home")]
    write(notes, pond="---\naliases: Lake\n---\n# Pond\n\nGreen.\n")
    vault.sync()
    assert led(vault, "pond.md") == [] and led(vault) == [("pond.md", "Pond", "lake")]


def test_a_relative_link_is_a_path_and_no_other_name(vault, notes):
    write(notes, home="See [it](Lake) and [that](Lake.md).\n", pond=note("Lake"))
    vault.sync(notes)
    assert led(vault) == []


def test_folders_that_are_read_in_another_way_keep_these_links(vault, notes):
    write(notes, home="See [[Lake]].\n", pond=note("Lake"))
    vault.sync(notes)
    assert vault.sync(notes, trust="unverified").reindexed
    assert led(vault) == [("pond.md", "Pond", "lake")]
