"""What tests/servers/test_client.py says of a client of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "servers/test_client",
    without={
        "test_the_routes_of_clients_are_those_of_the_table": "asks no vault",
        "test_a_reranker_cannot_travel": "asks no vault",
        "test_mistakes_are_the_same_errors": "they are found before a vault is asked",
        "test_any_id_names_an_entry": "ids travel the same way to every vault",
    },
    thinned=["test_a_search_returns_what_the_vault_returns"],
)
