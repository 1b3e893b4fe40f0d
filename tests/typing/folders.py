"""What a program that keeps folders in step looks like: type checkers pass it in strict mode, and it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import septet
from septet import Chunking, Redactor, SyncReport, Vault, Watcher, chunk_markdown
from septet.files import (
    Chunk,
    PendingFile,
    Redacted,
    RedactionRule,
    RedactReport,
    RootStatus,
    SecretLeft,
    SkippedFile,
    SyncStatus,
    flush_limits,
    flush_prompt,
    should_flush,
)
from septet.retrieval import ChatExpander, Expander, ExpansionConfig


def cut() -> None:
    chunks: list[Chunk] = chunk_markdown("# One\n- two\n- three", variant="entries")
    lines: list[int] = [chunk.first_line for chunk in chunks]
    assert (lines, len(chunks[0].hash), Chunking(tokens=200, overlap=40).overlap) == ([1, 2, 3], 64, 40)


def flush() -> None:
    threshold: int = flush_limits(100_000).threshold
    assert should_flush(threshold, 100_000) and "notes.md" in flush_prompt("notes.md")


def folders(folder: Path) -> None:
    notes = folder / "notes"
    more = folder / "more"
    notes.mkdir()
    more.mkdir()
    (notes / "keys.md").write_text("# Keys\n\nRotate them.\n", encoding="utf-8")
    (notes / "image.md").write_bytes(b"\0")
    with Vault(folder / "synced.db") as vault:
        report: SyncReport = vault.sync(notes, exclude=["drafts"], extra=[more], trust="unverified")
        left_out: list[SkippedFile] = list(report.skipped)
        status: SyncStatus = vault.sync_status()
        followed: tuple[RootStatus, ...] = status.roots
        first: RootStatus = status.roots[0]
        waiting: list[PendingFile] = list(first.pending)
        assert sum(one.bytes + one.messages for one in waiting) == first.pending_bytes == first.pending_messages == 0
        assert status.in_step and first.drift == 0 and first.bytes["text"] > 0
        with vault.watch_files(interval_s=None, on_sync=lambda report: print(report)) as watcher:
            running: Watcher = watcher
            assert not running.closed and running.last_error is None
        removed: int = vault.forget_root(notes)
        assert report.files_added == 2 and left_out[0].reason == "binary" and followed[0].chunks == removed == 1


def hide() -> None:
    redactor = Redactor(add=[RedactionRule("badge", "B-[0-9]+")], without=["telegram"])
    found: Redacted = redactor.redact("TOKEN=abc, badge B-12")
    assert found.text == "TOKEN=***, badge ***" and found.counts == {"badge": 1, "env_assignment": 1}
    assert len(redactor.identity) == 16 and redactor.settings["without"] == ["telegram"]


def clean(folder: Path) -> None:
    with Vault(folder / "cleaned.db") as vault:
        vault.add(id="a", title="the door", description="PASSWORD=open7sesame")
        report: RedactReport = vault.redact(where={"id": "a"}, dry_run=False)
        left: tuple[SecretLeft, ...] = report.left
        assert report.complete and not left and report.redacted == {"env_assignment": 1}


def reword() -> None:
    config = ExpansionConfig(model="qwen3:4b", provider="ollama", most=2, body={"seed": 1})
    chat: Expander = ChatExpander.of(config, secrets=lambda name: None)
    other = ChatExpander("m", base_url="http://127.0.0.1:9/v1", api_key="k", timeout_s=1)
    plain: Expander = lambda query: [query.upper()]  # noqa: E731
    model: str = other.model
    other.close()
    assert callable(chat) and callable(plain) and model == "m" and config.timeout_s == 3


def main(folder: Path) -> None:
    cut()
    flush()
    hide()
    reword()
    folders(folder)
    clean(folder)
    print(septet.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
