"""The blocks of the documentation run, in order, and print what the page shows.

Each page has a folder of its own, in which its blocks leave their files for those that follow. What a block of Python,
or the last command of a block ``sh``, prints stands in a block of text behind it; commands of a block ``console`` have
it below them. White space is compared as one blank, because long lines are wrapped in the page. Which commands are not
run, and why, is listed in `pages.NOT_RUN`; configurations are read by what reads them in Septet.
"""

import contextlib
import io
import itertools
import socket

import pytest

from pages import (
    LANGUAGES,
    NOT_RUN,
    PAGES,
    ROOT,
    Block,
    Shell,
    blocks_of,
    commands_of,
    compared,
    not_run,
    same,
    septet_lines,
)
from postgres_server import PostgresServer, why_not
from septet import Federation
from septet.embedding import EmbeddingCache
from septet.embedding.config import config_of
from septet.errors import ProfileError
from septet.inputs.documents import read_settings
from septet.retrieval.config import retrieval_config
from septet.service.configuration import configuration
from septet.vault.anywhere import AnyVault

#: An address of the pages where nothing may answer.
SILENT = "127.0.0.1:8080"
#: A database of the pages, and the role that uses it.
DATABASE, ROLE = "db.example.org/knowledge", "team"
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
of_each_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)
#: What reads a configuration that has one of these at its top.
READERS = {
    "tiers": configuration,
    "embedding": config_of,
    "expansion": retrieval_config,
    "retrieval": retrieval_config,
    "corpora": retrieval_config,
    "policy": retrieval_config,
    "search": retrieval_config,
}


def blocks_with_next(page):
    return itertools.pairwise([*blocks_of(page), Block("", 0, "")])


def commands_on(page):
    return [
        command
        for block, after in blocks_with_next(page)
        if block.language in ("console", "sh")
        for command in commands_of(block, after)
    ]


@pytest.fixture
def silent_address():
    """An address of this machine that refuses connections as long as the test runs."""
    with socket.socket() as taken:
        # Bound and never listening: nobody else gets the port, and whoever calls it is refused.
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def database(page):
    """The database of the pages that use one, as host:port/name: of a server of its own."""
    if not any(DATABASE in block.text for block in blocks_of(page) if block.language == "python"):
        yield DATABASE
        return
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    import psycopg

    server = PostgresServer()
    with psycopg.connect(server.dsn()) as sql:
        sql.execute(f"CREATE ROLE {ROLE} SUPERUSER LOGIN")
    yield server.dsn().partition("@")[2]
    server.close()


@pytest.fixture
def needs(page, monkeypatch):
    """Skip a page whose examples use what is not installed here."""
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


@of_each_page
def test_the_blocks_of_a_page_run_and_print_what_it_shows(
    page, needs, tmp_path, tmp_path_factory, monkeypatch, silent_address, database
):
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, tmp_path_factory.mktemp("home"), {DATABASE: database, SILENT: silent_address})
    for block, after in blocks_with_next(page):
        if block.language == "python":
            # The lines before keep the numbers of a traceback those of the page.
            source = "\n" * block.line + block.text.replace(SILENT, silent_address).replace(DATABASE, database)
            printed = io.StringIO()
            names = {"__name__": f"{page.stem}_{block.line}"}
            with contextlib.redirect_stdout(printed), contextlib.ExitStack() as left_open:
                exec(compile(source, str(page), "exec"), names)
                for value in names.values():
                    if isinstance(value, (AnyVault, EmbeddingCache, Federation)):
                        left_open.callback(value.close)
            if after.language == "text":
                said = printed.getvalue().replace(database, DATABASE)
                assert compared(said) == compared(after.text), f"{page.name}, line {block.line}"
        elif block.language in ("console", "sh"):
            for command in commands_of(block, after):
                if not_run(page, command.text) is None:
                    code, said = shell(command.text)
                    assert command.printed is not None or code == 0, f"{page.name}, line {command.line}: {said}"
                    if command.printed is not None and not same(said, command.printed):
                        assert said == command.printed, f"{page.name}, line {command.line}"


@of_each_page
def test_every_command_of_a_page_is_one_that_septet_knows(page):
    typer = pytest.importorskip("typer")
    from septet.cli.app import app

    top = typer.main.get_command(app)
    for command in commands_on(page):
        for name, *arguments in septet_lines(command.text):
            known = top.get_command(None, name)
            assert known is not None, f"{page.name}, line {command.line}: there is no septet {name}"
            with known.make_context(name, arguments):
                pass


@of_each_page
def test_the_configurations_of_a_page_are_read_by_septet(page, tmp_path):
    for block in blocks_of(page):
        where = f"{page.name}, line {block.line}"
        if block.language in ("toml", "yaml", "json"):
            path = tmp_path / f"shown.{block.language}"
            path.write_text(block.text, encoding="utf-8")
            read = [READERS[name] for name in read_settings(path, ProfileError) if name in READERS]
            assert read, f"{where}: nothing in READERS reads it"
            for reader in dict.fromkeys(read):
                reader(path)


@of_each_page
def test_every_block_of_a_page_is_of_a_kind_that_is_checked(page):
    assert {block.language for block in blocks_of(page)} <= set(LANGUAGES)


def test_the_readme_has_examples_with_their_output():
    blocks = blocks_with_next(ROOT / "README.md")
    assert sum(block.language == "python" and after.language == "text" for block, after in blocks) >= 5


def test_every_reason_for_not_running_a_command_is_still_that_of_one():
    reasons = {not_run(page, command.text) for page in PAGES for command in commands_on(page)}
    assert {reason for _, _, reason in NOT_RUN} <= reasons


@pytest.mark.parametrize(
    ("said", "shown", "equal"),
    [
        ("one\ntwo\nthree", "one\n  two\nthree\n", True),
        ("one\ntwo\nthree", "one\n…\nthree", True),
        ("one\nthree", "one\n…\nthree", True),
        ("one\ntwo", "one\n…", True),
        ("one\ntwo", "…\ntwo", True),
        ("one\ntwo", "…", True),
        ("one\ntwo", "two\n…", False),
        ("one\ntwo", "one", False),
        ("found 3 of 4 in 2.5 ms", "found 3 of 4 in 0.3 ms", True),
        ("found 3 of 4 in 2.5 ms", "found 3 of 5 in 2.5 ms", False),
        ("cut…", "cut", False),
    ],
)
def test_a_page_shows_what_a_command_prints_or_leaves_out_lines(said, shown, equal):
    assert same(said, shown) is equal


def test_commands_are_read_out_of_a_line_of_a_shell():
    line = "EDITOR=vi septet edit a | septet add - --domain 'a b' > septet; pip install septet  # septet"
    assert septet_lines(line) == [["edit", "a"], ["add", "-", "--domain", "a b"]]


def test_a_command_of_a_program_that_fetches_septet_first_is_one_of_septet():
    assert septet_lines("uvx --from 'septet[cli]' septet demo notes/") == [["demo", "notes/"]]
    assert septet_lines("pipx run --spec 'septet[mcp]' septet mcp") == [["mcp"]]


def test_a_block_of_a_console_is_commands_with_what_they_print():
    block = Block("console", 10, "$ one \\\n> more\nsaid\n\n$ two\n$ three\n> here\n")
    found = [tuple(command) for command in commands_of(block)]
    assert found == [(11, "one \\\nmore", "said\n"), (15, "two", ""), (16, "three\nhere", "")]
