"""A query that names a file brings the chunks of that file, whatever its words and vectors find."""

import hashlib
import json
import unicodedata
from contextlib import closing
from pathlib import PurePosixPath

import pytest

from golden.loader import other_recording
from septet import Federation, Vault
from septet.sqlite.tables import mentions
from septet.sqlite.tier.additions import named_by
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
PROFILE = "markdown-memory"
RECORDED = other_recording("openclaw-newest-ranking-factors")["groups"]["exactPath"]


def id_of(path, number, root="notes"):
    """The id of a chunk, which has none of the words of its file."""
    return hashlib.sha256(f"{root}:{path}:{number}".encode()).hexdigest()[:24]


def put_files(vault, paths, *, root="notes", at="/home/me/notes", chunks=2, text="words of no use"):
    """Store what a sync does of files: a row for each, and its chunks."""
    with vault._store.writing() as write:
        sql = "INSERT INTO roots (path, name, options, identity) VALUES (?, ?, '{}', '')"
        number = write.sql.execute(sql, (at, root)).lastrowid
        for path in paths:
            name = unicodedata.normalize("NFC", PurePosixPath(path).name).lower()
            before, dot, _ = name.rpartition(".")
            write.sql.execute(
                "INSERT INTO files (id, root, path, name, stem, kind, size, mtime_ns, hash, synced_at) "
                "VALUES (?, ?, ?, ?, ?, 'text', 0, 0, '', 0)",
                (f"file-{root}-{path}", number, path, name, before if dot and before else name),
            )
    vault.add_many(
        {
            "id": id_of(path, i, root),
            "title": "part",
            "description": f"{text} {i}",
            "kind": "chunk",
            "parent": f"file-{root}-{path}",
            "source": root,
            "span": {"path": path, "first_line": 10 * i + 1, "last_line": 10 * i + 9},
        }
        for path in paths
        for i in reversed(range(chunks))
    )


def places(vault, query, **options):
    """Return how exactly a query names the files that its candidates are of, by path."""
    plan = vault._plan(query, {"profile": PROFILE, "limit": 100, **options})
    session = vault._tier.open([plan], 0)
    try:
        pool = session.candidates()[0].pool
        if "path" not in pool.columns:
            return {}
        found = [candidate.to_entry() for candidate in session.read(pool.rows)]
    finally:
        session.close()
    values = pool.columns["path"]
    return {entry.span.path: int(value) for entry, value in zip(found, values) if value == value}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: json.dumps([case["query"], case["path"]]))
def test_a_query_names_a_file_as_exactly_as_was_recorded(vault, case):
    put_files(vault, [case["path"], "memory/other.md"])
    assert places(vault, case["query"]).get(case["path"], 0) == case["specificity"]


def test_paths_of_every_length_and_writing_are_known(vault):
    put_files(vault, ["a/b/Plan.md", "a/b/Kế Hoạch.md", "c/plan.md", "plan.txt", "d/.env"])
    exact = {"a/b/Plan.md": 3}
    named = ("a/b/plan.md", "A\\B\\PLAN.md", "./a/b/Plan.md", "notes/a/b/Plan.md", "/home/me/notes/a/b/Plan.md")
    assert [places(vault, text) for text in (*named, f"  {named[0]}\n")] == [exact] * 6
    assert places(vault, "plan.md") == {"a/b/Plan.md": 2, "c/plan.md": 2}
    assert places(vault, "Plan") == {"a/b/Plan.md": 1, "c/plan.md": 1, "plan.txt": 1}
    assert places(vault, "plan.txt") == {"plan.txt": 3}
    decomposed = unicodedata.normalize("NFD", "kế hoạch")
    assert places(vault, decomposed) == places(vault, "KẾ HOẠCH") == {"a/b/Kế Hoạch.md": 1}
    assert places(vault, unicodedata.normalize("NFD", "a/b/Kế Hoạch.md")) == {"a/b/Kế Hoạch.md": 3}
    for text in ("b/Plan.md", "the plan.md", "plan.m", "", " ", ".", "./", "..", "/", "%", "pl_n", "x" * 100_000):
        assert places(vault, text) == {}


def test_the_chunks_of_a_named_file_come_first_in_the_order_of_their_lines(vault):
    put_files(vault, ["memory/plan.md"], chunks=9)
    vault.add(id="words", title="plan plan.md memory/plan.md")
    for query, exact in [("memory/plan.md", "path"), ("plan.md", "name"), ("plan", "stem")]:
        found = vault.search(query, profile=PROFILE, limit=9)
        assert found.ids == [id_of("memory/plan.md", i) for i in range(9)]
        assert [hit.score for hit in found] == [1.0] * 9
        told = vault.explain(query, id_of("memory/plan.md", 3), profile=PROFILE, limit=9)
        (leg,) = [leg for leg in told.legs if leg.leg == "path"]
        assert (leg.rank, leg.of, leg.detail) == (4, 9, f"the query is the {exact} of its file")
        assert told.found
        assert not [leg for leg in vault.explain(query, "words", profile=PROFILE).legs if leg.leg == "path"]
    assert vault.search("plan", profile="septet").ids == ["words"]


@pytest.mark.parametrize("written", ["Straße", "ΣΊΣΥΦΟΣ", "Σίσυφος", "ﬁnal", "İzmir", "Ǆ", "Kế Hoạch"])
def test_case_does_not_matter_in_any_script_to_queries_and_links(tmp_path, written):
    (tmp_path / "one.md").write_text(f"# One\n\nSee [[{written.upper()}]].\n", encoding="utf-8")
    (tmp_path / f"{written}.md").write_text("# Text\n\nwords of no use\n", encoding="utf-8")
    with Vault(":memory:") as vault:
        vault.sync(tmp_path)
        ids = {entry.span.path: entry.id for entry in vault}
        for text in (written, written.upper(), written.casefold()):
            for query in (text, f"{text}.md", f"{tmp_path.name}/{text}.md"):
                assert vault.search(query, profile=PROFILE).ids[:1] == [ids[f"{written}.md"]]
        assert [link.target for link in vault.links(ids["one.md"])] == [ids[f"{written}.md"]]


@pytest.mark.parametrize("files", [1, 2, 50, 99, 100, 101, 150])
def test_no_more_than_200_chunks_are_brought_of_the_best_matches_first(vault, files):
    put_files(vault, [f"d{i:03d}/plan.md" for i in range(files)])
    found = vault.search("plan.md", profile=PROFILE, limit=1_000)
    assert len(found) == min(2 * files, mentions.MOST_CHUNKS)
    assert found.ids[:2] == [id_of("d000/plan.md", 0), id_of("d000/plan.md", 1)]
    last = f"d{files - 1:03d}/plan.md"
    assert vault.search(last, profile=PROFILE).ids[:2] == [id_of(last, 0), id_of(last, 1)]


def test_chunks_of_named_files_pass_the_filters_and_are_no_candidates_twice(vault):
    put_files(vault, ["plan.md", "other.md"], text="a plan of words")
    found = vault.search("plan", profile=PROFILE, limit=50)
    assert len(found.ids) == len(set(found.ids)) == 4 and found.total == 4
    assert found.ids[:2] == [id_of("plan.md", 0), id_of("plan.md", 1)]
    assert vault.search("plan", profile=PROFILE, where={"source": "else"}).ids == []
    assert vault.search("plan.md", profile=PROFILE, where={"id": id_of("plan.md", 1)}).ids == [id_of("plan.md", 1)]
    vault.update(id_of("plan.md", 0), valid_until=NOW - 1)
    vault.delete(id_of("plan.md", 1))
    assert id_of("plan.md", 0) not in vault.search("plan.md", profile=PROFILE).ids
    assert id_of("plan.md", 1) not in vault.search("plan.md", profile=PROFILE).ids


def test_every_tier_of_a_federation_and_every_query_of_many_names_files(vault):
    with Vault(":memory:", clock=lambda: NOW) as far:
        put_files(vault, ["near/plan.md"], root="near", at="/near")
        put_files(far, ["plan.md", "far/todo.md"], root="far", at="/far")
        with Federation({"near": vault, "far": far}, clock=lambda: NOW) as both:
            found = both.search("plan.md", profile=PROFILE, limit=9)
            assert {hit.id: hit.tier for hit in found} == {
                id_of("plan.md", 0, "far"): "far",
                id_of("plan.md", 1, "far"): "far",
                id_of("near/plan.md", 0, "near"): "near",
                id_of("near/plan.md", 1, "near"): "near",
            }
            # The query is the whole path of the one and the name of the other.
            assert [hit.tier for hit in found] == ["far", "far", "near", "near"]
            several = both.search_many(["plan.md", "todo", "nothing"], profile=PROFILE, limit=9)
            assert [len(one) for one in several] == [4, 2, 0]


def test_a_vault_without_files_is_asked_once_a_state_and_other_profiles_never(vault, monkeypatch):
    vault.add(id="a", title="plan")
    asked = []
    monkeypatch.setattr(mentions, "any_files", lambda read: asked.append(read.generation) or False)
    for _ in range(3):
        assert vault.search("plan", profile="septet").ids == ["a"]
    assert not asked
    for _ in range(3):
        vault.search("plan", profile=PROFILE)
    assert len(asked) == 1
    plan = vault._plan("plan", {"profile": PROFILE})
    with closing(open_read_view(vault._store, vault._tier.manager, plan)) as view:
        assert named_by(view, "plan") == {}


def test_sidecars_and_vectors_change_nothing(tmp_path):
    with Vault(tmp_path / "a.db", clock=lambda: NOW) as vault:
        put_files(vault, ["plan.md"])
        vault.add(id="near", title="x", vector=[1.0, 0.0])
        options = {"profile": PROFILE, "query_vector": [1.0, 0.1]}
        first = vault.search("plan.md", **options)
        assert first.ids == [id_of("plan.md", 0), id_of("plan.md", 1), "near"]
        vault.optimize()
        assert vault.search("plan.md", **options).ids == first.ids
        assert vault.search("plan.md", legs="vector", **options).ids == ["near"]
