"""What reads texts and files of others: notes, sessions, pages, settings, imports, judged sets, queries, messages."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from typing import NamedTuple

import septet
from campaigns import seeds
from integration.test_extracted_files import pdf
from mutating import Target, changed_json
from septet import _core
from septet.embedding.config import config_of
from septet.evaluation.judgements import judged
from septet.files.chunking import Chunking
from septet.files.documents import document_of
from septet.files.extracting import extracted
from septet.files.front_matter import front_matter
from septet.files.redaction import Redactor
from septet.files.sessions import session_of
from septet.files.storing import stored_as
from septet.inputs.documents import Unreadable, parse_document
from septet.profiles import resolve
from septet.query.web import understood
from septet.retrieval.config import retrieval_config
from septet.retrieval.corpora.web.calls import WebFault, split_page_url, usable_url
from septet.retrieval.corpora.web.courtesy import robots_of
from septet.retrieval.corpora.web.html_text import decoded, text_of_html
from septet.service.configuration import configuration_of

__all__ = ["PARSERS"]

#: Patterns are made once in a process.
REDACTOR = Redactor()


def text_of(data, chance):
    """Return bytes as text, with the halves of characters that are in them or without."""
    if chance.random() < 0.3:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")


# -- notes and sessions ----------------------------------------------------------------------------------------------


def notes(data, folder, chance):
    text = text_of(data, chance)
    front_matter(text)
    chunking = Chunking(tokens=chance.choice([16, 100, 400]), overlap=chance.choice([0, 8]))
    path = chance.choice(["a/2025-01-02 note.md", "note.rst", "note.txt", "MEMORY.md"])
    made = document_of(text, path, 1.7e9, chunking)
    json.dumps([draft.fields for draft in made.chunks]).encode()
    for draft in made.chunks[:50]:
        for mention in draft.mentions[:50]:
            stored_as(mention.target, mention.anchor, mention.type, path)
    septet.chunk_markdown(text, tokens=100, overlap=chance.choice([0, 20]))
    _core.windows(text.encode("utf-8", "replace").decode(), 5)
    REDACTOR.redact(text)


def synced(data, folder, chance):
    """As a file of a folder that a vault follows."""
    notes_folder = folder / "notes"
    notes_folder.mkdir(exist_ok=True)
    (notes_folder / chance.choice(["one.md", "two.md", "three.rst"])).write_bytes(data)
    with septet.Vault(folder / "v.db", sidecar=False) as vault:
        vault.sync(notes_folder, name="notes")
        for entry in vault.entries(limit=5):
            vault.links(entry.id)
        vault.export(io.StringIO())


class Session(NamedTuple):
    path: str
    real: str


def sessions(data, folder, chance):
    file = folder / "s.jsonl"
    cut = chance.randrange(len(data) + 1)
    literal = chance.random() < 0.3
    file.write_bytes(data[:cut])
    first = session_of(Session("s.jsonl", str(file)), None, Chunking(), REDACTOR, literal=literal)
    file.write_bytes(data)
    state = first.state if chance.random() < 0.8 else text_of(data, chance)
    session_of(Session("s.jsonl", str(file)), state, Chunking(), REDACTOR, literal=literal)


def ignored(data, folder, chance):
    if not (folder / "tree").exists():
        for path in ("a/x/b", "build/c", "d"):
            (folder / "tree" / path).mkdir(parents=True)
        for path in ("keep.log", "a/x/b/one.md", "build/two.md", "d/three.txt", "x.txt"):
            (folder / "tree" / path).write_text("text", encoding="utf-8")
    (folder / "tree" / ".gitignore").write_bytes(data)
    (folder / "tree" / "d" / ".ignore").write_bytes(data[::-1])
    _core.walk_folder(str(folder / "tree"), endings=[".md", ".txt", ".log"], ignore_files=[".gitignore", ".ignore"])
    globs = text_of(data, chance).encode("utf-8", "replace").decode().split("\n")[:200]
    _core.check_globs(globs)
    _core.walk_folder(str(folder / "tree"), endings=[".md"], include=globs[:20], exclude=globs[20:], pattern=globs[0])


def code(data, folder, chance):
    for old in folder.iterdir():
        old.unlink()
    (folder / chance.choice(["a.py", "a.ts", "a.rs", "a.go", "a.c", "a.js", "a.java", "a.rb"])).write_bytes(data)
    looked = _core.Repository(str(folder), [], [], 100).looked(5.0, 1 << 20)
    looked.symbols([], [], 20), looked.symbols(["f"], ["A"], 20), looked.paths(["a"], 5)


# -- the web ---------------------------------------------------------------------------------------------------------


def page(data, folder, chance):
    kind = chance.choice([*seeds.TYPES, text_of(data[:60], chance)])
    read = text_of_html(decoded(data, kind), chance.choice([10, 1_000, 100_000]))
    json.dumps(read._asdict()).encode()
    text_of_html(text_of(data, chance), 1_000)


def extracted_text(data, folder, chance):
    """As a PDF or HTML file of a folder, whose text is then cut into chunks."""
    found = extracted(data, chance.choice([".pdf", ".html"]))
    if isinstance(found, str):
        assert found in ("too_large", "damaged", "encrypted", "binary")
        return
    made = document_of(found.text, "a.pdf", 1.7e9, Chunking(), found)
    json.dumps([draft.fields for draft in made.chunks]).encode()


def robots(data, folder, chance):
    rules = robots_of(data, chance.choice(["septet", "", "\ud800", "x/1.0"]))
    for path in ("/", "/a" * 50 + "b", "/%2F%", data[:300].decode("utf-8", "replace")):
        rules.allows(path)


def addresses(data, folder, chance):
    text = text_of(data, chance)
    for url in (text, *text.split()[:20]):
        found = usable_url(url)
        with suppress(WebFault):
            for part in split_page_url(url):
                part.encode("utf-8")
        assert found is None or found.encode()


# -- settings --------------------------------------------------------------------------------------------------------


def profiles(data, folder, chance):
    path = folder / f"p{chance.choice(SUFFIXES)}"
    path.write_bytes(data)
    profile = resolve(path)
    json.dumps(profile.to_dict())
    with septet.Vault(":memory:") as vault:
        vault.add_many({"id": f"e{n}", "title": f"alpha {n}", "vector": [1.0, n], "tags": ["t"]} for n in range(4))
        vault.search("alpha", profile=profile, query_vector=[1.0, 0.5])
        vault.explain("alpha", "e1", profile=profile)


def settings(data, folder, chance):
    path = folder / f"c{chance.choice(SUFFIXES)}"
    path.write_bytes(data)
    for read in (configuration_of, retrieval_config, config_of):
        with suppress(septet.SeptetError):
            repr(read(path))


def documents(data, folder, chance):
    parse_document(text_of(data, chance), chance.choice(SUFFIXES))


# -- imports, judgements, queries, messages ----------------------------------------------------------------------------


def imported(data, folder, chance):
    suffix = chance.choice([".jsonl", ".json", ".csv", ".tsv", ".txt", ".md"])
    path = folder / f"i{suffix}"
    path.write_bytes(data)
    with septet.Vault(":memory:") as vault:
        vault.import_(path, on_error=chance.choice(["stop", "skip"]), rest=chance.choice(["attrs", "drop", "error"]))
        vault.import_(io.BytesIO(data), format=suffix[1:] if suffix not in (".txt", ".md") else "text", on_error="skip")
        out = io.StringIO()
        vault.export(out)
        vault.import_(io.StringIO(out.getvalue()), format="jsonl")


def exported():
    with septet.Vault(":memory:") as vault:
        vault.add_many([{"id": "a", "title": "t", "vector": [1.0, 2.0]}, {"id": "b", "title": "u", "tags": ["x"]}])
        vault.link("a", "b")
        vault.feedback("t", "a", "accepted")
        vault.remember("something")
        out = io.StringIO()
        vault.export(out)
    return out.getvalue().encode()


def judgements(data, folder, chance):
    name = chance.choice(["q.jsonl", "q.tsv", "q.jsonl.gz"])
    (folder / name).write_bytes(data)
    (folder / "qrels").write_bytes(data if chance.random() < 0.5 else seeds.QUERIES[2])
    with suppress(septet.SeptetError):
        judged(folder / name, folder / "qrels")
    for query in judged(folder / name, None):
        json.dumps(query.to_dict()).encode()


def asked(data, folder, chance):
    text = text_of(data, chance)[:20_000]
    understood(text)
    if not hasattr(asked, "vault"):
        asked.vault = septet.Vault(":memory:")
        asked.vault.add_many({"title": f"alpha {n} getUserName", "tags": ["x"], "attrs": {"n": n}} for n in range(20))
    for options in (
        {"syntax": "web"},
        {},
        {"profile": "markdown-memory"},
        {"words": {"must": text}},
        {"words": {"phrase": text}, "mode": "scan"},
    ):
        with suppress(septet.SeptetError):
            json.dumps(asked.vault.search(text, **options).to_dict()).encode()


def messages(data, folder, chance):
    """Serve standard input, which holds the bytes, until its end; each line of the answer must be JSON."""
    from septet.mcp.stdio import serve_stdio
    from septet.service.served import Served

    (folder / "in").write_bytes(data)
    before = sys.stdin, sys.stdout, os.dup(1)
    with (folder / "in").open("rb") as given, (folder / "out").open("w+b") as out, septet.Vault(":memory:") as vault:
        vault.add(title="alpha")
        os.dup2(out.fileno(), 1)
        sys.stdin, sys.stdout = io.TextIOWrapper(given), io.TextIOWrapper(os.fdopen(os.dup(1), "wb"))
        try:
            serve_stdio(Served(vault))
            sys.stdout.flush()
        finally:
            sys.stdin, sys.stdout = before[:2]
            os.dup2(before[2], 1)
            os.close(before[2])
    for line in (folder / "out").read_bytes().splitlines():
        json.loads(line)


SUFFIXES = [".toml", ".yaml", ".json"]
NOTES = [seeds.NOTE.encode(), seeds.TOML_NOTE.encode(), seeds.RST.encode()]
HEADS = [seeds.NOTE.partition("# First")[0].encode(), seeds.TOML_NOTE.encode()]
PROFILES = [
    b'extends = "septet"\nname = "mine"\n[cuts]\nlimit = 5\nmin_score = 0.1\n[weights]\n',
    *(json.dumps(resolve(name).to_dict()).encode() for name in ("septet", "seven-signals", "planned-retrieval")),
]
PDF = "obj endobj stream endstream xref trailer << >> /Kids [1 0 R] /Filter /FlateDecode /Length (a) <41> Tj".split()
SPOKEN = '"role": "content": "type": "text" "user" "timestamp": [ {"type": null "\\ud800"'.split()
JUDGED = "query relevant text _id id 0 -1 1e999 nan {} []".split()
PARSERS = [
    Target("notes", NOTES, seeds.MARKDOWN, notes),
    Target("front matter", HEADS, seeds.YAML, notes),
    Target("synced files", NOTES, seeds.MARKDOWN + seeds.YAML, synced, few=20),
    Target("sessions", [seeds.SESSION], SPOKEN, sessions, wrong=changed_json),
    Target("ignore files", [seeds.IGNORED], seeds.GLOBS, ignored, (ValueError,)),
    Target("code", seeds.CODE, seeds.CODES, code),
    Target("pages", seeds.PAGES, seeds.HTML, page),
    Target("extracted files", [*seeds.PAGES, pdf("one", "two", title="T")], seeds.HTML + PDF, extracted_text, few=50),
    Target("robots", [seeds.ROBOTS], seeds.RULES, robots),
    Target("addresses", seeds.URLS, seeds.PARTS, addresses),
    Target("profiles", PROFILES, seeds.PROFILE, profiles, wrong=changed_json),
    Target("settings", seeds.SETTINGS, seeds.SETTING, settings),
    Target("documents", [*seeds.SETTINGS, PROFILES[0]], seeds.SETTING + seeds.YAML, documents, (Unreadable,)),
    Target("imports", [*seeds.IMPORTED, exported()], seeds.FIELDS, imported, wrong=changed_json),
    Target("judgements", seeds.QUERIES, JUDGED, judgements, wrong=changed_json),
    Target("queries", seeds.ASKED, seeds.SYNTAX, asked),
    Target("messages", seeds.MESSAGES, seeds.RPC, messages, wrong=changed_json, few=10),
]
