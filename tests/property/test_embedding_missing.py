"""Whatever is written, embedded, refused or interrupted: what is missing is what a look at every entry says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from doubles import Letters, down, refused
from septet import EmbeddingOptions, Vault
from septet.sqlite.tables import texts

IDS = st.sampled_from([f"e{i}" for i in range(6)])
TITLES = st.sampled_from(["one", "two", "three", "four", "five"])
MODELS = st.sampled_from(["a", "b"])
#: What the calls of a run do, in order; afterwards every call is answered.
SCRIPTS = st.lists(st.sampled_from(["answer", "down", "key", "text", "zero"]), max_size=3)
STEPS = {
    "answer": None,
    "down": down(),
    "key": refused(401),
    "text": refused(400),
    "zero": lambda batch: np.zeros((len(batch), 8), dtype=np.float32),
}
ACTIONS = st.one_of(
    st.tuples(st.just("add"), IDS, TITLES, st.booleans()),
    st.tuples(st.just("update"), IDS, TITLES),
    st.tuples(st.just("kind"), IDS, st.sampled_from(["entry", "memory"])),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("purge")),
    st.tuples(st.just("embed"), MODELS, SCRIPTS, st.integers(1, 3), st.booleans()),
)


class Stopped(Exception):
    """Raised by a progress callback, as an interrupt would be."""


def embed(vault, path, model, script, batch, interrupted):
    embedder = Letters(model, 8, batch_size=batch)
    embedder.script.extend(STEPS[name] for name in script)

    def progress(done, total):
        assert 0 < done <= total
        if interrupted:
            raise Stopped

    with Vault(path, embedder=embedder, embedding_options=EmbeddingOptions(automatic=False)) as other:
        before = lacking(other, model)
        try:
            report = other.embed(progress=progress)
        except Stopped:
            return
        assert report.missing == len(lacking(other, model))
        assert report.embedded == len(before) - report.missing
        if not script:
            assert report.missing == 0 and all(space.active for space in other.embedding_status().spaces[:1])
        # No text that had a vector was sent.
        assert set(embedder.sent()) <= before


def lacking(vault, model):
    """The texts that lack a vector, by looking at every entry."""
    with vault._store.reading() as read:
        space = texts.find_space(read, f"test/{model}")
        held = {r[0] for r in read.sql.execute("SELECT key FROM vectors WHERE space = ?", (space and space.space,))}
        rows = read.sql.execute("SELECT title, text_hash, live FROM entries").fetchall()
        wanted = {title: key for title, key, live in rows if live and key not in held}
        asked = texts.missing(read, space, memories=True, after="", limit=99)
        assert {text: key for key, text in asked} == wanted
        assert [key for key, _ in asked] == sorted(wanted.values())
        assert texts.count_missing(read, space, memories=True) == len(wanted)
        status = next((s for s in vault.embedding_status().spaces if s.model == f"test/{model}"), None)
        if status is not None:
            assert status.missing == sum(live and key not in held for _, key, live in rows)
    return set(wanted)


@given(st.lists(ACTIONS, max_size=14))
def test_what_is_missing_is_what_a_look_at_every_entry_says(tmp_path_factory, actions):
    path = tmp_path_factory.mktemp("v") / "v.db"
    with Vault(path) as vault:
        for name, *given_ in actions:
            if name == "add":
                id, title, memory = given_
                vault.add(id=id, title=title, kind="memory" if memory else "entry")
            elif name == "delete":
                vault.delete(given_)
            elif name == "purge":
                vault.purge()
            elif name == "embed":
                embed(vault, path, *given_)
            elif given_[0] in vault:
                vault.update(given_[0], **{"title" if name == "update" else "kind": given_[1]})
            for model in ("a", "b"):
                lacking(vault, model)
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM claims").fetchone() == (0,)
            active = [t for t in texts.text_spaces(read) if t.state == "active"]
            assert len(active) <= 1
