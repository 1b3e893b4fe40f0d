"""Programs that use the whole public API pass the type checkers in strict mode; typical mistakes do not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import septet
from public_names import NAMES, PUBLIC

FOLDER = Path(__file__).parents[1] / "typing"
SOURCES = Path(septet.__file__).parent.parent
SAMPLES = tuple(FOLDER / f"{name}.py" for name in ("sample", "folders", "retrievals", "clients"))
MISTAKES = FOLDER / "mistakes.py"


def ran(*command, **environment):
    """What a program printed, whatever its exit code."""
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=FOLDER, check=False).stdout


def errors_of_mypy():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-version=3.10", "-O", "json"]
    cache = f"--cache-dir={SOURCES.parent / '.mypy_cache' / 'sample'}"
    found = [json.loads(line) for line in ran(*command, cache, *SAMPLES, MISTAKES, MYPYPATH=str(SOURCES)).splitlines()]
    return [(Path(one["file"]).name, one["line"], one["message"]) for one in found if one["severity"] == "error"]


def errors_of_pyright():
    pytest.importorskip("basedpyright")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    found = json.loads(ran(*command, "-p", FOLDER / "pyrightconfig.json"))
    assert found["summary"]["filesAnalyzed"] == len(SAMPLES) + 1
    places = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one) for one in found["generalDiagnostics"]]
    return [(name, line, one["message"]) for name, line, one in places if one["severity"] in ("error", "warning")]


@pytest.fixture(scope="module", params=[errors_of_mypy, errors_of_pyright], ids=["mypy", "pyright"])
def errors(request):
    return request.param()


def test_programs_that_use_the_whole_public_api_have_no_error(errors):
    assert [one for one in errors if one[0] != MISTAKES.name] == []


def test_each_typical_mistake_is_an_error_and_nothing_else_is(errors):
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith("# error")]
    assert len(marked) == 21
    # mypy says some things twice.
    assert sorted({line for name, line, _ in errors if name == MISTAKES.name}) == marked


@pytest.mark.parametrize("program", SAMPLES, ids=lambda path: path.stem)
def test_a_program_does_what_its_types_say(program, tmp_path):
    if program.stem == "clients":
        pytest.importorskip("httpx")
    done = subprocess.run([sys.executable, program, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == septet.__version__


def test_the_programs_use_every_class_and_function_that_is_public():
    text = "".join(path.read_text(encoding="utf-8") for path in (*SAMPLES, MISTAKES))
    # Of its own type: Python 3.10 takes `Callable[[int], None]` for an instance of `type`.
    values = [name for name in NAMES if issubclass(type(PUBLIC[name]), type)]
    # Parts of a profile are written as data more often than called.
    unused = {name for name in values if name not in text} - {*septet.profiles.__all__}
    # Providers and vaults on PostgreSQL need servers; errors share one way to be caught; the rest names what is passed,
    # not what is called.
    assert {name for name in unused if not issubclass(PUBLIC[name], Exception)} == {
        *("FallbackEmbedder", "GeminiEmbedder", "LocalEmbedder", "OllamaEmbedder", "OpenAICompatibleEmbedder"),
        *("OpenAIEmbedder", "VoyageEmbedder", "LegReport", "FlushLimits", "ModelStatus", "LocalReranker", "Usage"),
        *("AsyncPostgresVault", "PostgresVault", "Words"),
        *("CacheNamespace", "ModelLocation", "Pooling", "SpaceIdentity"),
        *("EntryChanges", "EntryFields", "EntryOverrides", "FrameLike", "MemoryFields", "SpanFields", "Strings"),
    }
