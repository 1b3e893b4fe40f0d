"""Notes as their programs mean them: front matter with faults, other names, links and tags."""

from __future__ import annotations

import pytest

from septet.files.chunking import Chunking
from septet.files.documents import document_of

MTIME = 1_700_000_000.0


@pytest.mark.parametrize(
    ("line", "value", "said"),
    [
        ("date: 2025-02-30", "2025-02-30", "is not valid YAML at line 3"),
        ("due: 0000-00-00", "0000-00-00", "is not valid YAML at line 3"),
        ("at: 2025-02-14T25:00:00", "2025-02-14T25:00:00", "is not valid YAML at line 3"),
        ("key: !secret abc", "!secret abc", "is not valid YAML at line 3"),
        ("name: Fixing: it", "Fixing: it", "is not valid YAML at line 3"),
        ("ean: 123456789012345678901234567890", "123456789012345678901234567890", "has an integer of 97 bits"),
        ("quoted: 'half", "'half", "is not valid YAML at line"),
        ("key: {a: [1\n  more: 2", None, "is not valid YAML at line"),
        ("tags: [again]", None, "has the key 'tags' twice at line 3"),
    ],
)
def test_a_value_that_cannot_be_read_costs_only_itself(line, value, said):
    name = line.partition(":")[0]
    for text in (
        f"---\ntags: [work]\n{line}\ndomain: home\n---\nbody",
        f"---\r\ntags: [work]\r\n{line}\r\ndomain: home\r\n---\r\nbody",
    ):
        found = document_of(text, "a.md", MTIME, Chunking())
        (chunk,) = found.chunks
        assert (chunk.fields["tags"], chunk.fields["domain"], chunk.fields["description"]) == (["work"], "home", "body")
        assert chunk.fields["attrs"].get(name) == value
        (problem,) = found.problems
        assert said in problem and problem.endswith("; the other fields were read")


def test_a_value_of_toml_that_cannot_be_read_costs_only_itself():
    found = document_of("+++\ntitle = 'A'\nday = 2025-02-30\n+++\nbody", "a.md", MTIME, Chunking())
    assert (found.chunks[0].fields["title"], found.chunks[0].fields["attrs"]["day"]) == ("A", "2025-02-30")
    assert "at line 3" in found.problems[0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["---\n# A heading\n---\n\nbody", "---\n\n# A\n## B\n\n---\nbody", "---\n#tag #other\n---\nbody"]
)
def test_a_heading_between_two_rules_is_text(text, end):
    text = text.replace("\n", end)
    assert "".join(chunk.fields["description"] for chunk in document_of(text, "a.md", MTIME, Chunking()).chunks).count(
        "#"
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Person\nrole: gardener\n---\n", "Person"),
        ("---\r\ntitle: Person\r\nrole: gardener\r\n---", "Person"),
        ('+++\ntitle = "Person"\nrole = "gardener"\n+++\n\n\n', "Person"),
        ("---\nrole: gardener\n---\n", "a.md"),
    ],
)
def test_a_note_that_is_all_front_matter_is_a_chunk(text, title):
    found = document_of(text, "a.md", MTIME, Chunking())
    (chunk,) = found.chunks
    assert chunk.fields["title"] == title and "gardener" in chunk.fields["description"]
    assert (chunk.fields["first_line"], chunk.fields["last_line"]) == (1, text.strip().count("\n") + 1)


def test_other_names_of_a_note_are_in_the_title_of_its_first_chunk():
    for said in ("aliases: [The Lake, pond two]", "aliases: The Lake, pond two", "alias:\n  - The Lake\n  - pond two"):
        first, *others = document_of(f"---\n{said}\n---\n# A\n\n" + "words\n" * 2_000, "a.md", MTIME, Chunking()).chunks
        assert first.fields["title"] == "A (The Lake; pond two)"
        assert others and {chunk.fields["title"] for chunk in others} == {"A"}
    many = ", ".join(f"a name that is long number {n}" for n in range(40))
    (first,) = document_of(f"---\naliases: [{many}]\n---\n# A\n\nwords", "a.md", MTIME, Chunking()).chunks
    assert 170 < len(first.fields["title"]) <= 200 and first.fields["title"].endswith(")")


def test_links_in_front_matter_are_those_of_the_first_chunk():
    head = 'up: "[[Home]]"\nsee: ["[[Pond#Fish|fish]]", "no [link]"]\nbare: [[Lake]]\nmore: {in: "x [[Sea]] y"}'
    text = f"---\n{head}\n---\n[[Own]]"
    (chunk,) = document_of(text, "a.md", MTIME, Chunking()).chunks
    assert chunk.mentions == (
        ("Home", "", "wiki"), ("Pond", "Fish", "wiki"), ("Lake", "", "wiki"), ("Sea", "", "wiki"), ("Own", "", "wiki"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("buy milk #errand", ["errand"]),
        ("#first, #second; (#third)", ["first", "second", "third"]),
        ("pipes #water/sewer/old", ["water", "water/sewer", "water/sewer/old"]),
        ("#Straße #水 #2024/plan", ["Straße", "水", "2024", "2024/plan"]),
        ("issue #12 and #1/2", []),
        ("# Heading\n\n## Another", []),
        ("`#code` and a#b and [x](#here) and [[Note#part]] and https://a.b/#c", []),
        ("```\n#define X\n```\n#said", ["said"]),
        ("C# and F# and &#39;", []),
    ],
)
def test_tags_in_a_text_are_tags_of_its_chunk(text, tags):
    (chunk,) = document_of(text, "a.md", MTIME, Chunking()).chunks
    assert chunk.fields.get("tags", []) == tags
    (plain,) = document_of(text, "a.txt", MTIME, Chunking()).chunks
    assert "tags" not in plain.fields


def test_a_tag_of_front_matter_lies_in_those_above_it():
    text = "---\ntags: [water/sewer, '#errand']\n---\nfix it #errand #home"
    (chunk,) = document_of(text, "a.md", MTIME, Chunking()).chunks
    assert chunk.fields["tags"] == ["water", "water/sewer", "errand", "home"]
