"""Every face answers the same: fifty questions over the documentation of the standard library, and what is wrong.

The entries are those of the demo, of an age at which a second more changes no score: faces are asked one by one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("typer")

import httpx

from commands import FOREIGN
from septet import AsyncClient, AsyncVault, Client, Federation, SeptetError, Vault
from septet.cli.exits import NOTHING, USAGE
from septet.cli.stdlib_docs import collect
from septet.service.served import Served
from serving import serving

QUESTIONS = (Path(__file__).parent / "data" / "fifty_questions.txt").read_text(encoding="utf-8").splitlines()
LIMIT = 10
LONG_AGO = 1.0


class Answer(NamedTuple):
    """What a face says: ids in order with their scores, and notes; None where it has no place for them."""

    hits: list[tuple[str, float]]
    notes: list[dict[str, str]] | None


class Asked(NamedTuple):
    """Where faces ask: the file, the vault that is open in this process, the address of the server, a home."""

    path: Path
    vault: Vault
    url: str
    home: Path


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    docs = collect()
    with Vault(folder / "demo.db") as vault:
        vault.add_many([{**entry, "created_at": LONG_AGO} for entry in docs.entries])
        vault.link_many(docs.links)
        vault.optimize()
        with serving(vault) as url:
            yield Asked(folder / "demo.db", vault, url, folder)


def of_results(results):
    return Answer([(hit.id, hit.score) for hit in results], [note.to_dict() for note in results.notes])


def of_json(answer):
    return Answer([(hit["id"], hit["score"]) for hit in answer["hits"]], answer["notes"])


# -- the faces ---------------------------------------------------------------------------------------------------------


class Face:
    """One way to ask; `search` takes the options of `Vault.search`, `get` an id. Errors have a code, or tell it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    def all(self, queries: list[str]) -> list[Answer]:
        """Answer all queries, with `LIMIT` results each."""
        return [self.search(query, limit=LIMIT) for query in queries]

    def search(self, query: str, **options: Any) -> Answer:
        raise NotImplementedError

    def get(self, id: str) -> Any:
        pytest.skip("it has no call that reads an entry or fails")

    def close(self) -> None:
        """Let go of what was opened."""


class Told(Exception):
    """An error that a face told, by its code, or None where it tells words alone."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class InBatches(Face):
    def all(self, queries):
        return [of_results(found) for found in self.asked.vault.search_many(queries, limit=LIMIT)]

    def search(self, query, **options):
        return of_results(self.asked.vault.search_many([query], **options)[0])


class Awaited(Face):
    def all(self, queries):
        async def every():
            async with AsyncVault(self.asked.path, read_only=True) as vault:
                return await asyncio.gather(*(vault.search(query, limit=LIMIT) for query in queries))

        return [of_results(found) for found in asyncio.run(every())]

    def search(self, query, **options):
        async def one():
            return await AsyncVault.of(self.asked.vault).search(query, **options)

        return of_results(asyncio.run(one()))


#: Runs a command for each line of input, an array of arguments, and ends what each prints with a line of its own.
COMMANDS = """
import json, sys
from septet.cli.app import run
for line in sys.stdin:
    sys.argv = ["septet", *json.loads(line)]
    code = run()
    print(f"--- {code}", flush=True)
"""


class CommandLine(Face):
    """A process for each question that is asked alone, and one that runs a command for each of many."""

    def __init__(self, asked):
        super().__init__(asked)
        self._env = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        self._env |= {"HOME": str(asked.home), "SEPTET_VAULT": str(asked.path), "PYTHONUTF8": "1"}

    def _run(self, *command, said=""):
        return subprocess.run(
            [sys.executable, *command], env=self._env, input=said, capture_output=True, encoding="utf-8", timeout=120
        )

    def all(self, queries):
        lines = "".join(json.dumps(["search", "--json", f"--limit={LIMIT}", query]) + "\n" for query in queries)
        done = self._run("-c", COMMANDS, said=lines)
        *printed, rest = re.split(r"^--- [01]$", done.stdout, flags=re.MULTILINE)
        assert rest.strip() == "", done.stderr
        assert self.search(queries[0], limit=LIMIT) == of_json(json.loads(printed[0]))
        return [of_json(json.loads(one)) for one in printed]

    def search(self, query, **options):
        if "tiers" in options:
            pytest.skip("a vault has no tiers to choose at the command line")
        named = [f"--{name}={json.dumps(value)}" for name, value in options.items()]
        done = self._run("-m", "septet", "search", "--json", *named, query)
        if done.returncode > NOTHING:
            assert done.returncode == USAGE
            raise Told({"code": None, "message": done.stderr.strip().removeprefix("septet: ")})
        return of_json(json.loads(done.stdout))


class Http(Face):
    def __init__(self, asked):
        super().__init__(asked)
        self._client = httpx.Client(base_url=asked.url, timeout=30)

    def _answer(self, reply):
        answer = reply.json()
        if reply.is_error:
            raise Told(answer["error"])
        return answer

    def search(self, query, **options):
        return of_json(self._answer(self._client.post("/v1/search", json={"query": query, **options})))

    def get(self, id):
        return self._answer(self._client.get(f"/v1/entries/{id}"))

    def close(self):
        self._client.close()


class Remote(Face):
    def __init__(self, asked):
        super().__init__(asked)
        self._client = Client(asked.url)

    def search(self, query, **options):
        return of_results(self._client.search(query, **options))

    def close(self):
        self._client.close()


class RemoteAwaited(Face):
    def all(self, queries):
        return [of_results(found) for found in asyncio.run(self._every(queries, limit=LIMIT))]

    def search(self, query, **options):
        return of_results(asyncio.run(self._every([query], **options))[0])

    async def _every(self, queries, **options):
        async with AsyncClient(self.asked.url) as client:
            return await asyncio.gather(*(client.search(query, **options) for query in queries))


class RemoteTier(Face):
    """A federation whose one tier is a client."""

    def __init__(self, asked):
        super().__init__(asked)
        self._client = Client(asked.url)
        self._federation = Federation({"vault": self._client})

    def search(self, query, **options):
        return of_results(self._federation.search(query, **options))

    def close(self):
        self._federation.close()
        self._client.close()


class HttpTool(Http):
    """The call of a tool, as of MCP, over HTTP."""

    def search(self, query, **options):
        asked = {"name": "search", "arguments": {"query": query, **options}}
        return of_json(self._answer(self._client.post("/v1/tools/call", json=asked))["result"])


class Mcp(Face):
    """The SDK's own client, in this process."""

    def all(self, queries):
        return self._told(queries, limit=LIMIT)

    def search(self, query, **options):
        return self._told([query], **options)[0]

    def _told(self, queries, **options):
        mcp = pytest.importorskip("mcp")
        from septet.mcp.protocol import make_server

        async def every():
            served = Served(self.asked.vault)
            try:
                async with mcp.Client(make_server(served)) as client:
                    return [await client.call_tool("search", {"query": query, **options}) for query in queries]
            finally:
                await served.aclose()

        return [self._answer(result) for result in asyncio.run(every())]

    def _answer(self, result):
        if result.is_error:
            code, message = re.fullmatch(r"error (\w+): (.*)", result.content[0].text, re.DOTALL).groups()
            raise Told({"code": code, "message": message})
        return of_json(result.structured_content)


class LangChainRetriever(Face):
    def __init__(self, asked):
        pytest.importorskip("langchain_core")
        from septet.adapters.langchain import SeptetRetriever

        super().__init__(asked)
        self._retriever = SeptetRetriever(vault=asked.vault)

    def search(self, query, **options):
        found = self._retriever.invoke(query, k=options.pop("limit", LIMIT), **options)
        return Answer([(document.id, document.metadata["septet"]["score"]) for document in found], None)


class LangChainStore(Face):
    def __init__(self, asked):
        pytest.importorskip("langchain_core")
        from septet.adapters.langchain import SeptetVectorStore

        super().__init__(asked)
        self._store = SeptetVectorStore(vault=asked.vault)

    def search(self, query, **options):
        found = self._store.similarity_search_with_score(query, options.pop("limit", LIMIT), **options)
        return Answer([(document.id, score) for document, score in found], None)


class LlamaIndexRetriever(Face):
    def __init__(self, asked):
        pytest.importorskip("llama_index.core")
        from septet.adapters import llama_index

        super().__init__(asked)
        self._made = llama_index.SeptetRetriever

    def search(self, query, **options):
        found = self._made(self.asked.vault, **options).retrieve(query)
        return Answer([(scored.node.node_id, scored.score) for scored in found], None)


class LlamaIndexStore(Face):
    def __init__(self, asked):
        pytest.importorskip("llama_index.core")
        from septet.adapters.llama_index import SeptetVectorStore

        super().__init__(asked)
        self._store = SeptetVectorStore(asked.vault)

    def search(self, query, **options):
        from llama_index.core.vector_stores.types import VectorStoreQuery

        wanted = VectorStoreQuery(query_str=query, similarity_top_k=options.pop("limit", LIMIT), mode="hybrid")
        found = self._store.query(wanted, **options)
        return Answer(list(zip(found.ids, found.similarities, strict=True)), None)


FACES = (
    InBatches,
    Awaited,
    CommandLine,
    Http,
    HttpTool,
    Remote,
    RemoteAwaited,
    RemoteTier,
    Mcp,
    LangChainRetriever,
    LangChainStore,
    LlamaIndexRetriever,
    LlamaIndexStore,
)


@pytest.fixture(params=FACES, ids=lambda face: face.__name__)
def face(request, asked):
    made = request.param(asked)
    yield made
    made.close()


@pytest.fixture(scope="module")
def told(asked):
    """What the vault itself answers in Python."""
    return [of_results(asked.vault.search(query, limit=LIMIT)) for query in QUESTIONS]


def test_the_questions_are_fifty_and_most_have_answers_and_some_have_notes(told):
    assert len(QUESTIONS) == len(set(QUESTIONS)) == 50
    assert sum(len(answer.hits) == LIMIT for answer in told) > 35
    assert {note["code"] for answer in told for note in answer.notes} >= {"no_terms"}


def test_every_face_gives_the_same_ids_scores_and_notes(face, told):
    for query, found, wanted in zip(QUESTIONS, face.all(QUESTIONS), told, strict=True):
        assert found.hits == wanted.hits, query
        assert found.notes in (None, wanted.notes), query


#: Options of a search that are wrong, with the code of the error.
WRONG = [
    ({"where": {"colour": "red"}}, "query_error"),
    ({"where": {"tags": {"$near": "x"}}}, "query_error"),
    ({"where": {"severity": "mild"}}, "query_error"),
    ({"where": {"updated_at": {"$gte": "yesterday"}}}, "query_error"),
    ({"tiers": ["nowhere"]}, "tier_error"),
]


@pytest.mark.parametrize(("options", "code"), WRONG, ids=lambda value: str(value))
def test_every_face_says_what_is_wrong_by_the_same_code_and_words(face, asked, options, code):
    with pytest.raises(SeptetError) as known:
        asked.vault.search("read a file", **options)
    assert known.value.code == code
    with pytest.raises((SeptetError, Told)) as fault:
        face.search("read a file", **options)
    assert fault.value.code in (None, code)
    assert str(fault.value) == str(known.value)
