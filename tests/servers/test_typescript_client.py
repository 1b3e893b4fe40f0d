"""The client for TypeScript: made from the document of today, accepted by the compiler, and right beside a server."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from septet import Vault
from serving import serving

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
NODE, COMPILER = shutil.which("node"), shutil.which("tsc")
PROGRAM = """
import { Client, EntryError, EntryNotFound, RequestError, SeptetError, Unauthorized, Unreachable } from "./index.js";

const [url, token] = process.argv.slice(2);
const client = new Client(url, { token });
const fault = async (call) => { try { await call(); } catch (error) { return error; } };
const say = (...parts) => console.log(parts.map((part) => JSON.stringify(part)).join(" "));

const { id } = await client.add({ id: "a/ü", title: "Session cookies", description: "30 minutes.", tags: ["web"] });
say(id, (await client.get(id)).title, (await client.update(id, { domain: "web" })).domain);
const found = await client.search({ query: "when do cookies end?", limit: 3, where: { tags: "web" } });
say(found.hits.map((hit) => [hit.id, hit.entry.title]), found.notes.length, found.confidence > 0.5);
say((await client.searchByAddress({ q: "cookies", limit: 1, mode: "scan" })).hits[0].title);
const lines = [];
const sent = [{ id: "b", title: "One" }, { title: 5 }, { op: "delete", id: "b" }];
for await (const line of client.bulk(sent)) lines.push(line);
say(lines.map((line) => line.error?.code ?? line.id ?? line.count));
let exported = 0;
for await (const line of client.export()) exported += line.id === id || line.entry?.id === id ? 1 : 0;
say(exported, (await client.count()).count, (await client.stats()).entries, (await client.readyz()).status);
say((await client.metrics()).includes("septet_up"), (await client.callTool({ name: "status" })).success);

const missing = await fault(() => client.get("none"));
say(missing instanceof EntryNotFound, missing instanceof SeptetError, missing.name, missing.code, missing.status);
say((await fault(() => client.add({ title: "" }))) instanceof EntryError);
const wrong = await fault(() => client.search({ query: 5 }));
say(wrong instanceof RequestError, wrong.code, wrong.status);
say((await fault(() => new Client(url, { token: "wrong" }).count())) instanceof Unauthorized);
say((await fault(() => new Client("http://127.0.0.1:9").count())) instanceof Unreachable);
const late = await fault(() => new Client(url, { fetch: (_, { signal }) => new Promise((_, no) =>
  signal.addEventListener("abort", () => no(signal.reason))), timeoutMs: 20 }).count());
say(late instanceof Unreachable, late.message);
const ended = await fault(() => client.count({}, { signal: AbortSignal.abort(new Error("mine")) }));
say(ended.message);
say((await client.deleteEntry(id)).count);
"""
PRINTED = """\
"a/ü" "Session cookies" "web"
[["a/ü","Session cookies"]] 0 true
"Session cookies"
["b","invalid_request",1]
1 1 1 "ok"
true true
true true "EntryNotFound" "entry_not_found" 404
true
true "invalid_request" 422
true
true
true "the server cannot be reached, or broke off its answer: no answer in 20 ms"
"mine"
1
"""


def generator():
    spec = importlib.util.spec_from_file_location("typescript_client", CLIENT / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_client_is_that_of_the_document_and_the_errors():
    made = generator().files()
    written = {name: (CLIENT / "src" / name).read_text(encoding="utf-8") for name in made}
    assert written == made, "run: python clients/typescript/generate.py"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The folder of the client as JavaScript."""
    if COMPILER is None:
        pytest.skip("no tsc: install it (Debian: apt-get install node-typescript) to compile the client")
    folder = tmp_path_factory.mktemp("client")
    done = subprocess.run([COMPILER, "--project", CLIENT, "--outDir", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_it_answers_as_the_server_does_and_its_errors_are_those_of_the_tree(compiled):
    if NODE is None:
        pytest.skip("no node: install it (Debian: apt-get install nodejs) to run the client")
    (compiled / "package.json").write_text('{"type": "module"}')
    (compiled / "program.js").write_text(PROGRAM, encoding="utf-8")
    token = "a-token-of-the-test-0123456789"
    with Vault(":memory:") as vault, serving(vault, tokens={token: "admin"}) as url:
        command = [NODE, compiled / "program.js", url, token]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)
    assert done.stdout == PRINTED, done.stderr
