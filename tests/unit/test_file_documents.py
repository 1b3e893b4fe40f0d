"""A file's text as chunks with headings, links, front matter and times."""

from __future__ import annotations

import builtins
from datetime import datetime, timezone

import pytest

from septet import EntryError, Vault
from septet.files.chunking import Chunking
from septet.files.documents import Mention, document_of, is_evergreen
from septet.files.front_matter import front_matter
from septet.inputs.documents import Unreadable, parse_document

MTIME = 1_700_000_000.0
SMALL = Chunking(tokens=8, overlap=0)


def chunks_of(text, path="notes/plan.md", chunking=SMALL):
    return document_of(text, path, MTIME, chunking).chunks


def fields_of(text, path="notes/plan.md"):
    (chunk,) = document_of(text, path, MTIME, Chunking()).chunks
    return chunk.fields


def day(year, month, number):
    return datetime(year, month, number, tzinfo=timezone.utc).timestamp()


def sections(text, path="notes/plan.md"):
    """The first line and the heading path of each chunk, where every line is one."""
    return [(c.fields["description"], c.fields["attrs"].get("headings", [])) for c in chunks_of(text, path)]


def test_a_chunk_is_titled_by_the_heading_that_it_stands_under():
    long = "x" * 30
    text = f"before\n{long}\n# One\n{long}\n## Two *b* `c`\n{long}\n### Three\n{long}\n## Four\n{long}\n# Five\n{long}"
    found = [(c.fields["title"], c.fields["context"]) for c in chunks_of(text) if long in c.fields["description"]]
    assert found == [
        ("plan.md", ""),
        ("One", ""),
        ("Two b c", "One > Two b c"),
        ("Three", "One > Two b c > Three"),
        ("Four", "One > Four"),
        ("Five", ""),
    ]


def test_a_chunk_that_begins_with_what_the_one_before_has_is_under_the_heading_of_what_is_new():
    text = "# One\n\n" + "alpha beta\n" * 6 + "# Two\n\n" + "gamma delta\n" * 6
    found = document_of(text, "a.md", MTIME, Chunking(tokens=20, overlap=10)).chunks
    titles = [c.fields["title"] for c in found]
    assert titles == ["One", "Two", "Two"]
    assert "alpha" in found[1].fields["description"]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Title\n=====\ntext", ["Title"]),
        ("Part\n---\ntext", ["Part"]),
        ("   ### Three ###\ntext", ["Three"]),
        ("```\n# code\n```\ntext", []),
        ("~~~~\n# code\n~~~\ntext\n", []),
        ("    # code\n\ntext", []),
        ("> # quoted\n\ntext", []),
        ("- # listed\n\ntext", []),
        ("#no\ntext", []),
        ("#\ntext", []),
        ("<!--\n# hidden\n-->\ntext", []),
        ("# a\r\ntext\r\n", ["a"]),
        (f"# {'word ' * 100}\ntext", [("word " * 40).strip()]),
    ],
)
def test_headings_are_those_of_markdown_outside_code_lists_and_quotes(text, headings):
    (chunk,) = document_of(text, "a.md", MTIME, Chunking(overlap=0)).chunks
    assert chunk.fields["attrs"].get("headings", []) == headings


def test_restructured_text_has_headings_by_underline_in_the_order_of_their_styles():
    text = (
        "=====\nTitle\n=====\n\nIntroduction of some length\n\nPart\n----\n\ntext of the first part, long\n\n"
        "Below it\n~~~~~~~~\n\ntext of what is below, long\n\nNext\n----\n\ntext of the second part, long\n"
    )
    found = {
        c.fields["description"].strip(): c.fields["context"] or c.fields["title"] for c in chunks_of(text, "a.rst")
    }
    assert found["Introduction of some length"] == "Title"
    assert found["text of the first part, long"] == "Title > Part"
    assert found["text of what is below, long"] == "Title > Part > Below it"
    assert found["text of the second part, long"] == "Title > Next"


@pytest.mark.parametrize(
    "text", ["A\n--\n\nx", "no title\n..\n", "text\ntext\n----\n", "  indented\n----------\n", "----\n"]
)
def test_restructured_text_that_only_looks_like_a_heading_is_none(text):
    headings = [c.fields["attrs"].get("headings") for c in document_of(text, "a.rst", MTIME, Chunking()).chunks]
    assert headings == [["A"] if text.startswith("A") else None]


@pytest.mark.parametrize("path", ["a.txt", "a", "a.org", "memory.", ".md"])
def test_plain_text_has_no_headings_and_mentions_nothing(path):
    (chunk,) = document_of("# One\n[[Two]]", path, MTIME, Chunking()).chunks
    assert chunk.fields["title"] == path
    assert chunk.fields["attrs"] == {}
    assert chunk.mentions == ()


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("[[Note]]", [("Note", "", "wiki")]),
        ("[[Note|alias]]", [("Note", "", "wiki")]),
        ("[[folder/Note#Heading|alias]]", [("folder/Note", "Heading", "wiki")]),
        ("[[Note: a title]]", [("Note: a title", "", "wiki")]),
        ("[[#Heading]]", []),
        ("![[Note]] and ![a picture](b.png)", [("Note", "", "wiki")]),
        ("`[[code]]`", []),
        ("```\n[[code]]\n```", []),
        ("|a|\n|-|\n|[[Note\\|alias]]|", [("Note", "", "wiki")]),
        ("[x](a.md)", [("a.md", "", "link")]),
        ("[x](../b/a%20b.md#part%20two 'title')", [("../b/a%20b.md", "part%20two", "link")]),
        ("[x](<a b.md>)", [("a b.md", "", "link")]),
        ("[x](a.md?raw=1#top)", [("a.md", "top", "link")]),
        ("[x](a%ff%zz.md)", [("a%ff%zz.md", "", "link")]),
        ("[x](<a\tb.md>)", []),
        ("[x][y]\n\n[y]: a.md#s", [("a.md", "s", "link")]),
        ("[![icon](i.png)](a.md)", [("a.md", "", "link")]),
        ("![icon](i.png)", []),
        ("[x](https://a.b/c.md) [x](mailto:a@b.c) <https://a.b> [x](//a.b/c) [x](data:,1)", []),
        ("[x](/from/the/root.md)", [("/from/the/root.md", "", "link")]),
        ("[x](//host/a.md) [x](#here) [x](?q) [x]() [[https://a.b]]", []),
        ("- [[Note]] and [[Note]]", [("Note", "", "wiki")] * 2),
    ],
)
def test_what_links_name_is_mentioned(text, mentions):
    (chunk,) = document_of(text, "a.md", MTIME, Chunking()).chunks
    assert [tuple(mention) for mention in chunk.mentions] == mentions


def test_each_link_is_mentioned_by_the_one_chunk_that_has_it_first():
    text = "\n".join(f"line {n} names [[Note {n}]]" for n in range(40))
    found = document_of(text, "a.md", MTIME, Chunking(tokens=30, overlap=12)).chunks
    assert len(found) > 5
    assert [m for c in found for m in c.mentions] == [Mention(f"Note {n}", "", "wiki") for n in range(40)]
    for chunk in found:
        assert all(f"[[{mention.target}]]" in chunk.fields["description"] for mention in chunk.mentions)


def test_front_matter_becomes_fields_attrs_and_times_and_is_no_text():
    fields = fields_of(
        "---\ntitle: The plan\ntags: [work, '#q3', 7, work]\ntype: decision\ndomain: ops\nseverity: Warning\n"
        "created: 2024-05-31\nupdated: 2024-06-01T12:00:00+02:00\nowner: {name: An, since: 2020-01-01}\nratio: .nan\n"
        "headings: mine\n---\n\n# One\ntext"
    )
    assert fields["tags"] == ["work", "q3", "7"]
    assert (fields["type"], fields["domain"], fields["severity"]) == ("decision", "ops", "warning")
    assert fields["created_at"] == day(2024, 5, 31)
    assert fields["updated_at"] == day(2024, 6, 1) + 10 * 3600
    assert fields["attrs"] == {
        "title": "The plan",
        "created": "2024-05-31",
        "updated": "2024-06-01T12:00:00+02:00",
        "owner": {"name": "An", "since": "2020-01-01"},
        "ratio": "nan",
        "headings": ["One"],
    }
    assert (fields["description"], fields["first_line"], fields["last_line"]) == ("\n# One\ntext", 13, 15)


def test_front_matter_of_toml_is_read():
    fields = fields_of('+++\r\ntags = ["a"]\r\ndate = 2024-05-31T10:00:00Z\r\n[extra]\r\nn=1\r\n+++\r\ntext')
    assert fields["tags"] == ["a"]
    assert fields["created_at"] == fields["updated_at"] == day(2024, 5, 31) + 10 * 3600
    assert fields["attrs"] == {"date": "2024-05-31T10:00:00+00:00", "extra": {"n": 1}}
    assert (fields["description"], fields["first_line"]) == ("text", 7)


@pytest.mark.parametrize(
    ("line", "attrs"),
    [
        ("severity: urgent", {"severity": "urgent"}),
        ("severity: [critical]", {"severity": ["critical"]}),
        ("type: [a]", {"type": ["a"]}),
        ("type: ''", {"type": ""}),
        ("domain: 7", {"domain": 7}),
        ("tags: {a: 1}", {"tags": {"a": 1}}),
        ("tags: [[a]]", {"tags": [["a"]]}),
        ("tags: [yes, no]", {"tags": [True, False]}),
        ("date: soon", {"date": "soon"}),
        ("date: 7", {"date": 7}),
        ("date: '2024-02-30'", {"date": "2024-02-30"}),
        ("date: [2024-02-03]", {"date": ["2024-02-03"]}),
        (
            "trust: trusted\nid: x\nkind: memory\nparent: y",
            {"trust": "trusted", "id": "x", "kind": "memory", "parent": "y"},
        ),
        ('text: "a\\uD800b"', {"text": "a?b"}),
        ("data: !!binary aGVsbG8=", {"data": "68656c6c6f"}),
        ("set: !!set {b, a}", {"set": ["a", "b"]}),
    ],
)
def test_what_an_entry_does_not_take_stays_an_attr(line, attrs):
    found = document_of(f"---\n{line}\n---\ntext", "a.md", MTIME, Chunking())
    (chunk,) = found.chunks
    assert found.problems == ()
    assert chunk.fields["attrs"] == attrs
    assert chunk.fields["created_at"] == chunk.fields["updated_at"] == MTIME
    with Vault(":memory:") as vault:
        fields = {name: value for name, value in chunk.fields.items() if not name.endswith("_line")}
        assert vault.get(vault.add(**fields)).attrs == attrs


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust a sentence between two rules.\n---\ntext",
        "---\n- a\n- b\n---\ntext",
        "---\ntitle: never closed\n\ntext",
        "----\ntitle: x\n----\n",
        " ---\ntitle: x\n---\n",
        "text\n---\ntitle: x\n---\n",
        "---",
        "---\n",
        "+++\nnever closed",
    ],
)
def test_rules_that_enclose_no_fields_are_text(text):
    found = document_of(text, "a.md", MTIME, Chunking())
    assert found.problems == ()
    assert [chunk.fields["description"] for chunk in found.chunks] == [text]
    assert found.chunks[0].fields["first_line"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\na: [b\n---\ntext", "is not valid YAML at line 3"),
        ("---\ndate: 2024-02-30\n---\ntext", "is not valid YAML"),
        ("---\na: &x [*x]\n---\ntext", "alias"),
        ("---\n1: x\n---\ntext", "has a key of type int 1"),
        ("+++\nb = \n+++\ntext", "is not valid TOML at line 2"),
    ],
)
def test_front_matter_that_cannot_be_read_is_a_problem_and_stays_text(text, said):
    found = document_of(text, "a.md", MTIME, Chunking())
    (problem,) = found.problems
    assert problem.startswith("front matter ")
    assert said in problem
    assert [chunk.fields["description"] for chunk in found.chunks] == [text]


def test_without_the_library_for_yaml_the_text_is_indexed_and_the_report_says_so(monkeypatch):
    real = builtins.__import__

    def without_yaml(name, *args, **options):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    found = document_of("---\ntags: [a]\n---\n# One\ntext", "a.md", MTIME, Chunking())
    assert "septet[yaml]" in found.problems[0]
    assert "# One" in found.chunks[0].fields["description"]


def test_front_matter_is_looked_for_within_256_kib():
    def made(size):
        return f"---\na: {'x' * (size - 12)}\n---\ntext"

    assert front_matter(made(200_000)).values["a"] == "x" * (200_000 - 12)
    assert front_matter(made(400_000)).values == {}
    assert front_matter("---\n" + "a: b\n" * 200_000).values == {}
    # The look ends in the middle of a line that begins like an end.
    assert front_matter("---\na: b\n" + "#" * (2**18 - 13) + "\n---x\n").values == {}


@pytest.mark.parametrize(
    ("path", "time", "evergreen"),
    [
        ("memory/2024-05-31.md", day(2024, 5, 31), False),
        ("memory/2024-05-31-standup.md", day(2024, 5, 31), False),
        ("memory/deep/er/2024-05-31-x-y.md", day(2024, 5, 31), False),
        ("2024-05-31 notes.txt", day(2024, 5, 31), False),
        ("2024-05-31", day(2024, 5, 31), False),
        ("memory/2024-02-30.md", MTIME, False),
        ("memory/0000-01-01.md", MTIME, False),
        ("memory/2024-05-311.md", MTIME, True),
        ("memory/notes.md", MTIME, True),
        ("memory/notes-2024-05-31.md", MTIME, True),
        ("MEMORY.md", MTIME, True),
        ("memory.md", MTIME, True),
        ("USER.md", MTIME, True),
        ("sub/MEMORY.md", MTIME, False),
        ("docs/guide.md", MTIME, False),
    ],
)
def test_a_name_dates_a_file_and_curated_ones_never_age(path, time, evergreen):
    fields = fields_of("text", path)
    assert fields["created_at"] == fields["updated_at"] == time
    assert is_evergreen(path) is evergreen
    assert fields["attrs"] == ({"evergreen": 1} if evergreen else {})


def test_front_matter_says_whether_a_file_ages():
    assert fields_of("---\nevergreen: true\n---\ntext")["attrs"] == {"evergreen": 1}
    assert fields_of("---\nevergreen: false\n---\ntext", "MEMORY.md")["attrs"] == {}
    assert fields_of("---\nevergreen: often\n---\ntext", "MEMORY.md")["attrs"] == {"evergreen": 1}


def test_a_change_is_never_before_the_making():
    fields = fields_of("---\ncreated: 2030-01-01\nupdated: 2020-01-01\n---\ntext")
    assert fields["created_at"] == fields["updated_at"] == day(2030, 1, 1)


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n\u2003\n", "\ufeff", "---\n\n---\n", "---\n---"])
def test_a_file_without_text_has_no_chunks(text):
    assert chunks_of(text) == []


def test_blank_chunks_are_left_out_and_lines_stay_those_of_the_file():
    text = "first" + "\n" * 100 + "last"
    found = [(c.fields["description"].strip(), c.fields["last_line"]) for c in chunks_of(text)]
    assert found[0] == ("first", 27)
    assert found[-1] == ("last", 101)
    assert len(found) == 2


def test_a_byte_order_mark_is_no_text_and_halves_of_characters_are_replaced():
    assert fields_of("\ufeff# One\ntext")["description"] == "# One\ntext"
    assert fields_of("\ufeff---\ntype: rule\n---\ntext")["type"] == "rule"
    assert fields_of("a\ud800b\ud83d\ude00")["description"] == "a\ufffdb\U0001f600"


def test_entries_of_a_curated_file_have_their_headings():
    text = "# Facts\n- one\n  more\n- two\n## Rules\n- three"
    found = document_of(text, "MEMORY.md", MTIME, Chunking(variant="entries")).chunks
    assert [(c.fields["description"], c.fields["title"], c.fields["first_line"]) for c in found] == [
        ("# Facts", "Facts", 1),
        ("- one\n  more", "Facts", 2),
        ("- two", "Facts", 4),
        ("## Rules", "Rules", 5),
        ("- three", "Rules", 6),
    ]


def test_what_is_behind_the_first_8_mib_is_under_no_heading():
    line = "word " * 200 + "\n"
    text = "# One\n" + line * 9_000 + "# Two\n[[Note]]\n"
    found = document_of(text, "a.md", MTIME, Chunking()).chunks
    assert found[0].fields["title"] == "One"
    assert found[-1].fields["title"] == "a.md"
    assert found[-1].mentions == ()
    named = [c.fields["title"] == "One" for c in found]
    assert 0.9 < sum(named) / len(named) < 0.97
    assert named == sorted(named, reverse=True)


@pytest.mark.parametrize("values", [{"tokens": 0}, {"tokens": 100_001}, {"overlap": -1}, {"tokens": 80, "overlap": 80}])
def test_a_chunking_out_of_range_is_refused(values):
    with pytest.raises(EntryError, match="wanted a whole number"):
        Chunking(**values)


def test_a_chunking_has_an_identity_and_comes_back_from_its_dict():
    made = [Chunking(t, o, v) for t in (1, 400) for o in (0, t - 1) for v in ("capped", "literal", "entries")]
    assert len({chunking.identity for chunking in made}) == len(set(made)) == 9
    assert all(Chunking(**chunking.to_dict()) == chunking for chunking in made)
    with pytest.raises(EntryError, match="wanted one of capped, literal, entries"):
        Chunking(variant="other")


@pytest.mark.parametrize("value", ["!!int ''", "!!float ''", "!!bool maybe", "!!timestamp x", "!!int x", "!!float x"])
def test_a_value_that_is_none_of_its_yaml_tag_is_malformed_and_the_other_fields_are_read(value):
    with pytest.raises(Unreadable, match="is not valid YAML"):
        parse_document(f"a: {value}", ".yaml")
    found = front_matter(f"---\na: {value}\ntitle: Named\n---\nword\n")
    assert found.values["title"] == "Named"
    assert "front matter is not valid YAML" in found.problem
