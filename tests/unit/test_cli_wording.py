"""Messages of the library, as the command line prints them: none of them names a call of Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from septet.cli import commands
from septet.cli.wording import in_commands
from septet.system.session import session

#: Names that a shell wants quoted, each in its way.
QUOTED = ("my notes (old), all", "it's")
ROOT = Path(__file__).parent.parent.parent / "python" / "septet"
#: Rooms and files whose messages no command prints: other programs call them.
ELSEWHERE = frozenset("adapters aio index server tables tfidf".split())
FILES = frozenset(
    (
        "model/notebook.py client/external.py watch/spans.py retrieval/corpora/given.py __init__.py inputs/checked.py"
    ).split()
)
#: What is no message, or no call of Python though it looks like one.
NO_CALLS = re.compile(
    r"bm25\(\)|`a::b`, `f\(\)`|\(\?|PRAGMA |SELECT |CREATE |boundary=|charset=|; name=|\?limit=|replace\(|[A-Z]\w+\(\{|"
    r"=\{\}\)?$|^intent=\{\}|^corpora=\[|MEGA\(sync|key=value|vector of|json_|to_char\(|\(\.\*\)|unnest\(|ANY\(|"
    r"^\{\}=\{\}$|\{\}\(\)|Proton|vault=NAME"
)
#: Arguments that no command passes on.
OF_PROGRAMS = re.compile(
    r"clock\(\)|datetime\.now|search_many|\*\*fields|CallableEmbedder|EmbeddingOptions|format='json' wants|filled\(\)|"
    r"`model=`|to_scipy|query_vectors|vectors=(?: is for|: leave)|who made vectors=|requires vectors=|^rerank=|"
    r"^remember\(\)|Redactor\(|expired=True|^similar\(\)|ids are text|delete takes ids or|use where=|^reads=|"
    r"or leave out model=|query vector's model=|index_vectors\(|Did you mean"
)
CALL = re.compile(r"[a-z_][\w.]*\((?!s\))[^()\s]*\)|(?<![-\w?&/])[a-z_]+=(?=$|[\s,;)'\"\[{:]|True|False|None|\w)")


def words_of(node):
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return "".join(map(str, parts))


def messages():
    """Every text of the library with several words that is no docstring, with {} for what it holds."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT)
        if inside.parts[0] == "cli" or ELSEWHERE & set(inside.parts) or inside.as_posix() in FILES:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        said |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
            id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        }
        for node in ast.walk(tree):
            if id(node) in said or not isinstance(node, (ast.Constant, ast.JoinedStr)):
                continue
            text = words_of(node)
            if text and " " in text:
                found[text] = f"{inside}:{node.lineno}"
    return found


MESSAGES = messages()
NAMED = {text: place for text, place in MESSAGES.items() if CALL.search(text) and not NO_CALLS.search(text)}


def test_the_library_has_messages_that_name_calls_and_they_are_found():
    assert len(MESSAGES) > 1_000 and len(NAMED) > 60
    for hint in ("call embed() until nothing is missing", "nothing, or optimize() once for later processes"):
        assert hint in NAMED


def test_no_message_that_a_command_can_print_names_a_call_of_python():
    left = {text: place for text, place in NAMED.items() if not OF_PROGRAMS.search(text)}
    assert [(place, in_commands(text)) for text, place in left.items() if CALL.search(in_commands(text))] == []


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("call embed() to embed again", "run `septet embed` to embed again"),
        ("forget_root('k') removes them", "`septet forget-root k` removes them"),
        ("forget_root('my notes (old), all') first", f"`septet forget-root {session.quoted(QUOTED[0])}` first"),
        ('forget_root("it\'s") first', f"`septet forget-root {session.quoted(QUOTED[1])}` first"),
        ("nothing, or optimize() once for later processes", "nothing, or `septet optimize` once for later processes"),
        ("embed(batch=True) collects them later", "`septet embed --batch` collects them later"),
        ("ask with include_memories=True (--memories), or recall()", "ask with --memories, or `septet recall`"),
        (
            "treat operators in the query as text (syntax='plain')",
            "treat operators in the query as text (--syntax plain)",
        ),
        ("raise limit to 50", "raise --limit to 50"),
        (
            "lower min_score to 0.1 and leave 'type' out of where",
            "lower --min-score to 0.1 and leave 'type' out of --where",
        ),
        ("pass typos=False to turn off correction", "pass --no-typos to turn off correction"),
        ("septet: limit is 0: wanted 1 or more", "septet: --limit is 0: wanted 1 or more"),
        ("name one, for example with map={'text': 'description'}", "name one, for example with --map text=description"),
        ("septet: min_score is 2: wanted 0 to 1", "septet: min_score is 2: wanted 0 to 1"),
        ("check the id, or `add` it first", "check the id, or `septet add` it first"),
    ],
)
def test_calls_become_commands_and_arguments_options(said, printed):
    assert in_commands(said) == printed
    assert in_commands(printed) == printed


@pytest.mark.parametrize(
    "text",
    [
        "no entry 'embed()' in v.db",
        "wrote 3 entries to /tmp/limit=5/copy.csv",
        "the server postgresql://host/db?vault=notes&limit=3 did not answer",
        "tags is 7: wanted a list",
        "this SQLite has no bm25(); FTS5's default rank, all columns equal, was used",
        "--attr is 'x': wanted KEY=VALUE",
        "stored 3 entries, 0 links",
    ],
)
def test_names_of_the_user_and_other_words_stay(text):
    assert in_commands(text) == text


def test_every_command_that_a_message_can_name_is_there():
    from septet.cli.wording import _COMMANDS

    assert set(_COMMANDS.values()) <= set(commands.COMMANDS)
