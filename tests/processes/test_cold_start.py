"""A process that asks one question loads what answers it, and nothing else."""

import json
import os
import subprocess
import sys

import pytest

from septet import Vault

#: The modules of a process whose classes are defined by `typing` and `dataclasses`.
SLOW = """
def slow():
    import dataclasses, sys, typing
    ours = {name: vars(module) for name, module in sys.modules.items() if name.startswith("septet.")}
    tuples = [name for name, values in ours.items() if values.get("NamedTuple") is typing.NamedTuple]
    return tuples + [name for name, values in ours.items() if values.get("dataclass") is dataclasses.dataclass]
"""
ASK = (
    SLOW
    + """
import json, sys, numpy
before = set(sys.modules)
from septet import Vault
with Vault(sys.argv[1]) as vault:
    ids = vault.search("session cookies", query_vector=numpy.array([1.0, 0.0])).ids
print(json.dumps([ids, sorted(set(sys.modules) - before), slow()]))
"""
)

#: Each costs a process between half a millisecond and fifty.
UNUSED = """
    asyncio concurrent.futures hashlib httpx importlib.metadata logging numpy.typing pathlib pydantic pydantic_core
    ssl tempfile tomli tomllib typing_extensions urllib.parse urllib.request uuid yaml septet.aio septet.embedding
    septet.net septet.files septet.search.explain septet.model.explanation septet.federation septet.exchange
    septet.query.filters septet.model.stats septet.sqlite.snapshot.maintenance septet.sqlite.tier.inspection
    septet.store.protocol septet.store.table_protocols opentelemetry septet.watch.events septet.watch.spans
    septet.watch.watching
""".split()


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("cold") / "vault.db"
    with Vault(path) as vault:
        vault.add(id="a", title="Rotate session cookies", vector=[1.0, 0.5])
        vault.add(id="b", title="Pin the toolchain", vector=[0.0, 1.0])
        vault.optimize()
    return path


@pytest.fixture(scope="module")
def first_search(vault):
    done = subprocess.run([sys.executable, "-c", ASK, str(vault)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def loaded(first_search):
    ids, modules, _ = first_search
    assert ids[0] == "a"
    return modules


def test_a_first_search_loads_the_road_of_a_search(loaded):
    assert {"septet.vault", "septet.search.run", "septet.sqlite.snapshot.manager", "septet.profiles.builtin"} <= set(
        loaded
    )


@pytest.mark.parametrize("module", UNUSED)
def test_a_first_search_does_not_load(loaded, module):
    assert [name for name in loaded if name == module or name.startswith(f"{module}.")] == []


def test_a_first_search_defines_its_values_by_records(first_search):
    # A value that is checked has no generated methods.
    assert first_search[2] == ["septet.inputs.checked"]


DEGRADED = """
import sys
from septet import Vault
with Vault(":memory:") as vault:
    vault.add(id="a", title="Rotate session cookies")
    notes = vault.search("session cookies", query_vector=[1.0, 0.0]).notes
print([note.code for note in notes], "septet.watch.watching" in sys.modules)
"""


def test_a_search_with_notes_loads_the_log_only_where_a_program_logs():
    for logs, loaded in (("", False), ("import logging", True)):
        done = subprocess.run([sys.executable, "-c", logs + DEGRADED], capture_output=True, text=True, check=True)
        assert done.stdout == f"['no_vectors'] {loaded}\n"


ONE_COMMAND = (
    SLOW
    + """
import json, sys
from septet.cli.app import run
sys.argv = ["septet", *sys.argv[1:]]
code = run()
print(json.dumps([code, sorted(sys.modules), slow()]))
"""
)


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["embed", "--help"]], ids=" ".join)
def test_the_help_of_the_command_line_loads_only_what_reads_arguments(arguments):
    pytest.importorskip("typer")
    done = subprocess.run([sys.executable, "-c", ONE_COMMAND, *arguments], capture_output=True, text=True, check=True)
    code, modules, _ = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert "Usage" in done.stdout
    heavy = {"numpy", "rich", "rich.console", "httpx", "pydantic", "sqlite3", "septet._core", "septet.vault"}
    assert heavy & set(modules) == set()
    assert [
        m for m in modules if m.startswith(("septet.embedding", "septet.sqlite.store", "septet.sqlite.snapshot"))
    ] == []


def test_a_command_loads_its_own_module_and_no_other():
    pytest.importorskip("typer")
    done = subprocess.run(
        [sys.executable, "-c", ONE_COMMAND, "explain", "-h"], capture_output=True, text=True, check=True
    )
    _, modules, _ = json.loads(done.stdout.splitlines()[-1])
    assert [m for m in modules if m.startswith("septet.cli.commands.")] == ["septet.cli.commands.searching"]


#: What the parser of arguments loads itself.
OF_THE_PARSER = {"pathlib", "urllib.parse", "uuid"}
#: Commands and faces that are none of a search's, and what draws on terminals.
OTHERS = """
    rich septet.cli.demo septet.cli.checkup septet.cli.pager septet.cli.catalogue septet.server
    septet.mcp septet.client septet.adapters septet.service.opening septet.service.requests starlette uvicorn mcp
    septet.cli.commands.copying septet.cli.commands.embedding septet.cli.commands.syncing
""".split()


@pytest.fixture(scope="module")
def loaded_by_a_command(vault, tmp_path_factory):
    pytest.importorskip("typer")
    command = ["search", "session cookies", "--vault", str(vault)]
    environment = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home")), "SEPTET_EMBEDDING": ""}
    environment.pop("XDG_CONFIG_HOME", None)
    done = subprocess.run(
        [sys.executable, "-c", ONE_COMMAND, *command],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    code, modules, slow = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert "Rotate session cookies" in done.stdout
    assert slow == ["septet.inputs.checked"]
    return modules


@pytest.mark.parametrize("module", [name for name in UNUSED if name not in OF_THE_PARSER] + OTHERS)
def test_a_search_on_the_command_line_does_not_load(loaded_by_a_command, module):
    assert [name for name in loaded_by_a_command if name == module or name.startswith(f"{module}.")] == []


def test_importing_the_package_loads_no_http_client_and_no_event_loop():
    code = "import sys, septet; print([m for m in ('httpx', 'asyncio', 'ssl', 'openai') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


ONE_HOOK = """
import json, sys
from septet.hooks.running import run
run(["claude-code", "--no-helper", "--vault", sys.argv[1]])
print(json.dumps(sorted(sys.modules)))
"""
#: What no answer of a hook needs: what reads statements, syncs transcripts, and parses arguments.
NOT_OF_A_HOOK = """
    pathlib typer rich httpx pydantic asyncio septet.aio septet.embedding septet.net septet.files septet.hooks.keeping
    septet.hooks.helper septet.service septet.cli.app septet.query.statements septet.query.lexicon
    septet.query.comparing septet.query.filters septet.sqlite.snapshot.maintenance
""".split()


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_a_hook_loads_what_answers_it(vault, tmp_path, event):
    call = {"hook_event_name": event, "prompt": "Rotate session cookies", "source": "startup", "session_id": "s"}
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    environment = {name: value for name, value in environment.items() if not name.startswith(("SEPTET_", "XDG_D"))}
    done = subprocess.run(
        [sys.executable, "-c", ONE_HOOK, str(vault)],
        input=json.dumps(call | {"cwd": str(tmp_path / "session-cookies")}),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    answer, modules = done.stdout.splitlines()
    assert "Rotate session cookies" in answer
    loaded = json.loads(modules)
    assert [m for m in loaded for name in NOT_OF_A_HOOK if m == name or m.startswith(f"{name}.")] == []


def test_a_hook_that_notes_a_transcript_opens_no_vault(tmp_path):
    call = {"hook_event_name": "PreCompact", "session_id": "s", "transcript_path": str(tmp_path / "s.jsonl")}
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    environment = {name: value for name, value in environment.items() if not name.startswith(("SEPTET_", "XDG_D"))}
    code = ONE_HOOK.replace("run([", "import septet.hooks.running as r; r.start_apart = print; run([")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "vault.db")],
        input=json.dumps(call),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    started, modules = done.stdout.splitlines()
    assert started == "hooks sync"
    assert {"numpy", "sqlite3", "dataclasses", "inspect", "septet.vault"} & set(json.loads(modules)) == set()
