"""Every public callable with each of its arguments: what can be called, how, and in what world.

A new method is walked as soon as it is there; a required parameter of a new name needs a valid value in `VALID`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import septet
from public_names import PUBLIC
from septet.embedding.providers.http import Fields
from septet.inputs.checked import Checked
from septet.model.entry import FIELDS
from septet.model.fields import BulkChanges, EntryChanges, EntryOverrides, MemoryFields
from septet.retrieval.expansion.chat import ChatFields
from walk_world import World, by_length

#: What is not walked, and why.
LEFT_OUT = {
    "Checked.known": "takes values that are known to be valid, unchecked; for Septet's own",
    "AsyncVault": "its methods are those of Vault, which is walked, on threads",
    "PostgresVault": "its methods are those of Vault, which is walked, over a server",
    "AsyncClient": "takes the steps of Client, which is walked",
    **({} if find_spec("uvicorn") else {"Client": "there is no server here"}),
    **dict.fromkeys(("AsyncFederation", "AsyncPostgresVault", "AsyncRetriever"), "as AsyncVault"),
    **dict.fromkeys(
        "Embedder Member Reranker Corpus Knowledge Searches Expander FrameLike FrameLike.shape Strings".split(),
        "a protocol",
    ),
    **dict.fromkeys(
        [f"{of}Corpus.{did}" for of in ("Vault", "Function", "Web") for did in ("search", "get", "explain")],
        "asked by a retriever, with what it has checked",
    ),
    **dict.fromkeys(
        (f"{kind}.after_fork" for kind in ("EmbeddingCache", "FunctionCorpus", "WebCorpus", "CreditBudget", "Client")),
        "takes no argument of a caller's",
    ),
    "WebCorpus.corrective": "as WebCorpus.search",
    "CreditBudget.spend": "asked by a corpus of the web, with what a call costs",
    "CacheNamespace.digest": "a part of the cache, which checks the texts",
    "LocalEmbedder.embed": "loads a model; its texts are checked as those of the embedders that are walked",
    "HttpEmbedder.embed": "asks a network; its texts are those of the embedders that are walked",
    **dict.fromkeys(("LocalEmbedder.is_long", "LocalEmbedder.unknown_script", "LocalEmbedder.usage"), "as embed"),
    **dict.fromkeys(("HttpEmbedder.aembed", "HttpEmbedder.usage", "HttpEmbedder.whole"), "as embed"),
    "LocalReranker.scores": "loads a model; its texts are checked as those of the embedders that are walked",
    "Usage.plus": "added up by Septet",
}
#: Plain values that Septet makes: what a caller makes of them is checked where it is given.
MADE_BY_SEPTET = {
    name
    for name, kind in PUBLIC.items()
    if inspect.isclass(kind) and (issubclass(kind, tuple) or is_dataclass(kind))
    if not issubclass(kind, Checked) and name != "EmbeddingOptions"
} | {"Retriever"}
#: Parameters that are not varied, and why.
NOT_VARIED = {
    ("environment", "outside"): "stand-ins for the process's own environment, clock and network",
}
FIXED = {name for names in NOT_VARIED for name in names}
#: The parameters behind ``**`` of each method that has them.
NAMED = {
    **{
        f"{owner}.{method}": sorted(names)
        for owner in ("Vault", "Federation", "Client")
        for method, names in {
            "add": FIELDS,
            "update": EntryChanges.__annotations__.keys() | EntryOverrides.__annotations__.keys() - {"id"},
            "update_many": BulkChanges.__annotations__,
            "remember": MemoryFields.__annotations__,
        }.items()
    },
    **{f"{name}Embedder": sorted(Fields.__annotations__) for name in ("OpenAI", "Voyage", "Gemini", "Ollama")},
    "OpenAICompatibleEmbedder": sorted(Fields.__annotations__),
    "EmbeddingConfig": sorted(septet.EmbeddingConfig.model_fields),
    "RetrievalConfig": sorted(septet.retrieval.RetrievalConfig.model_fields),
    "RecallSettings": sorted(septet.retrieval.RecallSettings.model_fields),
    "ExpansionConfig": sorted(septet.retrieval.ExpansionConfig.model_fields),
    "ChatExpander": sorted(ChatFields.__annotations__),
    "TfidfVectorizer.set_params": ["norm", "unknown"],
}


class Call(NamedTuple):
    """A callable with one of its arguments left open."""

    name: str
    argument: str
    make: Callable[[World, Any], Any]


#: A valid value for a parameter, by its name, or by the name of the callable and its own.
VALID: dict[str, Callable[[World], Any]] = {
    "query": lambda w: "ducks",
    "where": lambda w: {"domain": "sky"},
    "old": lambda w: "a",
    "new": lambda w: "b",
    "names": lambda w: {"sky": "air"},
    "Vault.rename.field": lambda w: "domain",
    "tier": lambda w: "agent",
    "Federation.tier.name": lambda w: "agent",
    "queries": lambda w: ["ducks", "geese"],
    "id": lambda w: "a",
    "ids": lambda w: ["a", "b"],
    "source": lambda w: "a",
    "target": lambda w: "c",
    "action": lambda w: "accepted",
    "field": lambda w: "attrs.n",
    "items": lambda w: [],
    "path": World.path,
    "title": lambda w: "swans",
    "texts": lambda w: ["ducks", "geese fly"],
    "text": lambda w: "ducks",
    "name": lambda w: "tier",
    "vault": lambda w: w.other,
    "tiers": lambda w: {"agent": w.vault},
    "dimensions": lambda w: 3,
    "total_tokens": lambda w: 5,
    "vectors": lambda w: [[1.0, 2.0, 3.0]],
    "matrix": lambda w: np.eye(3),
    "k": lambda w: 2,
    "function": lambda w: by_length,
    "model": lambda w: "lengths",
    "embedders": lambda w: [w.embedder],
    "config": lambda w: "none",
    "base_url": lambda w: "http://127.0.0.1:9",
    "url": lambda w: "http://127.0.0.1:9",
    "namespace": lambda w: septet.embedding.CacheNamespace("function", "lengths", "document"),
    "provider": lambda w: "ollama",
    "embedder": lambda w: w.embedder,
    "environment": lambda w: {"OPENAI_API_KEY": "k", "VOYAGE_API_KEY": "k", "GEMINI_API_KEY": "k"},
    "qid": lambda w: "1",
    "tag": lambda w: "run",
    "measure": lambda w: "MRR@10",
    "baseline": lambda w: w.evaluation,
    "tune.queries": lambda w: {"1": "ducks"},
    "undo_tuning.path": World.tuned,
    "evaluate.queries": lambda w: {"1": "ducks"},
    "qrels": lambda w: {"1": ["a"]},
    "Vault.export.target": World.path,
    "restore.backup": World.backup,
    "Vault.import_.source": lambda w: [json.dumps({"title": "loons", "id": "loon"})],
    "Federation.import_.source": lambda w: [json.dumps({"title": "loons", "id": "loon"})],
    "VectorIndex.search.query": lambda w: [1.0, 0.0, 0.0],
    "VectorIndex.ids": lambda w: [0],
    "TfidfVectorizer.rows": lambda w: w.vectorizer.transform(["ducks"]),
    "VectorIndex.open.path": lambda w: w.folder / "index.npy",
    "top_k.query": lambda w: [1.0, 0.0, 0.0],
    "EmbeddingCache.put.vectors": lambda w: {"ducks": np.ones(3, np.float32)},
    "root": lambda w: w.notes,
    "ask": lambda w: lambda query, limit: [{"title": query}],
    "resolve.profile": lambda w: "septet",
    "RedactionRule.name": lambda w: "badge",
    "RedactionRule.pattern": lambda w: "B-[0-9]+",
    "data": lambda w: {},
    "asked": lambda w: septet.retrieval.CorpusRequest("ducks", 3),
    "knowledge": lambda w: w.vault,
    "corpus": lambda w: "memory",
    "entry_id": lambda w: "a",
    "resolver": lambda w: lambda name: None,
    "role": lambda w: "knowledge",
    "Vault.retriever.config": lambda w: "recall",
    "Policy.name": lambda w: "septet",
    "credits": lambda w: 5,
    "WebCorpus.policy": lambda w: septet.retrieval.Policy(),
    "FunctionCorpus.function": lambda w: lambda query, limit: [{"title": query}],
    "RetrievalPlan.from_dict.data": lambda w: w.retrieval.plan.to_dict(),
    "Envelope.from_dict.data": lambda w: w.retrieval.envelope.to_dict(),
    "Profile.data": lambda w: septet.profiles.BUILTIN["septet"].to_dict(),
}


def functions() -> Iterator[tuple[str, Any, str]]:
    """Every public function, constructor and method with a parameter, and the class of a method."""
    for name, thing in PUBLIC.items():
        if name in LEFT_OUT or not getattr(thing, "__module__", "").startswith("septet"):
            continue
        if inspect.isroutine(thing):
            yield name, thing, ""
        if not inspect.isclass(thing) or issubclass(thing, (BaseException, dict)):
            continue
        if name not in MADE_BY_SEPTET:
            yield name, thing, ""
        for method in dir(thing):
            found = inspect.getattr_static(thing, method)
            plain = getattr(found, "__func__", found)
            own = inspect.isfunction(plain) and plain.__module__.startswith("septet")
            shown = not method.startswith("_") or (
                method == "__contains__" and name in ("Vault", "Federation", "Client")
            )
            if own and shown and LEFT_OUT.keys().isdisjoint({plain.__qualname__, f"{name}.{method}"}):
                yield f"{name}.{method}", plain, name if plain is found else "the class"


def parameters(name: str, function: Any) -> tuple[list[str], list[str]]:
    """The parameters of a function that are varied, and those that it cannot do without."""
    if isinstance(function, type) and issubclass(function, Checked):
        fields = function.__dataclass_fields__
        return list(fields), []
    listed = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    own = [p.name for p in listed if p.kind is not p.VAR_KEYWORD]
    if any(p.kind is p.VAR_KEYWORD for p in listed):
        own += [one for one in NAMED[name] if one not in own]
    needed = [p.name for p in listed if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return own, needed


def valid(name: str, parameter: str, world: World) -> Any:
    own = VALID.get(f"{name}.{parameter}") or VALID.get(f"{name.split('.')[0]}.{parameter}") or VALID.get(parameter)
    assert own is not None, f"{name} needs {parameter}: say in VALID what fits"
    return own(world)


#: What a method needs beside what its signature says.
BESIDE = {
    **{f"{owner}.add": ["title"] for owner in ("Vault", "Federation", "Client")},
    **{f"{owner}.sync": ["root"] for owner in ("Vault", "Federation")},
    "OpenAICompatibleEmbedder": ["model", "base_url"],
    "OllamaEmbedder": ["model"],
    **{f"{name}Embedder": ["environment"] for name in ("OpenAI", "Voyage", "Gemini")},
    "ChatExpander": ["model", "environment"],
    "EmbeddingConfig": ["provider"],
    "Vault.weights": [],
    "evaluate": ["qrels"],
    "tune": ["queries", "qrels"],
}
#: Positional arguments without a number.
STARRED = {"ids"}


def method_of(name: str) -> str:
    return name.split(".")[-1]


def calls() -> Iterator[Call]:
    """Every public callable with each argument open in turn."""
    for name, function, owner in functions():
        varied, needed = parameters(name, function)
        for argument in varied:
            if argument not in FIXED:
                others = [one for one in (*needed, *BESIDE.get(name, ())) if one != argument]
                if method_of(name) == "remember" and argument == "context":
                    others.remove("text")
                yield Call(name, argument, _caller(name, function, owner, argument, others))


def _caller(name: str, function: Any, owner: str, argument: str, others: list[str]) -> Callable[[World, Any], Any]:
    method = method_of(name)

    def call(world: World, value: Any) -> Any:
        target = function
        if owner == "the class":
            target = getattr(PUBLIC[name.split(".")[0]], method)
        elif owner:
            target = getattr(world.of(owner), method)
        given = {one: valid(name, one, world) for one in others}
        if argument in STARRED and method in ("delete", "forget"):
            return target(value)
        if method == "__contains__":
            return target(value)
        return target(**given, **{argument: value})

    return call


#: What says all of itself.
TOLD = (
    septet.Context,
    septet.Results,
    septet.Explanation,
    septet.Weights,
    septet.Evaluation,
    septet.evaluation.Comparison,
    septet.evaluation.Tuning,
)
TOLD += (septet.Retrieval, septet.retrieval.RetrievalExplanation, septet.retrieval.Envelope)


def used(made: Any) -> None:
    """Close what was made, and read what was found."""
    if isinstance(made, TOLD):
        json.dumps(made.to_dict())
        repr(made)
    elif isinstance(made, septet.Vault):
        with made:
            made.search("ducks")
    elif isinstance(made, septet.Watcher):
        made.close()
    elif hasattr(made, "__next__"):
        list(made)
