"""Folders of source files, and what corpora answer about them."""

import os

from septet.retrieval.corpus import CorpusRequest

FILES = {
    "src/policy.py": "MOST_HOPS = 3\n\n\nclass Policy:\n    def from_env(self):\n        return 1\n",
    "src/http/retry.py": "def retry_request(url):\n    return url\n",
    "docs/search/policy.md": "# Policy\n\nHow it is made.\n",
    "tests/test_policy.py": "def test_policy():\n    assert True\n",
    "target/policy.py": "def built(): 1\n",
    "secret.key": "policy",
    ".gitignore": "*.key\n",
}


def written(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def rested(root):
    """Let everything have changed a while ago, so that times tell what changed since."""
    for path in [*root.rglob("*"), root]:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return root


def asked(query, limit=10, **more):
    return CorpusRequest(query, limit, **more)


def hits(answered, name):
    return [item.hit for ranked in answered.lists if ranked.name == name for item in ranked.items]


def titles(answered, name):
    return [hit.title for hit in hits(answered, name)]


def codes(answered):
    return {note.code for note in answered.notes}
