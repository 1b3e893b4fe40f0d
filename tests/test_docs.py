"""The Python blocks of the documentation run, in order, and print what the block of text behind them shows.

Each page has a folder of its own, in which its blocks leave their files for those that follow. White space is compared
as one blank, because long lines are wrapped in the page.
"""

import contextlib
import io
import itertools
import re
import socket
from pathlib import Path
from typing import NamedTuple

import pytest

from postgres_server import PostgresServer, why_not

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: What a page may show otherwise than a run prints it: a pattern, and what stands for both.
VARYING = (
    (r"\[Errno \d+\]", "[Errno N]"),  # the number of "connection refused" depends on the system
    (r"\b\d+(\.\d+)? ms\b", "N ms"),
    (r"\b\d+(\.\d+)? MB\b", "N MB"),
)
#: An address of the pages where nothing may answer.
SILENT = "127.0.0.1:8080"
#: A database of the pages, and the role that uses it.
DATABASE, ROLE = "db.example.org/knowledge", "team"


class Block(NamedTuple):
    """A fenced block, with the line of the page that it begins at."""

    language: str
    line: int
    text: str


class Example(NamedTuple):
    """A block of Python, and what it prints; None when the page does not show it."""

    line: int
    source: str
    printed: str | None


def blocks_of(page):
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], text.count("\n", 0, m.start()) + 1, m[2]) for m in fence.finditer(text)]


def examples_of(page):
    blocks = [*blocks_of(page), Block("", 0, "")]
    pairs = itertools.pairwise(blocks)
    return [
        Example(b.line, b.text, after.text if after.language == "text" else None)
        for b, after in pairs
        if b.language == "python"
    ]


def compared(text):
    for pattern, same in VARYING:
        text = re.sub(pattern, same, text)
    return " ".join(text.split())


@pytest.fixture
def silent_address():
    """An address of this machine that refuses connections as long as the test runs."""
    with socket.socket() as taken:
        # Bound and never listening: nobody else gets the port, and whoever calls it is refused.
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def database(request):
    """The database of the pages that use one, as host:port/name: of a server of its own."""
    page = request.getfixturevalue("page")
    if not any(DATABASE in example.source for example in examples_of(page)):
        yield ""
        return
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    import psycopg

    server = PostgresServer()
    with psycopg.connect(server.dsn()) as sql:
        sql.execute(f"CREATE ROLE {ROLE} SUPERUSER LOGIN")
    yield server.dsn().partition("@")[2]
    server.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch, silent_address, database):
    pytest.importorskip("tokenizers")
    if page.name == "adapters.md":
        for package in ("langchain_core", "llama_index.core", "langgraph", "sklearn"):
            pytest.importorskip(package)
    if "opentelemetry.sdk" in page.read_text(encoding="utf-8"):
        pytest.importorskip("opentelemetry.sdk")
        from opentelemetry import trace

        # A process has one provider; the tests that follow are to have none.
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
        monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", type(trace._TRACER_PROVIDER_SET_ONCE)())
    monkeypatch.chdir(tmp_path)
    for example in examples_of(page):
        # The lines before keep the numbers of a traceback those of the page.
        source = "\n" * example.line + example.source.replace(SILENT, silent_address)
        source = source.replace(DATABASE, database)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(page), "exec"), {"__name__": f"{page.stem}_{example.line}"})
        if example.printed is not None:
            said = printed.getvalue().replace(database or DATABASE, DATABASE)
            assert compared(said) == compared(example.printed), f"{page.name}, line {example.line}"


def test_the_readme_has_examples_with_their_output():
    shown = [example for example in examples_of(ROOT / "README.md") if example.printed is not None]
    assert len(shown) >= 5
