"""Tests of `integration/test_logging.py` that start processes."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
if sys.argv[1] == "early":
    import logging
from septet import Vault
with Vault(":memory:") as vault:
    vault.add(title="ducks")
    vault.search("ducks", query_vector=[1.0])
    if sys.argv[1] == "late":
        import logging
    # Notes that there are no vectors.
    assert vault.search("ducks", query_vector=[1.0]).degraded
if sys.argv[1] != "never":
    print(logging.getLogger("septet").handlers)
print("logging" in sys.modules)
"""


@pytest.mark.parametrize(("when", "last"), [("early", "True"), ("late", "True"), ("never", "False")])
def test_a_program_that_sets_up_no_logging_sees_none_and_does_not_load_it(when, last):
    done = subprocess.run([sys.executable, "-c", PROGRAM, when], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == last
    assert done.stdout.count("NullHandler") == (0 if when == "never" else 1)
