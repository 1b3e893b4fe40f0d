"""What users of memories on a disk have missed elsewhere: one sentence each, of folders, transcripts and providers."""

import asyncio
import json
import os
import threading

import pytest

from septet import AsyncVault, CallableEmbedder, Vault
from septet.errors import EmbeddingUnavailable
from synced import fresh, picture

TOPICS = ("herons", "owls", "loons", "snipes", "terns")


def vector(text):
    """A direction for each topic that a text names, and a little of its length."""
    return [1.0 + 9.0 * text.lower().count(topic[:-1]) for topic in TOPICS] + [1.0 + len(text) % 7 / 10]


def path_of(hit):
    return hit.citation.partition("#")[0]


class Provider:
    """An embedder that counts what it is asked, and may be away."""

    def __init__(self):
        self.texts, self.away = [], False

    def __call__(self, texts):
        if self.away:
            raise EmbeddingUnavailable("the provider is away")
        self.texts += texts
        return [vector(text) for text in texts]

    def embedder(self, model="birds"):
        return CallableEmbedder(self, model=model, dimensions=len(TOPICS) + 1)


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(
        "# Rules\n\n- Deploys go out on Tuesdays.\n- The port is 5432.\n", encoding="utf-8"
    )
    for n in range(40):
        topic = TOPICS[n % len(TOPICS)]
        text = f"# Note {n}\n\nMany {topic} were seen near the old bridge, as on other days.\n\nMark zq{n:03}x.\n"
        (folder / "memory" / f"n{n:02}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def provider():
    return Provider()


# 1: exact hits vanish ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["septet", "markdown-memory"])
@pytest.mark.parametrize("embedded", [False, True])
def test_a_word_that_stands_in_one_note_alone_finds_this_note(tmp_path, notes, provider, profile, embedded):
    with Vault(tmp_path / "v.db", embedder=provider.embedder() if embedded else None) as vault:
        vault.sync(notes)
        assert not embedded or vault.embedding_status(wait_s=20).activity == "idle"
        for n in range(40):
            results = vault.search(f"zq{n:03}x", profile=profile)
            found = [path_of(hit) for hit in results.hits]
            # The vectors of this provider know topics alone, so that of the word is near to all notes.
            assert f"memory/n{n:02}.md" in (found if embedded else found[:1]), results.notes


@pytest.mark.parametrize("profile", ["septet", "markdown-memory"])
def test_a_better_match_never_has_a_lower_score(tmp_path, profile):
    (folder := tmp_path / "notes").mkdir()
    for n in range(12):
        text = " ".join(["heron"] * n + ["word"] * (30 - n))
        (folder / f"n{n:02}.md").write_text(text + "\n", encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        hits = vault.search("heron", profile=profile, limit=20).hits
        assert [path_of(hit) for hit in hits] == [f"n{n:02}.md" for n in range(11, 0, -1)]
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) and scores[-1] > 0


# 2: languages --------------------------------------------------------------------------------------------------------

LANGUAGES = {
    "vi.md": ("Lỗi xử lý thanh toán ở đường Điện Biên", ["xử lý thanh toán", "loi xu ly", "duong dien"]),
    "zh.md": ("支付处理器在金额为零时返回错误", ["支付处理器", "金额为零", "返回错误"]),
    "ja.md": ("金額がゼロのとき決済処理が失敗する", ["決済処理", "ゼロ", "失敗する"]),
    "ko.md": ("금액이 영일 때 결제 처리가 실패한다", ["결제 처리가", "실패한다"]),
    "ru.md": ("Обработка платежа падает при нулевой сумме", ["обработка платежа", "НУЛЕВОЙ"]),
    "ar.md": ("تفشل معالجة الدفع عندما يكون المبلغ صفرا", ["معالجة الدفع"]),
    "el.md": ("Η επεξεργασία πληρωμής αποτυγχάνει", ["επεξεργασια πληρωμης"]),
    "de.md": ("Die Zahlungsabwicklung schlägt fehl, siehe payment_processor", ["schlagt fehl", "payment_processor"]),
}  # fmt: skip


@pytest.mark.parametrize("profile", ["septet", "markdown-memory"])
def test_notes_of_every_script_are_found_by_their_words(tmp_path, profile):
    (folder := tmp_path / "notes").mkdir()
    for name, (text, _) in LANGUAGES.items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        for name, (_, queries) in LANGUAGES.items():
            for query in queries:
                assert [path_of(hit) for hit in vault.search(query, profile=profile).hits][:1] == [name], query


# 3: an index that is stale -------------------------------------------------------------------------------------------


def test_a_sync_that_says_it_is_complete_has_left_nothing_out(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        for n, path in enumerate(sorted((notes / "memory").iterdir())):
            if n % 3 == 0:
                path.write_text(f"# Changed {n}\n\nAnother text.\n", encoding="utf-8")
            elif n % 3 == 1:
                path.unlink()
        status = vault.sync_status()
        assert not status.in_step and status.roots[0].drift == 27
        assert vault.sync().complete and vault.sync_status().in_step
        assert picture(vault) == fresh(notes)


# 5: no provider ------------------------------------------------------------------------------------------------------


def test_texts_are_found_while_the_provider_is_away_and_vectors_come_when_it_is_back(tmp_path, notes, provider):
    provider.away = True
    with Vault(tmp_path / "v.db", embedder=provider.embedder()) as vault:
        assert vault.sync(notes).complete
        results = vault.search("zq007x")
        assert path_of(results.hits[0]) == "memory/n07.md" and results.notes
        provider.away = False
        vault.embed()
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert all(space.missing == 0 for space in vault.embedding_status().spaces)


def test_a_sync_without_a_provider_leaves_the_vectors_that_are_there(tmp_path, notes, provider):
    with Vault(tmp_path / "v.db", embedder=provider.embedder()) as vault:
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        paid = len(provider.texts)
    with Vault(tmp_path / "v.db") as vault:
        (notes / "memory" / "n00.md").write_text("# Note 0\n\nNow of terns.\n", encoding="utf-8")
        vault.sync()
        vault.sync(force=True)
    with Vault(tmp_path / "v.db", embedder=provider.embedder()) as vault:
        vault.embed()
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert len(provider.texts) == paid + 1


# 6: money ------------------------------------------------------------------------------------------------------------


def test_each_text_is_paid_for_once_whatever_is_renamed_moved_touched_or_synced_again(tmp_path, notes, provider):
    with Vault(tmp_path / "v.db", embedder=provider.embedder()) as vault:
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        paid = len(provider.texts)
        assert paid == len(set(provider.texts)) == len(vault)
        (notes / "memory").rename(notes / "notes")
        (notes / "notes" / "n03.md").rename(notes / "n03.md")
        for path in (notes / "notes").iterdir():
            os.utime(path, (2e9, 2e9))
        vault.sync()
        vault.sync(force=True)
        vault.forget_root("workspace")
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert len(provider.texts) == paid


# 9: locks ------------------------------------------------------------------------------------------------------------


def test_searches_and_writes_of_others_go_on_while_a_folder_is_synced(tmp_path, notes):
    begun, go_on = threading.Event(), threading.Event()

    def hold(done, total):
        begun.set()
        assert go_on.wait(20)

    with Vault(tmp_path / "v.db") as vault, Vault(tmp_path / "v.db") as other:
        other.add(id="mine", title="mine of herons")
        thread = threading.Thread(target=vault.sync, args=(notes,), kwargs={"progress": hold})
        thread.start()
        assert begun.wait(20)
        assert other.search("herons").hits
        other.update("mine", title="mine of owls")
        other.delete("mine")
        go_on.set()
        thread.join()
        assert picture(other) == fresh(notes)


# 11: the host is blocked ---------------------------------------------------------------------------------------------


def test_an_event_loop_turns_while_a_folder_is_synced(tmp_path):
    (folder := tmp_path / "notes").mkdir()
    (folder / "large.md").write_text("".join(f"# Part {n}\n\n" + "herons and owls " * 40 + "\n" for n in range(3_000)))

    async def ask():
        turns = 0
        async with AsyncVault(tmp_path / "v.db") as vault:
            task = asyncio.create_task(vault.sync(folder))
            while not task.done():
                await asyncio.sleep(0)
                turns += 1
            assert (await task).complete
        return turns

    assert asyncio.run(ask()) > 20


# 13: transcripts -----------------------------------------------------------------------------------------------------


def test_transcripts_do_not_crowd_out_notes_where_each_file_has_one_hit_or_notes_alone_are_asked_for(tmp_path, notes):
    lines = [{"type": "message", "message": {"role": "user", "content": f"herons again, {n} " * 60}} for n in range(90)]
    (notes / "memory" / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        grouped = vault.search("herons", group_by="parent", limit=9).hits
        assert sum(path_of(hit).endswith(".jsonl") for hit in grouped) <= 1 and len(grouped) == 9
        plain = vault.search("herons", where={"type": {"$ne": "session"}}, limit=9).hits
        assert plain and not any(path_of(hit).endswith(".jsonl") for hit in plain)


# 15: an order that is stable, and vaults apart -----------------------------------------------------------------------


def test_a_larger_limit_only_adds_hits_at_the_end(tmp_path, notes, provider):
    with Vault(tmp_path / "v.db", embedder=provider.embedder()) as vault:
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        for query in ("herons near the bridge", "owls", "zq001x old days"):
            every = vault.search(query, profile="markdown-memory", limit=20).ids
            assert every
            for limit in range(1, 20):
                assert vault.search(query, profile="markdown-memory", limit=limit).ids == every[:limit]


def test_the_memories_of_two_agents_never_meet(tmp_path, provider):
    cache = tmp_path / "cache.db"
    names = ("anna", "boris")
    for name in names:
        (folder := tmp_path / name).mkdir()
        (folder / "MEMORY.md").write_text(f"# Secrets\n\nThe {name}-only-word of herons.\n\nThe same for all.\n")
    for name in names:
        with Vault(tmp_path / f"{name}.db", embedder=provider.embedder(), embedding_cache=cache) as vault:
            vault.sync(tmp_path / name, layout="memory", name="memory")
            assert vault.embedding_status(wait_s=20).activity == "idle"
            for query in ("anna boris herons only word", "secrets"):
                assert {path_of(hit) for hit in vault.search(query).hits} == {"MEMORY.md"}
    for name, other in (names, names[::-1]):
        files = [path for path in tmp_path.rglob(f"{name}.db*") if path.is_file()]
        assert files and not any(f"{other}-only".encode() in path.read_bytes() for path in files)
