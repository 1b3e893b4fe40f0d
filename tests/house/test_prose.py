"""Plain English: sentences of docstrings and comments begin with their subject, and names are nouns of the field."""

import ast
import re
from functools import cache

from sources import FUNCTION, RUST, SOURCES, assert_none, faults, nodes_of, place, text_of, tree_of

OPENINGS = re.compile(r"(What|How|Whether|Who|Whoever|Whose|Whom|Of|So many|So long|So much|Nobody|Somebody)\b")
PHRASES = re.compile(r"\b(nobody|somebody|anew|meanwhile|so (?:many|long|much)|is over|in step)\b", re.IGNORECASE)
NAMES = {"one", "said", "told", "made", "came", "found", "asked", "given"}
#: A comment at the end of its line. A tokenizer takes seconds for the whole package.
COMMENT = re.compile(r"^\s*(?P<code>\S.*\s)??(?:#:?|//[/!]?)\s+(?P<text>\S.*)$")


def sentences(text):
    """Yield the sentences of a docstring or comment, the values of its sections too."""
    yield from (part for part in re.split(r"(?<=[.;])\s+|\n\n|\n\s*\w+: ", text) if part)


def comments(path):
    """Yield the comments of a file of Python or Rust, each with its first line; lines in a row are one."""
    first, block = 0, []
    for line, text in enumerate(text_of(path).splitlines(), start=1):
        comment = COMMENT.search(text) if "#" in text or "//" in text else None
        if block and (not comment or comment["code"]):
            yield first, "\n".join(block)
            block = []
        if comment:
            first = first if block else line
            block.append(comment["text"])
    if block:
        yield first, "\n".join(block)


@cache
def prose(path):
    """Return all docstrings and comments of a file, with their lines."""
    if path.suffix == ".rs":
        return list(comments(path))
    named = (node for node in nodes_of(path) if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTION)))
    docstrings = [(getattr(node, "lineno", 1), ast.get_docstring(node) or "") for node in named]
    return [*docstrings, *comments(path)]


def test_sentences_begin_with_their_subject():
    def inverted(path):
        for line, text in prose(path):
            yield from ((line, sentence[:60]) for sentence in sentences(text) if OPENINGS.match(sentence))

    assert_none(faults(inverted, [*SOURCES, *RUST]))


def test_prose_names_things_rather_than_people_and_amounts():
    def vague(path):
        for line, text in prose(path):
            yield from ((line, match[0]) for match in PHRASES.finditer(text))

    assert_none(faults(vague, [*SOURCES, *RUST]))


#: Classes that frameworks expect under one name.
SHARED = {"SeptetRetriever", "SeptetVectorStore"}


def test_no_two_classes_have_one_name():
    homes = {}

    def again(path):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                first = homes.setdefault(node.name, path)
                if first != path:
                    yield node.lineno, f"{node.name} is a class of {place(first)} too"

    assert_none(faults(again, SOURCES))


def test_names_are_nouns():
    def pronouns(path):
        classes = (node for node in nodes_of(path) if isinstance(node, ast.ClassDef))
        fields = {field.target for node in classes for field in node.body if isinstance(field, ast.AnnAssign)}
        for node in nodes_of(path):
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
            if name in NAMES and node not in fields:
                yield node.lineno, name

    assert_none(faults(pronouns, SOURCES))
