"""What reads files that programs keep, and what servers answer: vaults, sidecars, indexes, models, caches."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress

import httpx
import numpy as np
import pytest

import septet
from campaigns.foreign import COMMANDS, READS, SEARCHES, WRITES, apart, made, told, tried
from commands import Commands
from mutating import ODD, Target, changed_json, mutated
from remote import VECTOR, filled
from septet import _core
from septet.embedding.cache import CacheNamespace, EmbeddingCache
from septet.embedding.local.embedder import LocalEmbedder
from sidecars import QUERIES, folder_of, opened
from sidecars import entry as sidecar_entry
from twins.tiny import Tiny
from wrong_answers import Recording, key_of

__all__ = ["NAMES", "kept_files"]

#: The targets in their order.
NAMES = [
    *("vault files", "rows of vaults", "sidecar files", "columns of sidecars", "index files", "codes of indexes"),
    *("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    *("config.json", "tokenizer.json", "model.safetensors", "caches of vectors"),
    *("answers to a client", "answers to a federation"),
]
TEXT = "b z f f i " + "a" * 300 + " é ０１２ " + "z" * 50
#: What a row of a vault may hold beside texts.
JSON = '{ } [ ] null [[1] {"a": 1e999 "\\ud800" NaN 1 -1 9223372036854775808 : , ""'.split()


def emptied(folder):
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()


def kept_files(folder):
    """Make real files below a folder, and return the targets that read them."""
    return [
        *vaults(folder / "vault"),
        *sidecars(folder / "sidecar"),
        *indexes(folder / "index"),
        *models(folder / "model"),
        cache(folder / "cache"),
        *answers(folder / "answers"),
    ]


# -- vaults and their sidecars ---------------------------------------------------------------------------------------


def vaults(folder):
    folder.mkdir()
    path = made(folder / "v.db", folder / "notes")
    free = folder / "free.db"
    shutil.copyfile(path, free)
    apart(free)
    with closing(sqlite3.connect(free)) as sql:
        names = [
            (table, row[1])
            for (table,) in sql.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL AND name NOT LIKE '%_fts%'"
            ).fetchall()
            for row in sql.execute(f"PRAGMA table_info({table})")
        ]
        cells = [
            (value if isinstance(value, bytes) else str(value).encode())
            for table, column in names
            for (value,) in sql.execute(f"SELECT DISTINCT {column} FROM {table} LIMIT 3")
        ]

    def used(copy, chance, what):
        some = {**READS, **SEARCHES}
        chosen = {name: some[name] for name in chance.sample(sorted(some), 8)}
        chosen |= {name: WRITES[name] for name in chance.sample(sorted(WRITES), 3)}
        faults = tried(copy, what, chosen, copy.parent)
        with pytest.MonkeyPatch.context() as patch:
            faults += told(Commands(copy.parent, patch), what, chance.sample(COMMANDS, 2))
        assert not faults, "\n".join(faults)

    def whole(data, place, chance):
        emptied(place)
        (place / "v.db").write_bytes(data)
        used(place / "v.db", chance, "bytes")

    def rows(data, place, chance):
        emptied(place)
        shutil.copyfile(free, place / "v.db")
        table, column = chance.choice(names)
        how = chance.choice(["?", "CAST(? AS TEXT)", "CAST(? AS TEXT)", "CAST(CAST(? AS TEXT) AS REAL)"])
        sql = sqlite3.connect(place / "v.db")
        sql.create_function("casefold", 1, str.casefold, deterministic=True)
        with closing(sql), suppress(sqlite3.Error), sql:
            sql.execute(f"UPDATE {table} SET {column} = {how} WHERE rowid % 3 = ?", (data, chance.randrange(3)))
        used(place / "v.db", chance, f"{table}.{column}")

    content = path.read_bytes()
    return [
        Target("vault files", [content], JSON, whole, few=10),
        Target("rows of vaults", [*dict.fromkeys(cells)], JSON, rows, few=10),
    ]


def sidecars(folder):
    folder.mkdir()
    path = folder / "v.db"
    with opened(path) as vault:
        vault.add_many(sidecar_entry(number) for number in range(40))
        vault.link("e1", "e2")
        for query in QUERIES:
            vault.search(query)
        vault.optimize()
    (found,) = folder_of(path).glob("*.arrays")
    whole, name = found.read_bytes(), found.name
    plain = folder / "plain.db"
    shutil.copyfile(path, plain)
    file = _core.ArrayFile(found)
    columns = {name: file.column(name).tobytes() for name in file.names()}

    def used(place, chance):
        shutil.copyfile(plain, place / "v.db")
        with opened(place / "v.db", read_only=True, mapped=chance.random() < 0.5) as hostile:
            for query in chance.sample(QUERIES, 3):
                found = hostile.search(query, query_vector=[1.0, 0.5, 0.25], limit=20)
                assert all(isinstance(hit.id, str) and 0 <= hit.score <= 1 for hit in found)
            hostile.explain("alpha", "e1", query_vector=[1.0, 0.5, 0.25])
            hostile.entries({"attrs.a": 1}, order_by="title")
            hostile.facets("domain")
            hostile.similar("e1")

    def file_of(data, place, chance):
        emptied(place)
        (place / "v.db.septet").mkdir()
        (place / "v.db.septet" / name).write_bytes(data)
        used(place, chance)

    def column_of(data, place, chance):
        """Put the bytes in the place of a column or of its end, with right checksums."""
        emptied(place)
        (place / "v.db.septet").mkdir()
        writer = _core.ArrayWriter(place / "v.db.septet" / name, data if chance.random() < 0.1 else file.stamp)
        changed = chance.choice([*columns])
        if chance.random() < 0.7:
            data = mutated([columns[changed]], [], chance)
        for each, content in columns.items():
            items = from_end(each)
            content = data if each == changed else content
            content = content[: len(content) // items * items]
            writer.column(each, items, [np.frombuffer(content, dtype=np.uint8)])
        writer.finish()
        used(place, chance)

    return [
        Target("sidecar files", [whole], [], file_of, few=20),
        Target("columns of sidecars", [*columns.values()], JSON, column_of, few=20),
    ]


def from_end(name):
    """Return how many bytes an item of a column has."""
    from exhaustive.test_hostile_sidecars import item_bytes

    return item_bytes(name)


# -- indexes, models, caches -----------------------------------------------------------------------------------------


def indexes(folder):
    folder.mkdir()
    rows = np.random.default_rng(1).standard_normal((300, 6)).astype(np.float32)
    made = []
    for number, ids in enumerate(([f"id {n}" for n in range(300)], None)):
        index = septet.VectorIndex(6)
        index.add(rows, ids)
        index.save(folder / f"{number}.npy")
        made.append((folder / f"{number}.npy").read_bytes())
    beside = [one for one in sorted(folder.iterdir()) if one.suffix != ".npy"]

    def used(place, chance):
        index = septet.VectorIndex.open(place / "i.npy", mapped=chance.random() < 0.5)
        for query in (rows[0], rows[7]):
            index.search(query, 5)
        len(index), repr(index)
        index.add(rows[:1], ids=["new"])
        index.save(place / "again.npy")

    def vectors(data, place, chance):
        emptied(place)
        (place / "i.npy").write_bytes(data)
        used(place, chance)

    def codes(data, place, chance):
        emptied(place)
        shutil.copy2(folder / "0.npy", place / "i.npy")
        (place / beside[0].name.replace("0.npy", "i.npy")).write_bytes(data)
        used(place, chance)

    numpys = "{'descr': '<f4', '<f8' '>f4' '|O' 'fortran_order': True 'shape': (300, 6), (0, 6) (-1, 6) ()".split()
    targets = [Target("index files", made, numpys + JSON, vectors)]
    if beside:
        targets.append(Target("codes of indexes", [one.read_bytes() for one in beside], [], codes))
    return targets


def models(folder):
    source = Tiny().write(folder / "tiny-bert")
    pooling = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    more = {
        "modules.json": [
            {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": 16, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": "a: ", "document": ""}, "default_prompt_name": None},
    }
    for name, value in more.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(json.dumps(value), encoding="utf-8")
    files = [*more, "config.json", "tokenizer.json", "model.safetensors"]

    def reader(name):
        def read(data, place, chance):
            emptied(place)
            shutil.copytree(source, place / "m")
            (place / "m" / name).write_bytes(data)
            embedder = LocalEmbedder(place / "m")
            found = embedder.embed([TEXT, "", "a b"])
            assert np.isfinite(found).all()
            embedder.embed(["q"], kind="query")

        return read

    dictionary = """
    "type": "vocab": "model": "added_tokens": "normalizer": "Sequence" "Regex": "(a+)+$" "content": "dtype": "F32" "F16"
    "BF16" "F64" "shape": "data_offsets": [0, 8] [ ] { } null true 1e999 -1 "hidden_size": "WordPiece" "BPE" "path"
    """.split()
    few = {"model.safetensors": 30, "tokenizer.json": 60}
    return [
        Target(
            name,
            [(source / name).read_bytes()],
            dictionary,
            reader(name),
            wrong=weights if name.endswith("tensors") else changed_json,
            few=few.get(name, 40),
        )
        for name in files
    ]


def cache(folder):
    """The cache of vectors: an SQLite file."""
    folder.mkdir()
    made = CacheNamespace("test", "letters", "document")
    texts = [f"text {number}" for number in range(9)]

    def used(path):
        with closing(EmbeddingCache(path, limit=8)) as kept:
            kept.put(made, {text: np.ones(3, np.float32) for text in texts})
            kept.get(made, 3, texts)
            kept.forget(texts[:2])
            len(kept), kept.notes

    used(folder / "c.db")

    def read(data, place, chance):
        emptied(place)
        (place / "c.db").write_bytes(data)
        used(place / "c.db")

    return Target("caches of vectors", [(folder / "c.db").read_bytes()], [], read)


def weights(data, chance):
    """Change the header of a file of weights, whose length then fits."""
    size = int.from_bytes(data[:8], "little")
    head = changed_json(data[8 : 8 + size], chance)
    return len(head).to_bytes(8, "little") + head + data[8 + size :]


# -- servers -----------------------------------------------------------------------------------------------------------

CALLS = {
    "search": lambda c: c.search("vault search", limit=4),
    "groups": lambda c: c.search("vault", group_by="parent", facets=["domain", "attrs.n"], query_vector=VECTOR),
    "search_many": lambda c: c.search_many(["vault", "search"], limit=2),
    "explain": lambda c: c.explain("vault search", "e31"),
    "similar": lambda c: c.similar("e31", limit=3),
    "entries": lambda c: c.entries(limit=3),
    "facets": lambda c: c.facets("attrs.n"),
    "stats": lambda c: c.stats(),
    "links": lambda c: c.links("e31"),
    "vectors": lambda c: c.vectors(["e31", "e32"]),
}


class Answering(httpx.BaseTransport):
    """Gives answers that were recorded, and in the place of one of them other bytes."""

    def __init__(self, recorded, wrong, body, chance):
        self.recorded, self.wrong, self.body, self.given = recorded, wrong, body, {}
        self.status = chance.choice([200] * 12 + [400, 404, 500, 503, 204, 302])

    def handle_request(self, request):
        key = key_of(request.url.raw_path.decode(), request.read())
        places = [at for at, one in enumerate(self.recorded) if one.key == key]
        if not places:
            return httpx.Response(404, content=b'{"error":{"code":"not_found","message":"nobody recorded it"}}')
        turn = self.given[key] = self.given.get(key, -1) + 1
        place = places[min(turn, len(places) - 1)]
        if place == self.wrong:
            return httpx.Response(self.status, content=self.body, headers={"content-type": "application/json"})
        return httpx.Response(200, content=self.recorded[place].body, headers={"content-type": "application/json"})


def answers(folder):
    from serving import serving

    folder.mkdir()
    recorded = {}
    with septet.Vault(folder / "far.db", clock=lambda: 2e9) as far:
        filled(far, 90, 30, seed=2)
        with serving(far) as url:
            transport = Recording()
            for face in ("client", "federation"):
                for name, call in CALLS.items():
                    with septet.Client(url, transport=transport) as client:
                        if face == "client":
                            call(client)
                        else:
                            with septet.Vault(":memory:") as near:
                                call(septet.Federation({"near": filled(near, 40), "far": client}, clock=lambda: 2e9))
                    recorded[face, name] = transport.take()

    def target(face):
        def read(data, place, chance):
            # A body of the same operation, so that most of it fits.
            of, name = chance.choice([one for one in recorded if one[0] == face])
            kept = recorded[of, name]
            wrong = chance.randrange(len(kept))
            if chance.random() < 0.8:
                body = kept[wrong].body
                data = changed_json(body, chance) if chance.random() < 0.5 else mutated([body], ODD_WORDS, chance)
            with septet.Client("http://127.0.0.1:9/", transport=Answering(kept, wrong, data, chance)) as client:
                if face == "client":
                    found = CALLS[name](client)
                else:
                    with septet.Vault(":memory:") as near:
                        found = CALLS[name](septet.Federation({"near": filled(near, 5), "far": client}))
                repr(found)
                if hasattr(found, "to_dict"):
                    json.dumps(found.to_dict()).encode()

        seeds = [one.body for (of, _), kept in recorded.items() if of == face for one in kept]
        return Target(f"answers to a {face}", seeds, ODD_WORDS, read, wrong=changed_json, few=30)

    return [target("client"), target("federation")]


ODD_WORDS = [one for one in ODD if isinstance(one, str)]
