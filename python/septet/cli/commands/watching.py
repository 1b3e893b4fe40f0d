"""`septet watch` and `septet status`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.commands.syncing import FOLDERS, skipped_lines
from septet.cli.places import existing, file_only, writable
from septet.cli.stopping import heed_termination
from septet.cli.terminal import flat, print_json, say, sentence
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.files.report import SyncReport
    from septet.files.status import RootStatus
    from septet.files.watching import Watcher

#: Maximum paths to print per kind of change.
SHOWN = 10


@command("embedding", "vault")
def watch(
    shared: SharedOptions,
    # Not a `Path`, as for `septet sync`.
    root: Annotated[str | None, typer.Argument(metavar="DIR", help="An additional folder to follow.")] = None,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="Seconds between full comparisons.")
    ] = 60.0,
    debounce: Annotated[
        float, typer.Option("--debounce", metavar="SECONDS", help="Seconds without changes before a file is read.")
    ] = 1.5,
) -> None:
    """Sync a vault with its folders as they change, until Ctrl-C or SIGTERM; prints a line per sync.

    Needs the package watchfiles: pip install 'septet[watch]'.
    """
    from septet.files.events import events_of_system

    # Raises if the package is missing, before the folder is synced.
    events_of_system()
    embedder = shared.embedder()
    file = file_only(shared.vault, "watch", FOLDERS)
    with existing(file, read_only=False, **embedder) if root is None else writable(file, **embedder) as opened:
        try:
            heed_termination()
            if root is not None:
                _print_sync(opened.sync(root))
            if not (folders := [info.path for info in opened.roots()]):
                raise EntryError(f"{opened.path} follows no folder: add one with `septet watch DIR`")
            with opened.watch_files(interval_s=interval, debounce_s=debounce, on_sync=_print_sync) as watcher:
                say(f"watching {', '.join(folders)}")
                _wait(watcher)
        except KeyboardInterrupt:
            say("stopped")


@command("json", "vault")
def status(shared: SharedOptions) -> None:
    """Compare a vault with the folders it follows."""
    with existing(file_only(shared.vault, "status", FOLDERS)) as opened:
        current = opened.sync_status()
    if shared.as_json:
        print_json(current.to_dict())
        return
    if not current.roots:
        print("follows no folder: add one with `septet sync DIR`")
    for root in current.roots:
        _print_root(root)
    if current.running:
        print("a sync is running")


def _wait(watcher: Watcher) -> None:
    """Print problems and recoveries until the watcher ends."""
    fault = None
    while not watcher.wait(1.0):
        if watcher.last_error != fault:
            fault = watcher.last_error
            say(f"problem: {fault}" if fault else "the problem is resolved")


def _print_sync(report: SyncReport) -> None:
    print(f"{time.strftime('%H:%M:%S')} {', '.join(map(flat, report.roots))}: {flat(str(report))}", flush=True)


def _print_root(root: RootStatus) -> None:
    from septet.files.report import counted
    from septet.files.trees import kinds_said

    when = "not yet synced as a whole" if root.age_s is None else f"synced {_span(root.age_s)} ago"
    sizes = ", ".join(f"{_size(size)} of {kind}s" for kind, size in sorted(root.bytes.items())) or "nothing"
    print(f"{flat(root.name)}: {flat(root.path)}")
    print(f"  {counted(root.files, 'file')}, {counted(root.chunks, 'chunk')}, {sizes}; {when}")
    if root.missing:
        print(f"  {sentence(root.missing)}; its chunks stay in the vault")
    if root.rebuilding:
        print("  must be read again: its options, or the chunking of this version, changed")
    if not (root.drift or root.altered or root.missing or root.rebuilding):
        print("  up to date")
    for word in ("new", "changed", "gone"):
        paths = getattr(root, word)
        if paths:
            more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
            print(f"  {len(paths):,} {word}: {', '.join(map(flat, paths[:SHOWN]))}{more}")
    if root.pending:
        news = f"{_size(root.pending_bytes)}, {counted(root.pending_messages, 'message')}"
        print(f"  {counted(len(root.pending), 'transcript')} with small additions ({news}), read by `septet sync`")
    for line in skipped_lines((*root.problems, *root.skipped), SHOWN):
        print(f"  {line}")
    if root.skipped_kinds:
        print(f"  skipped {kinds_said(root.skipped_kinds)}")
    if root.problem:
        print(f"  problem: {sentence(root.problem)}")


def _size(size: int) -> str:
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} bytes"


def _span(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"
