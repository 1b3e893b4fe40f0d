"""Files for an intent: by their paths, and by their chunks in a vault."""

import json

import pytest

from repositories import FILES, asked, rested, written
from septet import QueryError, Vault
from septet.retrieval.corpora.folders import Folder, InventoryCorpus
from septet.retrieval.corpora.semantic import (
    SemanticFilesCorpus,
    discover_files_for_intent,
    retrieve_evidence_for_intent,
)


@pytest.fixture
def repository(tmp_path):
    return rested(written(tmp_path / "repository", FILES))


class TestFiles:
    def test_paths_alone_give_files_with_their_beginning(self, repository):
        found = discover_files_for_intent("change the retry policy", 2, folder=repository)
        assert [(one.path, one.score, one.evidence_source) for one in found] == [
            ("docs/search/policy.md", 1.3, "full_text"),
            ("src/http/retry.py", 1.3, "full_text"),
        ]
        assert found[0].snippet == "# Policy\nHow it is made."

    def test_chunks_find_files_whose_path_says_nothing(self, repository):
        written(repository, {"docs/a.md": "# Gateway\n\nThe gateway refreshes tokens of sessions.\n"})
        with Vault(repository.parent / "v.db") as vault:
            vault.sync(repository / "docs", name="docs")
            assert discover_files_for_intent("refresh tokens", folder=repository / "docs") == []
            (one,) = discover_files_for_intent(
                "refresh tokens", folder=repository / "docs", knowledge=vault, source="docs"
            )
            assert (one.path, one.score, one.evidence_source) == ("a.md", 1.0, "full_text")
            assert "refreshes tokens" in one.snippet
            both = discover_files_for_intent("policy", folder=repository / "docs", knowledge=vault)
            assert [(one.path, one.score) for one in both] == [("search/policy.md", pytest.approx(2.3))]
            (repository / "docs" / "a.md").unlink()
            assert discover_files_for_intent("refresh tokens", folder=repository / "docs", knowledge=vault) == []

    def test_the_answer_is_json(self, repository):
        answer = retrieve_evidence_for_intent("policy", 1, folder=repository)
        assert json.loads(json.dumps(answer)) == {
            "intent": "policy",
            "limit": 1,
            "hits": [
                {
                    "path": "docs/search/policy.md",
                    "score": 1.3,
                    "snippet": "# Policy\nHow it is made.",
                    "evidence_source": "full_text",
                }
            ],
        }

    def test_files_and_paths_have_the_same_identity(self, repository):
        folder = Folder(repository)
        paths = InventoryCorpus(folder).search(asked("policy")).lists[0].items
        files = SemanticFilesCorpus(folder).search(asked("policy")).lists[0].items
        assert [item.key for item in paths] == [item.key for item in files]

    def test_snippets_show_no_secrets_and_nothing_binary(self, repository):
        key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
        (repository / "policy-keys.py").write_text(f'OPENAI_API_KEY = "{key}"\n')
        (repository / "policy.bin").write_bytes(b"\0\1\2")
        found = {one.path: one.snippet for one in discover_files_for_intent("policy", folder=repository)}
        assert key not in found["policy-keys.py"]
        assert found["policy.bin"] == ""

    @pytest.mark.parametrize("limit", [0, 257, -1, "3", None])
    def test_the_limit_has_bounds(self, repository, limit):
        with pytest.raises(QueryError):
            discover_files_for_intent("policy", limit, folder=repository)
