"""Tests of `unit/test_adapters.py` that start processes."""

import subprocess
import sys

import pytest

MISSING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == sys.argv[2]:
            raise ImportError(f"No module named {name!r}")

sys.meta_path.insert(0, Missing())
try:
    __import__(f"septet.adapters.{sys.argv[1]}")
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("langgraph", "langgraph", "langgraph"),
        ("llama_index", "llama_index", "llama-index"),
    ],
)
def test_a_missing_package_is_said_in_one_line_with_the_extra(module, package, extra):
    command = [sys.executable, "-c", MISSING, module, package]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    (line,) = said.splitlines()
    assert line.startswith(f"septet.adapters.{module} needs an extra: pip install 'septet[{extra}]'")
