"""Values inside of arguments: members, conditions, fields of dicts, numbers of profiles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from typing import Any

import septet
from odd_values import Evil
from septet.inputs.checked import Checked
from septet.model.entry import FIELDS
from walk import Call, World


def keyed(key: Any, value: Any) -> dict[Any, Any]:
    """A dict of one key; a value that cannot be one raises its own error."""
    try:
        return {key: value}
    except Exception:  # noqa: BLE001 - whatever it is
        raise Evil from None


def line(record: dict[str, Any]) -> str:
    """A line of JSON; what is none raises its own error."""
    try:
        return json.dumps(record)
    except Exception:  # noqa: BLE001 - whatever it is
        raise Evil from None


def nested(name: str, argument: str, make: Callable[[World, Any], Any]) -> Call:
    return Call(name, argument, make)


def sections(kind: type[Checked], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every number and name of a profile, as the path to it."""
    for name, one in kind.__dataclass_fields__.items():
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if isinstance(default, Checked):
            yield from sections(type(default), (*path, name))
        elif isinstance(default, Mapping):
            yield from ((*path, name, key) for key in default)
        yield (*path, name)


def profile_of(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    changed: Any = value
    for part in reversed(path):
        changed = {part: changed}
    return {"extends": "septet", **changed}


def searched(path: tuple[str, ...]) -> Callable[[World, Any], Any]:
    def call(world: World, value: Any) -> Any:
        made = profile_of(path, value)
        found = world.vault.search("ducks", profile=made, query_vector=[1, 0, 0], max_tokens=1_000)
        world.vault.weights(profile=made)
        return found

    return call


LINK = {"record": "link", "source": "a", "target": "b"}
FEEDBACK = {"record": "feedback", "query": "q", "entry_id": "a", "action": "accepted"}
SPAN = {"path": "p", "first_line": 1, "last_line": 2}
OLLAMA = {"provider": "ollama", "model": "m", "base_url": "http://127.0.0.1:9"}
OPERATORS = "$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains $not".split()
COMPARED = ["id", "tags", "title", "updated_at", "first_line", "attrs.n"]
#: Values inside of arguments: members, conditions, fields of dicts, numbers of profiles.
NESTED = [
    nested("Vault.search", "where[key]", lambda w, v: w.vault.search("ducks", where=keyed(v, 1))),
    *(
        nested("Vault.search", f"where[{o}]", lambda w, v, o=o: w.vault.search("ducks", where={o: v}))
        for o in ("$and", "$or", "$nor", "$not", "$xor", *COMPARED)
    ),
    *(
        nested("Vault.search", f"where[{f}][{o}]", lambda w, v, f=f, o=o: w.vault.search("ducks", where={f: {o: v}}))
        for f in COMPARED
        for o in OPERATORS
    ),
    *(
        nested("Vault.search", f"where[{f}][{o}][0]", lambda w, v, f=f, o=o: w.vault.search("d", where={f: {o: [v]}}))
        for f in COMPARED
        for o in ("$in", "$all")
    ),
    *(
        nested("Vault.search", f"{name}[0]", lambda w, v, name=name: w.vault.search("ducks", **{name: [v]}))
        for name in ("boost_tags", "kinds", "legs", "query_vector")
    ),
    nested("Vault.search_many", "queries[0]", lambda w, v: w.vault.search_many([v])),
    nested("Vault.search_many", "queries[1]", lambda w, v: w.vault.search_many(["a", v], threads=2)),
    nested("Vault.search_many", "query_vectors[0]", lambda w, v: w.vault.search_many(["a"], query_vectors=[v])),
    nested("Vault.load", "ids[0]", lambda w, v: w.vault.load(["a", v])),
    nested("Federation.load", "ids[0]", lambda w, v: w.federation.load(["a", v])),
    nested("Vault.delete", "ids[0]", lambda w, v: w.vault.delete(["nothing", v])),
    nested("Vault.add_many", "items[0]", lambda w, v: w.vault.add_many([v])),
    nested("Vault.link_many", "items[0]", lambda w, v: w.vault.link_many([v])),
    nested("Vault.link_many", "items[0][0]", lambda w, v: w.vault.link_many([(v, "b")])),
    nested("Vault.link_many", "items[0][3]", lambda w, v: w.vault.link_many([("a", "b", "t", v)])),
    nested("Vault.import_", "source[0]", lambda w, v: w.vault.import_([v])),
    nested("Vault.import_", "map[value]", lambda w, v: w.vault.import_([{"title": "t", "x": 1}], map={"x": v})),
    nested("Vault.import_", "map[key]", lambda w, v: w.vault.import_([{"title": "t"}], map=[(v, "id")])),
    *(
        nested("Vault.add_many", f"items[0][{f}]", lambda w, v, f=f: w.vault.add_many([{"title": "t", f: v}]))
        for f in (*sorted(FIELDS), "vector", "model", "split", "nothing")
    ),
    *(
        nested(
            "Vault.add", f"entry.{f}", lambda w, v, f=f: w.vault.add(septet.Entry(**{"id": "e", "title": "t", f: v}))
        )
        for f in septet.Entry.__dataclass_fields__
    ),
    *(
        nested("Vault.import_", f"line[{f}]", lambda w, v, f=f: w.vault.import_([line({"title": "t", f: v})]))
        for f in (*sorted(FIELDS), "vector", "record", "nothing")
    ),
    *(
        nested("Vault.import_", f"link[{f}]", lambda w, v, f=f: w.vault.import_([line({**LINK, f: v})]))
        for f in ("source", "target", "type", "note")
    ),
    *(
        nested("Vault.import_", f"row[{f}]", lambda w, v, f=f: w.vault.import_([line({**FEEDBACK, f: v})]))
        for f in ("query", "entry_id", "action", "created_at")
    ),
    nested("Vault.add", "vector[model]", lambda w, v: w.vault.add(title="t", vector=keyed(v, [1, 0, 0]))),
    nested("Vault.add", "vector.given", lambda w, v: w.vault.add(title="t", vector={"given": v})),
    nested("Vault.add", "vector[0]", lambda w, v: w.vault.add(title="t", vector=[v, 1.0, 2.0])),
    nested("Vault.add", "tags[0]", lambda w, v: w.vault.add(title="t", tags=[v])),
    nested("Vault.add", "attrs[key]", lambda w, v: w.vault.add(title="t", attrs=keyed(v, 1))),
    nested("Vault.add", "attrs.a", lambda w, v: w.vault.add(title="t", attrs={"a": v})),
    nested("Vault.add", "attrs.a[0]", lambda w, v: w.vault.add(title="t", attrs={"a": [{"b": v}]})),
    *(
        nested("Vault.add", f"span.{f}", lambda w, v, f=f: w.vault.add(title="t", span={**SPAN, f: v}))
        for f in ("path", "first_line", "last_line", "nothing")
    ),
    *(
        nested("Vault.add", f"Span({f})", lambda w, v, f=f: w.vault.add(title="t", span=septet.Span(**{**SPAN, f: v})))
        for f in ("path", "first_line", "last_line")
    ),
    nested("Federation", "tiers.agent", lambda w, v: septet.Federation({"agent": v})),
    nested("Federation", "tiers[name]", lambda w, v: septet.Federation(keyed(v, w.vault))),
    nested("Federation", "weights.agent", lambda w, v: septet.Federation({"agent": w.vault}, {"agent": v})),
    nested("Vault", "clock()", lambda w, v: _with(septet.Vault(":memory:", clock=lambda: v))),
    nested("VectorIndex.add", "vectors[0]", lambda w, v: w.index.add([v])),
    nested("VectorIndex.add", "ids[0]", lambda w, v: septet.VectorIndex(2).add([[1, 2]], [v])),
    nested("VectorIndex.search", "ids[0]", lambda w, v: w.index.search([1, 0, 0], ids=[0, v])),
    nested("VectorIndex.__getitem__", "id", lambda w, v: w.index[v]),
    nested("VectorIndex.__contains__", "id", lambda w, v: v in w.index),
    nested("TfidfVectorizer.fit", "texts[0]", lambda w, v: septet.TfidfVectorizer().fit([v])),
    *(
        nested("TfidfVectorizer.fit", name, lambda w, v, name=name: septet.TfidfVectorizer(**{name: v}).fit(["a text"]))
        for name in septet.TfidfVectorizer().get_params()
    ),
    nested("TfidfVectorizer.fit", "stop_words[0]", lambda w, v: septet.TfidfVectorizer(stop_words=[v]).fit(["a text"])),
    nested("TfidfVectorizer.fit", "ngram_range[0]", lambda w, v: septet.TfidfVectorizer(ngram_range=(v, 3)).fit(["a"])),
    nested("SparseRows", "other", lambda w, v: w.vectorizer.transform(["ducks"]) @ v),
    nested("CallableEmbedder.embed", "function()", lambda w, v: _answers(v).embed(["a"])),
    nested("CallableEmbedder.embed", "function()[0]", lambda w, v: _answers([v]).embed(["a"])),
    nested("Vault.search", "embedder()", lambda w, v: _with(septet.Vault(":memory:", embedder=_answers([v])))),
    *(nested("Vault.search", f"profile.{'.'.join(path)}", searched(path)) for path in sections(septet.Profile)),
    *(
        nested("Vault.search", f"profile.{'.'.join(path)}", searched(path))
        for path in [
            *(
                ("signals", "semantic", *more)
                for more in ([], ["col"], ["const"], ["scale"], ["sum"], ["rrf"], ["nothing"])
            ),
            ("weights", "text"),
            ("weights", "text", "semantic"),
            ("weights", "hybrid", "vector"),
            ("balance", "factor"),
            ("balance", "words"),
            *(("smoothing", one) for one in septet.profiles.Smoothing.__dataclass_fields__),
        ]
    ),
    *(
        nested("Vault", f"embedder[{f}]", lambda w, v, f=f: _with(septet.Vault(":memory:", embedder={**OLLAMA, f: v})))
        for f in (*sorted(septet.EmbeddingConfig.model_fields), "nothing", "embedding")
    ),
    nested("Vault.add_many", "progress()", lambda w, v: w.vault.add_many([{"title": "t"}], progress=lambda *_: v)),
]


def _answers(value: Any) -> septet.CallableEmbedder:
    return septet.CallableEmbedder(lambda texts: value, model="odd")


def _with(vault: septet.Vault) -> object:
    with vault:
        return vault.search("ducks")
