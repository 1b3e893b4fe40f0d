"""The collection of real documents that `make eval` measures: its judgements name what is there, and grade it right."""

import pytest

from septet import Vault, evaluate

#: Sections of Python's documentation that a version may lack.
MOST_LOST = 3


@pytest.fixture
def real(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benches"))
    import real_documents

    return real_documents


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


@pytest.fixture
def written(real, folder):
    if not any(folder.iterdir()):
        assert real.write_documents(folder) > 200
    return folder


def test_every_section_that_is_judged_is_there(real, written):
    asked, lost = real.known(real.questions(), written)
    assert [name for name in lost if not name.startswith("python/")] == []
    assert len(lost) <= MOST_LOST and len(asked) >= len(real.questions()) - MOST_LOST


def test_the_queries_are_many_of_both_kinds_and_none_is_there_twice(real):
    asked = real.questions()
    assert len({q.text.casefold() for q in asked}) == len(asked) >= 60
    assert {q.kind for q in asked} == set(real.KINDS) and all(sum(q.kind == k for q in asked) >= 30 for k in real.KINDS)
    assert {s.grade for q in asked for s in q.sections} == {1, 2}
    assert all(max(s.grade for s in q.sections) == 2 for q in asked)
    assert all(len(set(q.sections)) == len(q.sections) for q in asked)


def test_a_paraphrase_has_no_word_of_the_heading_alone(real):
    """At most half of the words of the headings that answer it: otherwise it would be asked in their words."""
    for question in real.questions():
        if question.kind == "paraphrase":
            words = set(question.text.casefold().split())
            for section in question.sections:
                own = set(section.heading.casefold().replace(".", " ").split()) - {"the", "a", "and", "of", "what"}
                assert 2 * len(own & words) <= max(2, len(own)), (question.text, section.heading)


def test_no_file_is_larger_than_a_megabyte(written):
    assert max(path.stat().st_size for path in written.rglob("*.md")) < 1_000_000


TEXT = """# Top

before

## One

a
b
c
d

```
## no heading
```

### Below

e

## Two

f
"""


@pytest.mark.parametrize(
    ("heading", "lines"),
    [("Top", (1, 4)), ("One", (5, 19)), ("Below", (16, 19)), ("Two", (20, 23)), ("Three", None), ("", (1, 23))],
)
def test_a_section_ends_where_the_next_of_its_level_begins(real, tmp_path, heading, lines):
    (tmp_path / "a.md").write_text(TEXT)
    found = real.lines_of(tmp_path, real.Section("a.md", heading, 2))
    assert list(found) == ([] if lines is None else list(range(lines[0], lines[1] + 1)))


def test_a_chunk_is_relevant_if_it_shows_half_of_a_section_or_is_half_filled_by_it(real, tmp_path):
    body = {name: "".join(f"{name} line {number} of this section.\n" for number in range(size)) for name, size in SIZES}
    (tmp_path / "a.md").write_text("".join(f"## {name}\n\n{text}\n" for name, text in body.items()))
    with Vault(":memory:") as vault:
        vault.sync(tmp_path, name="real")
        asked = [
            real.Question(f"q-{name}-{grade}", "words", name, (real.Section("a.md", name, grade),))
            for name, _ in SIZES
            for grade in (1, 2)
        ]
        chunks, files = real.judged(vault, tmp_path, asked)
        for question in asked:
            section = question.sections[0]
            lines = [f"## {section.heading}", *body[section.heading].splitlines()]
            for entry in vault.entries({"kind": "chunk"}, limit=None):
                shown = [line for line in entry.description.split("\n") if line.strip()]
                both = sum(line in lines for line in shown)
                wanted = section.grade if 2 * both >= min(len(shown), len(lines)) else None
                assert chunks[question.id].get(entry.id) == wanted
            assert list(files[question.id].values()) == [section.grade]


#: Less than a chunk, about one, and several.
SIZES = (("small", 3), ("other", 5), ("middle", 40), ("large", 300), ("last", 2))


def test_words_of_a_section_find_its_file_among_the_first_ten(real, written):
    asked, _ = real.known(real.questions(), written)
    with Vault(":memory:", clock=lambda: real.NOW) as vault:
        vault.sync(written, name="real")
        _, files = real.judged(vault, written, asked)
        words = [{"id": q.id, "text": q.text} for q in asked if q.kind == "words"]
        for profile in real.PROFILES:
            found = evaluate(vault, words, files, "Success@10", profile=profile, group_by="parent")
            assert found["Success@10"] >= 0.9
