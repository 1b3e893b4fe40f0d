"""Corpora over a folder: paths, definitions and renamed names, whatever is wrong with a file."""

import json
import os
import shutil
import threading

import numpy as np
import pytest

from golden.loader import other_recording
from repositories import FILES, asked, codes, hits, rested, titles, written
from septet import QueryError, Vault
from septet.query.refine import deadline_of
from septet.retrieval.corpora.folders import Folder, InventoryCorpus, natural_words
from septet.retrieval.corpora.symbols import Renames, SymbolCorpus, names_in
from twins.corpora import path_score


@pytest.fixture
def repository(tmp_path):
    return rested(written(tmp_path / "repository", FILES))


class TestInventory:
    def test_paths_are_ranked_and_those_left_out_by_rules_are_not_there(self, repository):
        answered = InventoryCorpus(repository).search(asked("where is the policy?"))
        assert titles(answered, "paths") == ["docs/search/policy.md", "src/policy.py", "tests/test_policy.py"]
        first = hits(answered, "paths")[0]
        assert (first.score, first.kind, first.tier, first.raw["path"]) == (1.3, "path", "repo_inventory", 1.3)
        assert first.citation == "docs/search/policy.md#L1"
        assert [*answered.backends] == ["repo_path"]
        assert not answered.notes

    @pytest.mark.parametrize("case", other_recording("vox-repo-path")["cases"], ids=lambda case: case["query"])
    def test_paths_score_as_recorded(self, tmp_path, case):
        root = written(tmp_path / "r", dict.fromkeys((p for p in case["scores"] if p != "policy"), "x"))
        answered = InventoryCorpus(root, words="all").search(asked(case["query"], 100))
        scores = {hit.title: hit.score for hit in hits(answered, "paths")}
        assert scores == pytest.approx({path: score for path, score in case["scores"].items() if path != "policy"})
        assert [*scores] == sorted(scores, key=lambda path: (-scores[path], path))

    @pytest.mark.parametrize("files", [0, 1, 2, 50, 99, 100, 101, 250])
    def test_no_more_files_are_looked_at_than_there_may_be(self, tmp_path, files):
        root = written(tmp_path / "r", {f"{at % 7}/{at}.txt": "" for at in range(files)})
        root.mkdir(exist_ok=True)
        answered = InventoryCorpus(root, most_files=100).search(asked("txt", 1000))
        assert len(titles(answered, "paths")) == min(files, 100)
        assert codes(answered) == ({"folder_cut"} if files > 100 else set())

    def test_twenty_thousand_and_one_files(self, tmp_path):
        for folder in range(201):
            (tmp_path / str(folder)).mkdir()
            for at in range(100 if folder < 200 else 1):
                (tmp_path / str(folder) / f"{at}.txt").touch()
        corpus = InventoryCorpus(tmp_path)
        answered = corpus.search(asked("99.txt", 1000))
        # The last file by name is the one left out.
        assert len(titles(answered, "paths")) == 199
        assert codes(answered) == {"folder_cut"}
        assert not codes(InventoryCorpus(tmp_path, most_files=20_001).search(asked("99.txt")))

    def test_what_changes_is_seen_by_the_next_question(self, repository):
        corpus = InventoryCorpus(repository)

        def found():
            return titles(corpus.search(asked("gateway policy")), "paths")

        before = found()
        written(repository, {"src/gateway.py": ""})
        assert found() == sorted(
            [*before, "src/gateway.py"], key=lambda path: (-path_score("gateway policy", path), path)
        )
        (repository / ".gitignore").write_text("docs\n*.key\n")
        assert "docs/search/policy.md" not in found()
        (repository / "src" / "gateway.py").rename(repository / "src" / "other.py")
        assert "src/gateway.py" not in found()
        shutil.rmtree(repository)
        answered = corpus.search(asked("policy"))
        assert titles(answered, "paths") == []
        assert codes(answered) == {"folder_cut"}
        written(repository, {"policy.py": ""})
        assert titles(corpus.search(asked("policy")), "paths") == ["policy.py"]

    def test_a_folder_that_is_not_there_is_a_note(self, tmp_path):
        answered = InventoryCorpus(tmp_path / "no").search(asked("policy"))
        assert (titles(answered, "paths"), codes(answered)) == ([], {"folder_cut"})

    def test_a_file_in_place_of_a_folder_is_a_note_until_the_folder_is_there(self, tmp_path):
        (tmp_path / "r").write_text("x")
        corpus = InventoryCorpus(tmp_path / "r")
        assert codes(corpus.search(asked("policy"))) == {"folder_cut"}
        (tmp_path / "r").unlink()
        written(tmp_path / "r", {"policy.py": ""})
        assert titles(corpus.search(asked("policy")), "paths") == ["policy.py"]

    def test_nobody_waits_for_rules_that_are_a_pipe(self, repository):
        (repository / ".gitignore").unlink()
        os.mkfifo(repository / ".gitignore")
        answered = InventoryCorpus(repository).search(asked("policy"))
        assert (titles(answered, "paths"), codes(answered)) == ([], {"folder_cut"})

    def test_links_in_circles_pipes_and_locked_folders_hold_nothing_up(self, repository):
        (repository / "up").symlink_to(repository)
        (repository / "policy-link.py").symlink_to(repository / "src" / "policy.py")
        (repository / "nowhere").symlink_to(repository / "gone")
        os.mkfifo(repository / "policy.fifo")
        (repository / b"policy-\xff.txt".decode("utf-8", "surrogateescape")).touch()
        (repository / "locked").mkdir()
        (repository / "locked" / "policy.txt").touch()
        (repository / "locked").chmod(0)
        try:
            answered = InventoryCorpus(repository).search(asked("policy"))
        finally:
            (repository / "locked").chmod(0o755)
        found = titles(answered, "paths")
        assert "src/policy.py" in found
        assert r"policy-\xff.txt" in found
        assert not [path for path in found if path.startswith(("up", "policy-link", "policy.fifo", "nowhere"))]
        if os.geteuid() != 0:
            assert codes(answered) == {"folder_cut"}

    def test_without_time_there_is_a_note_and_the_next_question_finds_it(self, repository):
        folder = Folder(repository)
        corpus = InventoryCorpus(folder)
        first = folder.listed(0.0)
        assert {note.code for note in first.notes} == {"folder_cut"}
        folder._looking.result()
        assert "src/policy.py" in titles(corpus.search(asked("policy")), "paths")
        assert not folder.listed(0.0).notes

    def test_vectors_alone_find_no_paths(self, repository):
        assert not InventoryCorpus(repository).search(asked("policy", mode="vector")).lists

    def test_entries_are_fetched_by_the_ids_of_hits_and_by_no_others(self, repository):
        corpus = InventoryCorpus(repository)
        hit = hits(corpus.search(asked("policy")), "paths")[0]
        assert corpus.get(hit.id) == hit.entry
        assert corpus.get("path:../../etc/passwd") is None

    def test_many_threads_ask_at_once(self, repository):
        corpus, found = InventoryCorpus(repository), []
        threads = [
            threading.Thread(target=lambda: found.append(titles(corpus.search(asked("policy")), "paths")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert all(one == found[0] for one in found)

    @pytest.mark.parametrize(
        "given", [{"words": "some"}, {"most_files": 0}, {"skip": [1]}, {"name": 3}, {"skip": None}]
    )
    def test_wrong_arguments_are_said(self, repository, given):
        with pytest.raises(QueryError):
            InventoryCorpus(repository, **given)

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ("where is the retry policy?", ["retry", "policy"]),
            ("septet.retrieval.policy", ["septet.retrieval.policy", "septet/retrieval/policy"]),
            ("the", ["the"]),
            ("größe.md", ["größe.md", "größe/md"]),
            ("?!", []),
            ("", []),
        ],
    )
    def test_words_that_tell_nothing_are_left_out(self, query, words):
        assert natural_words(query) == words


class TestSymbols:
    def test_definitions_are_found_by_words_and_names_with_their_place(self, repository):
        corpus = SymbolCorpus(repository)
        for query in ("where are requests retried", "retryRequest", "retry_reqest"):
            best = hits(corpus.search(asked(query)), "symbols")[0]
            assert (best.title, best.citation, best.kind, best.type) == (
                "retry_request",
                "src/http/retry.py#L1",
                "symbol",
                "def",
            )
            assert 0 < best.score <= 1
        answered = corpus.search(asked("Policy"))
        assert titles(answered, "symbols")[0] == "Policy"
        assert hits(answered, "symbols")[0].score == 1.0
        assert "built" not in titles(corpus.search(asked("built")), "symbols")

    def test_a_file_that_changes_is_read_again(self, repository):
        corpus = SymbolCorpus(repository)
        corpus.search(asked("retry"))
        written(
            repository,
            {"src/http/retry.py": "\n\ndef retry_call(url):\n    return url\n", "new.rs": "pub fn retry_new() {}\n"},
        )
        found = {hit.title: hit.citation for hit in hits(corpus.search(asked("retry")), "symbols")}
        assert found == {"retry_call": "src/http/retry.py#L3", "retry_new": "new.rs#L1"}
        # Within a tick, with the same size.
        (repository / "new.rs").write_text("pub fn retry_old() {}\n")
        assert "retry_old" in titles(corpus.search(asked("retry")), "symbols")
        (repository / "new.rs").unlink()
        assert titles(corpus.search(asked("retry")), "symbols") == ["retry_call"]

    def test_binary_large_and_wrongly_encoded_files_hold_nothing_up(self, repository):
        (repository / "binary.py").write_bytes(b"def retry_binary(): 1\n\0")
        (repository / "latin.py").write_bytes(b"# caf\xe9\ndef retry_latin(): 1\n")
        (repository / "large.py").write_text("def retry_large(): 1\n" * 100)
        folder = Folder(repository, most_bytes=1000)
        assert sorted(titles(SymbolCorpus(folder).search(asked("retry")), "symbols")) == [
            "retry_latin",
            "retry_request",
        ]

    def test_names_that_were_retired_lead_to_the_canonical_ones(self, repository):
        corpus = SymbolCorpus(repository, contract={"retry_call": "retry_request", "old": "src.nowhere"})
        (hit,) = hits(corpus.search(asked("retry_cal")), "renamed")
        assert hit.title == "retry_call is now retry_request"
        assert (hit.score, hit.citation) == (1.0, "src/http/retry.py#L1")
        (hit,) = hits(corpus.search(asked("where is old")), "renamed")
        assert (hit.title, hit.citation, hit.entry.attrs["canonical"]) == (
            "old is now src.nowhere",
            None,
            "src.nowhere",
        )
        assert hits(corpus.search(asked("something else")), "renamed") == []

    def test_a_contract_in_the_repository_is_read_again_when_it_changes(self, repository):
        corpus = SymbolCorpus(repository, contract="contracts/names.json")
        answered = corpus.search(asked("retry_call"))
        assert codes(answered) == {"corpus_failed"}
        assert titles(answered, "symbols")
        shapes = [
            {"retry_call": "retry_request"},
            [{"retired": "retry_call", "canonical": "retry_request"}],
            {"version": 1, "symbols": [{"from": ["a-b-c", "retry_call"], "to": "retry_request"}]},
        ]
        for at, shape in enumerate(shapes):
            written(repository, {"contracts/names.json": json.dumps(shape)})
            os.utime(repository / "contracts" / "names.json", (at, at))
            answered = corpus.search(asked("retry_call"))
            assert (titles(answered, "renamed"), codes(answered)) == (["retry_call is now retry_request"], set())
        (repository / "contracts" / "names.json").write_text("{")
        answered = corpus.search(asked("retry_call"))
        # What was known stays.
        assert (len(hits(answered, "renamed")), codes(answered)) == (1, {"corpus_failed"})

    @pytest.mark.parametrize(
        ("query", "near"),
        [("Old Name", 1.0), ("old name of it", 1.0), ("old naem", 1 - 2 / 8), ("o", None), ("", None), ("zzz", None)],
    )
    def test_nearness_is_the_documented_one(self, query, near):
        found = Renames({"old name": "new name"}).near(query)
        assert [one.nearness for one in found] == ([] if near is None else [near])

    def test_vectors_of_symbols_count_half(self, repository):
        with Vault(":memory:") as vault:
            corpus = SymbolCorpus(repository, knowledge=vault)
            names = []
            for entry in corpus.definitions():
                names.append(entry.title)
                vault.add(entry, vector=[1.0, 0.0] if entry.title == "Policy" else [0.0, 1.0])
            assert sorted(names) == ["MOST_HOPS", "Policy", "from_env", "retry_request", "test_policy"]
            alone = {hit.title: hit.score for hit in hits(SymbolCorpus(repository).search(asked("policy")), "symbols")}
            answered = corpus.search(asked("policy", vector=np.array([0.0, 1.0], dtype=np.float32)))
            both = {hit.title: hit.score for hit in hits(answered, "symbols")}
            assert both["Policy"] == pytest.approx(alone["Policy"] / 2)
            assert both["test_policy"] == pytest.approx((alone["test_policy"] + 1) / 2)
            assert titles(answered, "vector")[-1] == "Policy"
            assert corpus.get(hits(answered, "vector")[0].id) is not None

    def test_without_time_there_is_a_note(self, repository):
        answered = SymbolCorpus(repository).search(asked("policy", deadline=deadline_of(0.0)))
        assert [ranked.name for ranked in answered.lists] == ["symbols"]

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("Vault.search", ["search"]),
            ("what does parse_config do with HTTPServer and std::mem::swap", ["parse_config", "HTTPServer", "swap"]),
            ("policy", ["policy"]),
            ("where is the policy", []),
            ("a_", []),
            ("", []),
            (" ".join(f"name_{at}" for at in range(20)), [f"name_{at}" for at in range(8)]),
        ],
    )
    def test_names_in_a_query_have_a_form_of_their_own(self, query, names):
        assert names_in(query) == names


def test_a_forked_child_asks_too(repository):
    corpus = SymbolCorpus(repository)
    before = titles(corpus.search(asked("policy")), "symbols")
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = titles(corpus.search(asked("policy")), "symbols")
        os.write(writes, b"same" if found == before else b"other")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reads, 10) == b"same"
    os.close(reads)
    os.close(writes)
