"""Whatever happens to a folder, after the next sync its index is the one that a new vault makes of it."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from examples import heavy
from septet import Vault
from septet.files.chunking import Chunking

NAMES = ["a.md", "b.md", "c.txt", "deep/a.md", "deep/er/d.md", "Ä.md"]
TALKS = ["s.jsonl", "t.jsonl", "deep/u.jsonl"]
WORDS = [
    "heron",
    "[[eel]]",
    "[[Wader#Nests|x]]",
    "[[a]]",
    "[[deep/a|x]]",
    "[[b#Nests]]",
    "[c](c.txt)",
    "[up](../a.md)",
    "owl night",
]
HEADS = ["", "---\naliases: [Eel, wader]\n---\n", "---\nalias: b\nsee: '[[eel]]'\n---\n"]
SECTIONS = st.lists(
    st.tuples(st.sampled_from(["# Herons", "## Nests", "# Owls", ""]), st.lists(st.sampled_from(WORDS), max_size=4)),
    max_size=5,
)


def text_of(sections):
    return "".join(f"{head}\n\n{' '.join(words)} {'filler words here ' * 6}\n\n" for head, words in sections)


def picture(vault):
    """Everything that follows from the disk, with ids and numbers left out: they depend on when what came."""
    chunks = {e.id: e for e in vault if e.kind == "chunk"}
    place = {i: (e.span.path, e.span.first_line, e.span.last_line, e.description) for i, e in chunks.items()}
    said = [(*place[e.id], e.title, e.context, str(e.attrs), e.tags, e.trust) for e in chunks.values()]
    links = sorted(
        (place[x.source], place[x.target], x.type, x.note)
        for i in chunks
        for x in vault.links(i)
        if x.source == i and x.type in ("next", "mentions")
    )
    with vault._store.reading() as read:
        files = read.sql.execute("SELECT path, name, stem, kind, size, mtime_ns, hash, problem FROM files").fetchall()
        mentions = read.sql.execute(
            "SELECT f.path, m.target, m.anchor, m.type FROM mentions m JOIN files f ON f.file = m.file"
        ).fetchall()
        parents = read.sql.execute(
            "SELECT count(*) FROM entries e WHERE e.live AND e.kind = 'chunk' "
            "AND NOT EXISTS (SELECT 1 FROM files f WHERE f.id = e.parent AND f.path = e.path)"
        ).fetchone()
    return sorted(said), links, sorted(files), sorted(mentions), parents


class Synced(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.folder = self.home / "notes"
        self.folder.mkdir()
        self.vault = Vault(self.home / "v.septet")
        self.options = {"chunking": Chunking(tokens=40, overlap=8)}
        self.vault.sync(self.folder, **self.options)
        self.user = self.vault.add(title="a user's own")
        self.time = 1_600_000_000
        self.dirty = False

    def teardown(self):
        self.vault.close()
        shutil.rmtree(self.home)

    def path(self, name):
        found = self.folder / name
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def stamped(self, path):
        self.time += 1
        os.utime(path, ns=(self.time * 10**9 + 7, self.time * 10**9 + 7))

    @rule(name=st.sampled_from(NAMES), head=st.sampled_from(HEADS), sections=SECTIONS)
    def write(self, name, head, sections):
        path = self.path(name)
        if not path.is_symlink():
            path.write_text(head + text_of(sections), encoding="utf-8")
            self.stamped(path)

    @rule(name=st.sampled_from(NAMES), sections=SECTIONS)
    def append(self, name, sections):
        path = self.path(name)
        if path.exists() and not path.is_symlink():
            with path.open("a", encoding="utf-8") as file:
                file.write(text_of(sections))
            self.stamped(path)

    @rule(name=st.sampled_from(NAMES), share=st.sampled_from([0.0, 0.3, 0.9]))
    def truncate(self, name, share):
        path = self.path(name)
        if path.exists() and not path.is_symlink():
            os.truncate(path, int(path.stat().st_size * share))
            self.stamped(path)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name):
        path = self.path(name)
        path.unlink(missing_ok=True)

    @rule(old=st.sampled_from(NAMES), new=st.sampled_from(NAMES))
    def rename(self, old, new):
        if self.path(old).exists():
            self.path(old).replace(self.path(new))

    @rule(name=st.sampled_from(NAMES), to=st.sampled_from(NAMES))
    def link(self, name, to):
        if not self.path(name).exists() and not self.path(name).is_symlink():
            self.path(name).symlink_to(self.path(to))

    @rule(name=st.sampled_from(NAMES))
    def touch(self, name):
        if self.path(name).exists() and not self.path(name).is_symlink():
            self.stamped(self.path(name))

    @rule(name=st.sampled_from(TALKS), words=st.lists(st.sampled_from(WORDS), max_size=6), half=st.booleans())
    def say(self, name, words, half):
        # Some of them make several chunks of one line.
        said = (f"{word} {self.time} " * (60 if "n" in word else 1) for word in words)
        turns = ({"type": "message", "message": {"role": "user", "content": text}} for text in said)
        lines = "".join(json.dumps(turn) + "\n" for turn in turns)
        with self.path(name).open("a", encoding="utf-8") as file:
            file.write(lines[:-20] if half else lines)
        self.stamped(self.path(name))

    @rule(name=st.sampled_from(TALKS), share=st.sampled_from([0.0, 0.5, 0.9]))
    def cut_talk(self, name, share):
        if self.path(name).exists():
            os.truncate(self.path(name), int(self.path(name).stat().st_size * share))
            self.stamped(self.path(name))

    @rule(name=st.sampled_from(TALKS))
    def set_talk_aside(self, name):
        if self.path(name).exists():
            self.path(name).rename(self.path(f"{name}.reset.{self.time}"))

    @rule(old=st.sampled_from(TALKS), new=st.sampled_from(TALKS))
    def rename_talk(self, old, new):
        if self.path(old).exists():
            self.path(old).replace(self.path(new))

    @rule(tokens=st.sampled_from([40, 60]), follow=st.booleans())
    def options_change(self, tokens, follow):
        self.options = {"chunking": Chunking(tokens=tokens, overlap=8), "follow_symlinks": follow}

    @rule(name=st.sampled_from(NAMES))
    def sync_one(self, name):
        self.vault.sync(paths=[self.path(name)])

    @precondition(lambda self: len(self.vault) > 1)
    @rule()
    def a_user_links_and_judges(self):
        chunk = next(e.id for e in self.vault if e.kind == "chunk")
        self.vault.link(self.user, chunk, note="kept")
        self.vault.feedback("heron", chunk, "accepted")

    @rule()
    def sync(self):
        linked = {x.target for x in self.vault.links(self.user)}
        report = self.vault.sync(self.folder, **self.options)
        assert report.complete, report
        with Vault(":memory:") as fresh:
            fresh.sync(self.folder, **self.options)
            assert picture(self.vault) == picture(fresh)
        assert {x.target for x in self.vault.links(self.user)} == {i for i in linked if i in self.vault}
        again = self.vault.sync()
        assert again.count == 0, again

    @invariant()
    def a_search_sees_whole_files(self):
        hits = self.vault.search("heron owl night filler", limit=50).hits
        entries = self.vault.load([hit.id for hit in hits])
        assert len(entries) == len(hits)


Synced.TestCase.settings = heavy()
TestSynced = Synced.TestCase
