"""What tests/integration/test_listings.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_listings",
    without={"test_writes_of_other_processes_restores_and_purges_are_seen": "restores a file"},
)
