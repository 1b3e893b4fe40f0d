"""Tests of `integration/test_spans.py` that start processes."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import opentelemetry.trace
from septet import Vault
print(Vault(":memory:")._watch, Vault(":memory:", telemetry=True)._watch is not None)
with Vault(":memory:", telemetry=True) as vault:
    vault.add(title="ducks")
    print(vault.search("ducks").ids == [vault.search("ducks").hits[0].id])
"""


def test_a_program_that_has_the_api_and_sets_no_provider_is_not_watched():
    pytest.importorskip("opentelemetry.trace")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["None True", "True"]
