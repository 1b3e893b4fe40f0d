"""The document of the HTTP server: it is valid, a client made from it works, and answers are as it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from septet import Vault
from septet.server.openapi import document
from septet.service.operations import OPERATIONS
from serving import ask, serving

#: What schemathesis looks at; positive and negative requests, and those that follow from answers.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)
#: Seconds of the run here; `SEPTET_SCHEMATHESIS_S=300` asks for longer.
SECONDS = int(os.environ.get("SEPTET_SCHEMATHESIS_S", "12"))

#: The Python that makes the client and runs it, in an environment of its own: its maker would hold typer back.
CLIENT_MAKER = Path(sys.prefix) / "client-maker" / "bin" / "python"


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("schema") / "v.db") as vault:
        for number in range(20):
            vault.add(id=f"e{number}", title=f"Entry {number} about cookies", tags=["web"], vector=[1.0, number / 10])
        vault.remember("Deploy on Tuesdays", id="m1")
        vault.link("e1", "e2")
        yield vault


@pytest.mark.parametrize("token", [False, True])
def test_the_document_is_one_of_openapi(token):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(json.loads(json.dumps(document(token=token))))


def test_every_operation_is_in_the_document_with_its_errors():
    paths = document(token=True)["paths"]
    for operation in OPERATIONS.values():
        verb, path = operation.route
        found = paths[path][verb.lower()]
        assert found["operationId"] == operation.name
        assert {str(operation.status), "401", "403", "413", "422", "500", "503", "504"} <= set(found["responses"])


def test_a_client_that_a_public_tool_makes_of_the_document_searches(vault, tmp_path):
    if not CLIENT_MAKER.exists():
        pytest.skip(f"no {CLIENT_MAKER}: `make test` installs it")
    with serving(vault) as url:
        (tmp_path / "openapi.json").write_bytes(ask.get(f"{url}openapi.json").content)
        command = [str(CLIENT_MAKER.with_name("openapi-python-client")), "generate"]
        made = [*command, "--path", "openapi.json", "--output-path", "made", "--meta", "none"]
        # What it does after it is done, such as formatting, is left out.
        (tmp_path / "config.yaml").write_text("post_hooks: []\npackage_name_override: made\n")
        subprocess.run([*made, "--config", "config.yaml"], cwd=tmp_path, check=True, capture_output=True)
        script = (
            "import sys\n"
            "from made import Client\n"
            "from made.api.default import add, get, search\n"
            "from made.models import AddRequest, Error, SearchRequest\n"
            "client = Client(base_url=sys.argv[1])\n"
            "found = search.sync(client=client, body=SearchRequest(query='cookies', limit=3))\n"
            "print(*(hit.id for hit in found.hits))\n"
            "print(add.sync(client=client, body=AddRequest(title='Made', id='a/b')).id)\n"
            "print(get.sync('a/b', client=client).title)\n"
            "fault = get.sync('none', client=client)\n"
            "print(type(fault) is Error and fault.error.code)\n"
        )
        done = subprocess.run([CLIENT_MAKER, "-c", script, url], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            " ".join(vault.search("cookies", limit=3).ids),
            "a/b",
            "Made",
            "entry_not_found",
        ]


@pytest.mark.timeout(SECONDS + 200)
def test_no_request_gets_an_error_of_the_server_or_what_the_document_does_not_say(vault, tmp_path):
    pytest.importorskip("schemathesis")
    with serving(vault) as url:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}openapi.json"]
        # Bodies of lines are none that it knows; they have tests of their own.
        options = ["--exclude-path", "/v1/bulk", "--checks", CHECKS, "--max-time", str(SECONDS), "--no-color"]
        phases = ["--phases", "coverage,fuzzing", "--max-examples", "25" if SECONDS < 60 else "10000"]
        quiet = ["--warnings", "off", "--suppress-health-check", "all", "--generation-database", "none"]
        done = subprocess.run(
            [*command, *options, *phases, *quiet], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS + 100
        )
    assert done.returncode == 0, done.stdout[-6000:]
