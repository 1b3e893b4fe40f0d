"""A vault with a row in every table, and everything that can be asked of it or done with it."""

import io
import json
import re
import sqlite3

import septet

WORDS = "alpha beta gamma delta epsilon zeta".split()
NOW = 1_760_000_000.0


def made(path, notes):
    """Make the vault, and a folder that it follows."""
    notes.mkdir()
    (notes / "one.md").write_text("# One\n\nalpha of [[two]]\n", encoding="utf-8")
    (notes / "two.md").write_text("# Two\n\nbeta of [one](one.md)\n", encoding="utf-8")
    with septet.Vault(path, sidecar=False) as vault:
        vault.add_many(
            {
                "id": f"e{i}",
                "title": f"alpha {WORDS[i % 6]} {i}",
                "description": "beta getUserName",
                "tags": ["x", f"t{i}"],
                "attrs": {"a": i, "team": "core", "example": "gamma"},
                "vector": [1.0, float(i)],
                "span": {"path": "a.py", "first_line": 1, "last_line": 2},
                "valid_until": NOW * 2,
                "valid_from": 1.0,
                "source": "s",
            }
            for i in range(6)
        )
        vault.remember("alpha memory", topics=["x"], id="m1")
        vault.update("e0", title="alpha anew", attrs={"a": 7})
        vault.link("e0", "e1", note="because")
        vault.link("e2", "e0")
        vault.feedback("alpha", "e0", "accepted")
        vault.sync(notes, name="notes")
    with septet.Vault(path, sidecar=False) as vault, vault._store.writing() as write:
        write.sql.execute("INSERT INTO claims VALUES ('m', 'k', 'here 1 2 3', 9e9)")
        write.sql.execute("INSERT INTO jobs VALUES (1, 'm', 'p', 'n', 'b', '', 9e9, 1.0)")
        staged = {"id": "s1", "mentions": []}
        write.sql.execute("INSERT INTO staged VALUES (1, 1, 'h', 't', ?)", (json.dumps(staged),))
        write.sql.execute("INSERT INTO meta VALUES ('mark:a', 'b')")
    return path


def apart(path):
    """Take types and constraints from the columns, so that any value can be in them."""
    sql = sqlite3.connect(path)
    sql.execute("PRAGMA writable_schema = ON")
    for name, text in sql.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
        if text and "VIRTUAL" not in text and "_fts" not in name:
            text = text.replace(" NOT NULL", "").replace("CHECK (keyed_by IN ('text', 'entry'))", "")
            for kind in (" TEXT", " REAL", " BLOB"):
                text = text.replace(kind, "")
            text = re.sub(" INTEGER(?! PRIMARY KEY)", "", text)
            sql.execute("UPDATE sqlite_master SET sql = ? WHERE name = ? AND type = 'table'", (text, name))
    sql.commit()
    sql.close()
    sql = sqlite3.connect(path)
    assert sql.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
    sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql.close()


def used(value):
    """Look at everything that a result holds, as programs do."""
    for name in ("to_dict", "to_dicts", "to_prompt", "_repr_html_"):
        if (method := getattr(value, name, None)) is not None:
            json.dumps(method(), default=str)
    if isinstance(value, (list, tuple, septet.Results)):
        for one in value:
            used(one)
    repr(value)
    str(value)


READS = {
    "get": lambda v, _: [v.get(f"e{i}") for i in range(3)],
    "load": lambda v, _: v.load(["e0", "e1", "m1"]),
    "ids_beginning": lambda v, _: v._ids_beginning("e"),
    "entries": lambda v, _: v.entries(),
    "entries by title": lambda v, _: v.entries(order_by="title", limit=2),
    "entries by domain": lambda v, _: v.entries(order_by=[("domain", "desc"), ("updated_at", "asc")], limit=3),
    "entries where": lambda v, _: v.entries({"attrs.a": {"$gte": 1}, "tags": "x"}),
    "iteration": lambda v, _: list(v),
    "count": lambda v, _: v.count(),
    "count where": lambda v, _: v.count({"attrs.team": "core", "created_at": {"$gt": 5}}),
    "facets of tags": lambda v, _: v.facets("tags"),
    "facets of domain": lambda v, _: v.facets("domain"),
    "facets of attrs": lambda v, _: v.facets("attrs.a"),
    "facets of severity": lambda v, _: v.facets("severity"),
    "facets of kind": lambda v, _: v.facets("kind"),
    "facets of path": lambda v, _: v.facets("path"),
    "facets of source": lambda v, _: v.facets("source"),
    "facets of days": lambda v, _: v.facets("created_at", by="day"),
    "facets of years": lambda v, _: v.facets("valid_until", by="year"),
    "stats": lambda v, _: v.stats(),
    "len": lambda v, _: len(v),
    "links": lambda v, _: [v.links(f"e{i}") for i in range(3)],
    "history": lambda v, _: v.history("e0"),
    "vectors": lambda v, _: v.vectors(["e0", "e1"]),
    "sync_status": lambda v, _: v.sync_status(),
    "embedding_status": lambda v, _: v.embedding_status(),
    "weights": lambda v, _: v.weights(),
    "export": lambda v, _: v.export(io.StringIO()),
    "export to a file": lambda v, folder: v.export(folder / "out.jsonl"),
    "backup": lambda v, folder: v.backup(folder / "backup.db"),
}
SEARCHES = {
    "search": lambda v, _: v.search("alpha"),
    "search by both": lambda v, _: v.search("alpha beta", query_vector=[1.0, 0.5], limit=3),
    "search by a vector": lambda v, _: v.search("", query_vector=[1.0, 0.5]),
    "search where": lambda v, _: v.search("alpha", where={"attrs.team": "core", "tags": "x"}),
    "search with tags": lambda v, _: v.search("alpha", boost_tags=["x"], domain="general"),
    "search with memories": lambda v, _: v.search("alpha", include_memories=True, facets=["domain", "tags"]),
    "search by the documented profile": lambda v, _: v.search("user name", profile="seven-signals"),
    "search by paths": lambda v, _: v.search("one", profile="markdown-memory"),
    "search in pages": lambda v, _: v.search("alpha", limit=2, offset=2, max_tokens=200),
    "search with must": lambda v, _: v.search("alpha", words={"must": "beta"}, group_by="parent"),
    "search alike": lambda v, _: v.search("alpha", diversity=0.5, query_vector=[1.0, 0.5]),
    "search_many": lambda v, _: v.search_many(["alpha", "beta", "gamma", "delta"]),
    "search as of": lambda v, _: v.search("alpha", as_of=NOW, mode="scan"),
    "recall": lambda v, _: v.recall("memory"),
    "explain": lambda v, _: v.explain("alpha", "e1"),
    "explain the first": lambda v, _: v.explain("alpha", "e0"),
    "similar": lambda v, _: v.similar("e1"),
    "similar to the first": lambda v, _: v.similar("e0"),
    "retrieve": lambda v, _: v.retriever().retrieve("alpha beta"),
}
WRITES = {
    "optimize": lambda v, _: v.optimize(),
    "embed": lambda v, _: v.embed(),
    "sync": lambda v, _: v.sync(),
    "sync by force": lambda v, _: v.sync(force=True),
    "add": lambda v, _: v.add(id="new", title="alpha new", vector=[1.0, 2.0]),
    "add again": lambda v, _: v.add(id="e0", title="alpha again", on_similar="update", vector=[1.0, 2.0]),
    "remember": lambda v, _: v.remember("alpha memory once more", on_similar="update"),
    "update": lambda v, _: v.update("e0", title="alpha otherwise", merge_attrs={"b": 1}),
    "update_many": lambda v, _: v.update_many({"domain": "general"}, merge_attrs={"c": 1}),
    "rename of tags": lambda v, _: v.rename("tags", {"x": "y"}),
    "rename of domains": lambda v, _: v.rename("domain", {"general": "other"}),
    "link": lambda v, _: v.link("e1", "e3"),
    "unlink": lambda v, _: v.unlink("e0", "e1"),
    "supersede": lambda v, _: v.supersede("e1", "e2"),
    "reinstate": lambda v, _: v.reinstate("e1"),
    "feedback": lambda v, _: v.feedback("alpha", "e1", "dismissed"),
    "redact": lambda v, _: v.redact(),
    "purge of feedback": lambda v, _: v.purge(feedback=True),
    "delete": lambda v, _: v.delete("e0"),
    "delete where": lambda v, _: v.delete(where={"attrs.a": 3}),
    "forget": lambda v, _: v.forget("m1"),
    "purge": lambda v, _: v.purge(expired=True, history_older_than=0),
    "forget_root": lambda v, _: v.forget_root("notes"),
    "search after all": lambda v, _: v.search("alpha"),
}
COMMANDS = [
    ("search", "alpha"),
    ("search", "alpha", "--json"),
    ("list",),
    ("get", "e0"),
    ("links", "e0"),
    ("history", "e0"),
    ("stats",),
    ("facets", "domain"),
    ("status",),
    ("export",),
    ("doctor", "--offline"),
]


def tried(path, what, operations, folder):
    """Do everything with a vault, and return what raised anything but an error of Septet."""
    faults = []
    try:
        vault = septet.Vault(path, sidecar=False)
    except septet.SeptetError:
        return faults
    except Exception as fault:  # noqa: BLE001 - what is looked for
        return [f"{what}, open: {fault!r}"]
    with vault:
        for name, operation in operations.items():
            try:
                used(operation(vault, folder))
            except septet.SeptetError:
                pass
            except Exception as fault:  # noqa: BLE001
                faults.append(f"{what}, {name}: {fault!r}")
    return faults


def told(run, what, commands):
    """Run commands, and return which of them ended as no command does."""
    faults = []
    for command in commands:
        try:
            code, _, said = run(*command)
        except Exception as fault:  # noqa: BLE001
            faults.append(f"{what}, septet {' '.join(command)}: {fault!r}")
        else:
            if code not in range(5) or "Traceback" in said:
                faults.append(f"{what}, septet {' '.join(command)}: {code}, {said[-300:]}")
    return faults
