"""A vault on a PostgreSQL server ranks as one in a file does."""

import pytest

from postgres_server import PostgresServer, why_not
from septet import PostgresVault, Vault

ENTRIES = [
    {
        "id": f"e{number}",
        "title": f"{'retry' if number % 3 else 'cookie'} policy {number}",
        "description": f"word{number % 7} word{number % 5} getUserName",
        "severity": ("critical", "warning", "suggestion")[number % 3],
        "vector": [1.0, number / 10, (number % 4) / 4],
    }
    for number in range(40)
]
QUERIES = ("retry policy", "word3 word4 user name", "cookie 12", "nothing of this")


def ranked(vault, query):
    return [(hit.id, pytest.approx(hit.score, abs=1e-9)) for hit in vault.search(query, query_vector=[0.2, 1.0, 0.5])]


def test_a_server_and_a_file_rank_alike(tmp_path):
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    server = PostgresServer()
    try:
        with Vault(tmp_path / "v.db", clock=lambda: 1.7e9) as file:
            file.add_many(ENTRIES)
            with PostgresVault(server.dsn(), vault="smoke", clock=lambda: 1.7e9) as remote:
                remote.add_many(ENTRIES)
                assert [ranked(remote, query) for query in QUERIES] == [
                    [(hit.id, hit.score) for hit in file.search(query, query_vector=[0.2, 1.0, 0.5])]
                    for query in QUERIES
                ]
    finally:
        server.close()
