"""What is collected from the running Python's standard library."""

from __future__ import annotations

import asyncio.tasks
import sys
import warnings
from collections import Counter

import pytest

from septet.cli import stdlib_docs
from septet.cli.stdlib_docs import PREFIX, Documentation, collect, words_of


@pytest.fixture(scope="module")
def docs() -> Documentation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect()


def by_title(docs: Documentation) -> dict[str, dict]:
    return {entry["title"]: entry for entry in docs.entries}


def test_there_are_more_than_ten_thousand_entries_of_every_type(docs):
    assert len(docs.entries) > 10_000
    types = Counter(entry["type"] for entry in docs.entries)
    assert min(types[kind] for kind in ("module", "class", "function", "method", "property", "topic")) > 50


def test_ids_and_titles_are_unique_and_everything_has_text(docs):
    ids = [entry["id"] for entry in docs.entries]
    assert len(set(ids)) == len(ids) == len(by_title(docs))
    assert all(entry["description"].strip() and entry["domain"] and entry["tags"] for entry in docs.entries)
    assert max(map(len, ids)) <= 256


def test_a_function_has_its_docstring_signature_domain_and_words(docs):
    entry = by_title(docs)["json.dumps"]
    assert entry["id"] == f"{PREFIX}json.dumps"
    assert entry["description"].startswith("Serialize ``obj`` to a JSON formatted ``str``.")
    assert entry["context"].startswith("dumps(obj, *, skipkeys=False")
    assert (entry["type"], entry["domain"]) == ("function", "json")


@pytest.mark.parametrize(
    "title",
    [
        "asyncio.gather",
        "collections.OrderedDict",
        "datetime.datetime.strptime",
        "functools.lru_cache",
        "itertools.groupby",
        "len",
        "os.getcwd",
        "os.path.join",
        "pathlib.PurePath.stem",
        "random.choice",
        "str.split",
        "subprocess.run",
        "threading.Thread.join",
    ],
)
def test_things_are_found_under_the_names_people_use(docs, title):
    assert title in by_title(docs)


@pytest.mark.parametrize("title", ["asyncio.tasks.gather", "posix.getcwd", "posixpath.join", "builtins.len"])
def test_a_thing_is_not_repeated_under_another_name(docs, title):
    assert title not in by_title(docs)


def test_an_inherited_method_is_only_where_it_was_defined(docs):
    titles = by_title(docs)
    assert "collections.OrderedDict.bit_length" not in titles
    assert "int.bit_length" in titles
    assert "bool.bit_length" not in titles


def test_private_names_and_modules_without_documentation_of_the_library_are_left_out(docs):
    for entry in docs.entries:
        parts = entry["title"].split(".")
        private = [part for part in parts if part.startswith("_") and not part.endswith("__")]
        assert not private, entry["title"]
        assert parts[0] not in {"antigravity", "idlelib", "lib2to3", "test", "this", "turtledemo"}


def test_links_join_a_container_to_its_members(docs):
    ids = {entry["id"] for entry in docs.entries}
    assert all(source in ids and target in ids and source != target for source, target, _ in docs.links)
    assert ("py:json", "py:json.dumps", "contains") in docs.links
    assert ("py:threading.Thread", "py:threading.Thread.join", "contains") in docs.links
    assert ("py:xml", "py:xml.dom", "contains") in docs.links


def test_own_words_weigh_more_than_repeated_or_outdated_ones(docs):
    titles = by_title(docs)
    assert titles["shutil.copytree"]["severity"] == "warning"
    assert titles["int.__repr__"]["severity"] == "suggestion"
    outdated = [entry for entry in docs.entries if entry["attrs"].get("deprecated")]
    assert outdated
    assert {entry["severity"] for entry in outdated} == {"suggestion"}


def test_collecting_again_gives_the_same(docs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = collect()
    assert again.entries == docs.entries
    assert again.links == docs.links


def test_collecting_prints_nothing_and_tells_its_progress(capfd):
    steps: list[tuple[int, int]] = []
    collect(lambda done, total: steps.append((done, total)))
    assert capfd.readouterr() == ("", "")
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] == len(steps)


def test_nothing_shown_depends_on_the_run(docs):
    assert not [entry["title"] for entry in docs.entries if " at 0x" in entry["context"]]


def test_signatures_are_those_that_inspect_makes(monkeypatch, docs):
    of_each = {entry["id"]: entry["context"] for entry in docs.entries}
    monkeypatch.setattr(stdlib_docs, "_plain_parameters", lambda function: "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = {entry["id"]: entry["context"] for entry in collect().entries}
    # `inspect` drops white space in the texts of C functions.
    assert asked == {id: text if text == asked[id] else " ".join(text.split()) for id, text in of_each.items()}


def test_a_module_in_the_working_directory_does_not_stand_in_for_the_library(tmp_path, monkeypatch):
    (tmp_path / "tabnanny.py").write_text("raise SystemExit('this is not the library')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tabnanny", raising=False)
    assert "tabnanny" not in by_title(collect())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("json.dumps", ["json", "dumps"]),
        ("ThreadPoolExecutor", ["thread", "pool", "executor"]),
        ("read_text", ["read", "text"]),
        ("HTTPServer", ["http", "server"]),
        ("int.__add__", ["int", "add"]),
        ("base64.b64encode", ["base", "64", "b", "encode"]),
        ("Path.path", ["path"]),
    ],
)
def test_names_are_split_into_words(name, words):
    assert words_of(name) == words


def test_the_alias_in_a_package_is_the_very_function_of_its_submodule():
    assert asyncio.gather is asyncio.tasks.gather
