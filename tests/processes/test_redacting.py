"""Redaction of a vault that holds secrets already: no byte of them is left in any of its files."""

import json
import random
import subprocess
import sys

import pytest

from children import Busy
from connections import until_end
from consoles import was_killed
from doubles import Letters
from secrets_planted import KINDS, planted
from septet import EmbeddingOptions, EntryError, Federation, ReadOnly, Redactor, Vault
from septet.embedding import EmbeddingCache

BY_HAND = EmbeddingOptions(automatic=False)
#: So many letters and digits of a secret in a row are a part of it.
PART = 10
#: Kinds whose secret is a path, or that are found by their form alone, so that they may stand as a tag or a note.
ANY = {"id": {"$exists": True}}


class Plant:
    """Secrets drawn by lot, and where they were put."""

    def __init__(self, seed):
        self.draw, self.secrets, self.kinds = random.Random(seed), [], set()

    def __call__(self, kind=None):
        kind = kind or KINDS[len(self.secrets) % len(KINDS)]
        text, secret = planted(kind, self.draw)
        self.secrets.append(secret)
        self.kinds.add(kind)
        return text

    def found_in(self, folder):
        """Those of which a part stands in a file, in any case of letters: a full-text index folds words."""
        held = b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).lower()
        windows = {held[at : at + PART] for at in range(len(held) - PART + 1)}
        parts = (
            {s[at : at + PART] for at in range(len(s) - PART + 1)} for s in (x.lower().encode() for x in self.secrets)
        )
        return [secret for secret, own in zip(self.secrets, parts) if not own.isdisjoint(windows)]


def message(role, text):
    return json.dumps({"type": "message", "message": {"role": role, "content": text}}) + "\n"


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "vault"
    made.mkdir()
    return made


def filled(vault, plant, folder):
    """Put secrets into every place that a vault has."""
    for number in range(60):
        place = number % 6
        fields = {"id": f"e{number}", "title": f"entry {number}", "description": f"plain text {number}"}
        fields |= (
            lambda: {"title": plant()},
            lambda: {"description": f"in front\n{plant()}\nbehind, and again: {plant()}"},
            lambda: {"context": plant()},
            lambda: {"tags": ["plain", plant()]},
            lambda: {"attrs": {"note": [1, {"deep": plant()}], plant(): True}},
            lambda: {"source": plant(), "domain": "plain"},
        )[place]()
        vault.add(**fields)
    for number in range(60, 80):
        # What they were before is in the history, and in pages that SQLite uses no more.
        vault.add(id=f"e{number}", title=f"entry {number}", description=plant())
        vault.update(f"e{number}", description="plain now")
    for number in range(80, 100):
        vault.add(id=f"e{number}", title=f"entry {number}", description=plant(), attrs={"deep": {"er": plant()}})
    vault.delete(*(f"e{number}" for number in range(90, 100)))
    for number in range(10):
        vault.feedback(plant(), f"e{number}", "accepted")
        vault.link(f"e{number}", f"e{number + 1}", note=plant())
        vault.remember(plant(), details=plant(), topics=["plain"], id=f"m{number}")
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n\n" + "\n\n".join(f"- {plant()}" for _ in range(20)), encoding="utf-8")
    (folder / "talk.jsonl").write_text("".join(message("user", f"use {plant()}") for _ in range(30)), encoding="utf-8")
    vault.sync(folder, redact=False)
    vault.add(id="long", title="a long text", description="\n\n".join(f"word {plant()}" for _ in range(10)), split=20)
    with vault._store.writing() as write:
        entry = json.dumps({"title": "staged", "description": f"in front\n{plant()}"})
        write.sql.execute("INSERT INTO staged (file, hash, text_hash, entry) VALUES (1, '', 'x', ?)", (entry,))


def test_no_byte_of_two_hundred_secrets_is_left_in_any_file_of_a_vault(tmp_path, home):
    plant, cache = Plant(1), until_end(EmbeddingCache(tmp_path / "cache.db"))
    embedder = Letters()
    with Vault(home / "v.db", embedder=embedder, embedding_cache=cache, embedding_options=BY_HAND) as vault:
        filled(vault, plant, tmp_path / "notes")
        embedder.script.extend([None, OSError("no more")])
        vault.embed()
        vault.add(id="given", title=plant(), vector=[1.0, 2.0], model="mine")
        vault.search("entry")
        vault.optimize()
        assert len(plant.secrets) >= 200 and len(plant.kinds) >= 25
        # But for what was erased at once, by chance, all of them are there.
        before = len(plant.found_in(home))
        assert before >= 0.9 * len(plant.secrets)

        report = vault.redact()
        assert plant.found_in(home) == []
        assert not report.problems and report.entries > 80 and report.versions == 20
        assert (report.links, report.feedback, report.files, report.roots) == (10, 10, 2, ("notes",))
        assert report.vectors > 50 and report.cached > 50 and sum(report.redacted.values()) >= 200
        assert report.complete

        assert not vault.redact().redacted
        embedder.calls.clear()
        vault.embed()
        assert not any(secret in text for text in embedder.sent() for secret in plant.secrets)
        vault.sync()
        vault.search("plain")
        vault.optimize()
        assert plant.found_in(home) == []
    assert plant.found_in(home) == []


@pytest.mark.parametrize("share", [0.0, 0.004, 0.5, 1.0])
def test_whatever_share_of_the_entries_holds_secrets_the_others_stay_as_they_are(home, share):
    plant, count = Plant(2), 250
    with Vault(home / "v.db") as vault:
        held = {f"e{n}" for n in range(round(share * count))}
        for n in range(count):
            text = plant() if f"e{n}" in held else f"plain words number {n}"
            vault.add(
                id=f"e{n}", title=f"entry {n}", description=text, vector=[1.0, n + 1.0], created_at=5, updated_at=9
            )
        before = {entry.id: entry for entry in vault}
        report = vault.redact()
        after = {entry.id: entry for entry in vault}
        assert report.entries == len(held) == report.vectors
        assert {i for i in before if before[i] != after[i]} == held
        assert all(after[i].description != before[i].description and after[i].updated_at == 9 for i in held)
        assert vault.count({"description": {"$contains": "***"}}) == len(held)
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (count - len(held),)
        assert len(vault.search("entry", limit=count).ids) == count
        assert len(vault.search("plain words", limit=count).ids) == count - len(held)
    assert plant.found_in(home) == []


def test_looking_alone_changes_nothing_and_counts_the_same(tmp_path, home):
    plant = Plant(3)
    with Vault(home / "v.db") as vault:
        filled(vault, plant, tmp_path / "notes")
        before, said = (home / "v.db").read_bytes(), []
        looked = vault.redact(dry_run=True, progress=lambda done, total: said.append((done, total)))
        assert (home / "v.db").read_bytes() == before and looked.dry_run and not looked.complete
        assert said[-1] == (len(vault), len(vault)) and said == sorted(said)
        done = vault.redact()
        for name in ("entries", "versions", "links", "feedback", "redacted", "left"):
            assert getattr(looked, name) == getattr(done, name), name
        with Vault(home / "v.db", read_only=True) as reader:
            assert not reader.redact(dry_run=True).redacted
            with pytest.raises(ReadOnly):
                reader.redact()


def test_a_filter_leaves_the_other_entries_alone(home):
    token = "ghp_" + "Zq7x" * 9
    with Vault(home / "v.db") as vault:
        for name in ("one", "two"):
            vault.add(id=name, title=name, description=f"use {token}", domain=name)
            vault.add(id=f"{name}-old", title=name, description=f"use {token} x", domain=name)
            vault.update(f"{name}-old", description="plain")
            vault.feedback(f"what is {token}", name, "accepted")
        report = vault.redact(where={"domain": "one"})
        assert (report.entries, report.versions, report.feedback) == (1, 1, 1)
        assert vault.get("one").description == "use ***" and token in vault.get("two").description
        assert token in vault.history("two-old")[0].entry.description
        assert token not in vault.history("one-old")[0].entry.description
        with pytest.raises(EntryError, match="Redactor"):
            vault.redact(redactor="default")


def test_what_holds_a_secret_and_is_a_name_stays_and_is_told(home):
    token = "ghp_" + "Zq7x" * 9
    with Vault(home / "v.db") as vault:
        vault.add(id=token, title="an id of its own")
        vault.add(id="child", title="a part", parent=token)
        made = vault.add(id=f"of-{token}", title="another, made when ids still held secrets")
        report = vault.redact()
        assert {(one.place, one.name) for one in report.left} == {("id", token), ("id", made)}
        assert all("another id" in one.cure for one in report.left) and not report.complete
        vault.delete(token, made, "child")
        assert vault.redact().complete
    held = (home / "v.db").read_bytes().lower()
    assert token.lower().encode() not in held and b"zq7xzq7x" not in held


def test_files_stay_and_are_masked_from_then_on_when_they_are_read(tmp_path, home):
    folder, token, badge = tmp_path / "notes", "ghp_" + "Zq7x" * 9, "badge-8841"
    folder.mkdir()
    (folder / "a.md").write_text(f"# A\n\nuse {token} here\n\nmy {badge}\n", encoding="utf-8")
    (folder / "b.md").write_text("# B\n\nplain\n", encoding="utf-8")
    (folder / "s.jsonl").write_text(message("user", f"it is {token}"), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    redactor = Redactor(add=[("badge", r"badge-\d+")])
    with Vault(home / "v.db") as vault:
        vault.sync(folder, redact=False)
        assert vault.redact(redactor=redactor).roots == ("notes",)
        masked = sorted((e.id, e.description) for e in vault)
        (options,) = (root.options for root in vault.sync_status().roots)
        assert options["redact"] == "all" and options["redactor"]["add"]
        assert vault.sync().complete and vault.sync().count == 0
        assert sorted(description for _, description in masked) == sorted(e.description for e in vault)
        (folder / "c.md").write_text(f"# C\n\n{token} and {badge}\n", encoding="utf-8")
        vault.sync(force=True)
        assert not any(token in e.description or badge in e.description for e in vault)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert token.encode() not in (home / "v.db").read_bytes()


def test_in_transcripts_alone_a_folder_is_masked_as_it_is_unless_told_otherwise(tmp_path, home):
    folder, token = tmp_path / "talks", "ghp_" + "Zq7x" * 9
    folder.mkdir()
    (folder / "s.jsonl").write_text(message("user", f"it is {token}"), encoding="utf-8")
    (folder / "a.md").write_text("# A\n\nplain\n", encoding="utf-8")
    with Vault(home / "v.db") as vault, Vault(":memory:") as fresh:
        vault.sync(folder, redact=False)
        vault.redact()
        assert vault.sync_status().roots[0].options["redact"] is True
        vault.sync()
        fresh.sync(folder)
        assert sorted(e.description for e in vault) == sorted(e.description for e in fresh)


KEY = "PRIVATE" + " KEY"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_secret_over_the_border_of_chunks_is_masked_in_all_of_them(tmp_path, home, ending):
    folder, draw = tmp_path / "notes", random.Random(4)
    folder.mkdir()
    letters = ["".join(draw.choices("ABCDEFGHJKabcdefghjk23456789+/", k=64)) for _ in range(60)]
    block = [f"-----BEGIN RSA {KEY}-----", *letters, f"-----END RSA {KEY}-----"]
    plain = [f"line {n} of plain words" for n in range(30)]
    long = "eyJ" + "".join(draw.choices("abcdefGHIJK123", k=4_000)) + ".abcdefgh12." + "x7Y" * 900
    text = ending.join([*plain, *block, *plain, f"a token {long} ends", *plain])
    (folder / "a.md").write_text(text, encoding="utf-8", newline="")
    (folder / "s.jsonl").write_text(
        message("user", " ".join(block)) + message("user", f"{long} ends"), encoding="utf-8"
    )
    with Vault(home / "v.db") as vault:
        vault.sync(folder, redact=False)
        assert sum(letters[30] in e.description for e in vault) >= 1
        report = vault.redact()
        assert report.redacted["private_key"] == 2
        held = "\n".join(e.description for e in vault)
        assert not any(one[at : at + 20] in held for one in letters for at in (0, 20, 40))
        assert not any(long[at : at + 20] in held for at in range(0, len(long) - 20, 10))
        assert all(f"line {n} of plain words" in held for n in range(30)) and "ends" in held
    assert not any(one.encode() in (home / "v.db").read_bytes() for one in letters)


def test_a_secret_over_the_border_of_the_parts_of_a_text_is_masked_in_all_of_them(home):
    letters = ["Qx7" * 21 + str(n) for n in range(40)]
    text = "\n".join(["in front of it", f"-----BEGIN RSA {KEY}-----", *letters, f"-----END RSA {KEY}-----", "behind"])
    with Vault(home / "v.db") as vault:
        vault.add(id="long", title="split", description=text, split=10)
        assert len(vault) > 3
        vault.redact()
        held = "\n".join(e.description for e in vault)
        assert "Qx7Qx7" not in held and "in front of it" in held and "behind" in held


def test_vectors_of_masked_texts_are_gone_in_every_space_and_those_of_others_stay(tmp_path, home):
    token = "ghp_" + "Zq7x" * 9
    cache, first, second = until_end(EmbeddingCache(tmp_path / "c.db")), Letters("first"), Letters("second", 16)
    for embedder in (first, second):
        with Vault(
            home / "v.db", embedder=embedder, embedding_cache=cache, embedding_options=BY_HAND, profile="septet"
        ) as vault:
            if embedder is first:
                vault.add(id="secret", title="one", description=token, vector=[1.0, 2.0], model="mine")
                vault.add(id="plain", title="two", description="plain", vector=[1.0, 2.0], model="mine")
                vault.add(id="was", title="three", description=f"{token} x")
            vault.embed()
    with Vault(home / "v.db", embedder=second, embedding_cache=cache, embedding_options=BY_HAND) as vault:
        vault.update("was", description="plain too")
        vault.embed()
        assert len(cache) == 7
        report = vault.redact()
        assert report.vectors >= 2 and report.cached == 4 and len(cache) == 3
        second.calls.clear()
        assert vault.embed().embedded == 1 and second.sent() == ["one\n***"]
        assert vault.search("plain").ids


def test_searches_go_on_and_other_processes_see_the_masked_texts(home):
    plant = Plant(5)
    with Vault(home / "v.db") as vault, Vault(home / "v.db") as other:
        for n in range(2_100):
            vault.add(id=f"e{n}", title=f"entry {n}", description=plant("github") if n % 7 == 0 else "plain")
        other.search("entry")
        other.optimize()
        with Busy(lambda _: len(other.search("entry", limit=5).ids) == 5 or 1 / 0):
            report = vault.redact()
        assert report.entries == 300 and not report.problems
        assert "***" in other.get("e7").description
        assert plant.found_in(home) == []
        other.optimize()
        assert plant.found_in(home) == []


KILLED = """
import os, sys
from septet import Vault
from septet.sqlite.store import mending
from septet.sqlite.tables import masking
from septet.files import redacting

kind, when, turn = sys.argv[2], int(sys.argv[3]), 0

def dying(function):
    def call(*args, **named):
        global turn
        turn += 1
        if turn > when:
            os.kill(os.getpid(), 9)
        return function(*args, **named)
    return call

place, name = {"put": (masking, "put"), "texts": (masking, "set_texts"), "traces": (masking, "erase_traces"),
               "scrub": (mending, "scrub"), "again": (masking, "read_again")}[kind]
setattr(place, name, dying(getattr(place, name)))
redacting.PARENTS = 1
masking.PAGE_ROWS = 40
with Vault(sys.argv[1]) as vault:
    vault.redact()
"""


@pytest.mark.parametrize(
    ("kind", "when"), [("put", 0), ("put", 2), ("texts", 1), ("again", 1), ("traces", 0), ("scrub", 0)]
)
def test_after_a_kill_the_vault_is_whole_and_redacting_again_finishes(tmp_path, home, kind, when):
    plant = Plant(6)
    with Vault(home / "v.db") as vault:
        filled(vault, plant, tmp_path / "notes")
        count = len(vault)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(home / "v.db"), kind, str(when)], timeout=60)
    assert was_killed(killed.returncode)
    with Vault(home / "v.db") as vault:
        assert len(vault) == count and vault.search("entry").ids
        assert not vault.redact().problems
        assert plant.found_in(home) == []
        vault.sync()
        vault.optimize()
    assert plant.found_in(home) == []


def test_a_search_that_has_not_ended_is_told_of_and_the_next_run_cleans_the_log(home, monkeypatch):
    plant = Plant(7)
    with Vault(home / "v.db") as vault, Vault(home / "v.db") as reader:
        for n in range(20):
            vault.add(id=f"e{n}", title=f"entry {n}", description=plant())
        with vault._store.maintaining() as sql:
            sql.execute("PRAGMA busy_timeout = 100")
        with reader._store.reading() as read:
            read.sql.execute("SELECT count(*) FROM entries").fetchone()
            report = vault.redact()
            assert len(report.problems) == 1 and "redact again" in report.problems[0] and not report.complete
        assert not vault.redact().problems
        assert plant.found_in(home) == []


def test_a_tier_of_a_federation_is_redacted_by_its_name(home):
    token = "ghp_" + "Zq7x" * 9
    with Vault(home / "a.db") as one, Vault(home / "b.db") as two:
        for vault in (one, two):
            vault.add(id="a", title=token)
        both = Federation({"one": one, "two": two})
        assert not hasattr(both, "redact")
        assert both.tier("one").redact().entries == 1
        assert one.get("a").title == "***" and two.get("a").title == token


def test_a_vault_in_memory_and_an_empty_one_are_redacted_too(home):
    with Vault(":memory:") as vault, Vault(home / "v.db") as empty:
        vault.add(id="a", title="ghp_" + "Zq7x" * 9, attrs={"password": "open sesame 7"})
        assert vault.redact().entries == 1
        assert vault.get("a").title == "***" and vault.get("a").attrs == {"password": "***"}
        assert vault.redact(where=ANY).complete and empty.redact().complete
        assert empty.redact(dry_run=True).to_dict()["complete"] is False
    assert (home / "v.db").exists()
