"""The commands of folders: sync, watch, status, forget-root."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.commands.embedding import embedding_stoppable, end_embedding
from septet.cli.exits import NOTHING, heed_termination, stoppable
from septet.cli.places import existing, file_only, writable
from septet.cli.screen import progress
from septet.cli.terminal import flat, print_json, say, sentence
from septet.errors import EntryError
from septet.service.places import default_vault

if TYPE_CHECKING:
    from pathlib import Path

    from septet.embedding.report import EmbedReport
    from septet.files.chunking import Chunking
    from septet.files.report import RootInfo, SkippedFile, SyncReport
    from septet.files.status import RootStatus
    from septet.files.watching import Watcher
    from septet.vault import Vault

#: Maximum skipped files to print.
SHOWN = 20
#: Maximum files with masked secrets to print.
SHOWN_MASKED = 5
#: Why vaults on a server cannot follow folders.
FOLDERS = "folders belong to this machine: sync one into a file, and `septet push` the file"
REDACT: dict[str, Any] = {"yes": True, "no": False, "all": "all"}

_Globs = list[str] | None
#: Maximum paths to print per kind of change, and problems per folder.
SHOWN_PATHS = 10


@command("json", "embedding", "vault")
def sync(
    shared: SharedOptions,
    # Not a `Path`: that of an empty text, from an unset variable, would be the working directory.
    root: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="A folder or a file; default all that the vault follows."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FILE", help="Only sync this file; repeat for more.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The source of the chunks; default the folder's name.")] = None,
    layout: Annotated[
        Any,
        typer.Option(metavar="folder|memory", parser=str, help="All texts, or MEMORY.md, USER.md and memory/ only."),
    ] = None,
    include: Annotated[
        _Globs, typer.Option(metavar="GLOB", help="Only sync matching files; repeat for more; '' for all.")
    ] = None,
    exclude: Annotated[
        _Globs, typer.Option(metavar="GLOB", help="Skip matching files; repeat for more; '' for none.")
    ] = None,
    extra: Annotated[
        _Globs, typer.Option(metavar="PATH", help="An additional file, folder or glob; '' for none.")
    ] = None,
    follow_symlinks: Annotated[
        bool | None, typer.Option("--follow-symlinks/--no-follow-symlinks", help="Follow symbolic links.")
    ] = None,
    tokens: Annotated[int | None, typer.Option("--chunk-tokens", help="Tokens per chunk; default 400.")] = None,
    overlap: Annotated[
        int | None, typer.Option("--chunk-overlap", help="Tokens shared with the previous chunk; default 80.")
    ] = None,
    variant: Annotated[
        Any, typer.Option("--chunks", metavar="capped|literal|entries", parser=str, help="How to split texts.")
    ] = None,
    redact: Annotated[
        Any,
        typer.Option(
            metavar="yes|no|all",
            parser=str,
            help="Mask secrets in all files (default of new folders), in transcripts, or nowhere.",
        ),
    ] = None,
    trust: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="untrusted, unverified or trusted (default).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Read every file and rebuild its chunks.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report changes; write nothing.")] = False,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop then; the next sync continues.")
    ] = None,
) -> None:
    """Sync a vault with a folder of Markdown, text and transcripts.

    The vault remembers the folder and its options: `septet sync` alone syncs all folders. Options not given keep their
    values. Embeds new chunks if an embedder is configured.
    """
    if redact is not None and redact not in REDACT:
        raise EntryError(f"--redact is {redact!r}: wanted yes, no or all")
    options: dict[str, Any] = {
        "name": name, "layout": layout, "include": _globs(include), "exclude": _globs(exclude), "extra": _globs(extra),
        "follow_symlinks": follow_symlinks, "redact": REDACT.get(redact), "trust": trust,
    }  # fmt: skip
    embedder: dict[str, Any] = {} if dry_run else shared.embedder()
    file = file_only(shared.vault, "sync", FOLDERS)
    with _open(file, root, dry_run, embedder) as opened:
        sizes = {"tokens": tokens, "overlap": overlap, "variant": variant}
        options["chunking"] = _chunking(opened, root, {key: value for key, value in sizes.items() if value is not None})
        if root is None and not _roots(opened) and not any(value is not None for value in options.values()):
            raise EntryError(f"{opened.path} follows no folder: add one with `septet sync DIR`")
        reports = sync_and_embed(
            opened, root, paths=only, force=force, dry_run=dry_run, timeout_s=timeout_s,
            **{key: value for key, value in options.items() if value is not None},
        )  # fmt: skip
    print_report(*reports, as_json=shared.as_json)


def sync_and_embed(opened: Any, root: str | None, **options: Any) -> tuple[SyncReport, EmbedReport | None]:
    """Sync a folder, embed new chunks if there is an embedder, and return both reports."""
    from septet.files.report import counted

    def stored() -> str:
        roots = _roots(opened)
        files, chunks = sum(info.files for info in roots), sum(info.chunks for info in roots)
        return f"{counted(files, 'file')} in {counted(chunks, 'chunk')} stored; sync again to continue"

    with stoppable(stored), progress("syncing") as step:
        report = opened.sync(root, progress=step, **options)
    if not (hasattr(opened, "embed") and opened._embeds()):
        return report, None
    with embedding_stoppable(opened), progress("embedding") as step:
        return report, opened.embed(progress=step)


def print_report(report: SyncReport, vectors: EmbedReport | None, *, as_json: bool = False) -> None:
    """Print the report of a sync; exit if it is incomplete, or texts could not be embedded."""
    if as_json:
        print_json(report.to_dict() | ({} if vectors is None else {"embedded": vectors.to_dict()}))
    else:
        would = "a sync would see " if report.dry_run else ""
        print(f"{', '.join(map(flat, report.roots))}: {would}{flat(str(report))}")
    for line in skipped_lines(report.skipped, SHOWN):
        say(line)
    for problem in report.problems:
        say(f"problem: {problem}")
    for rule, number in sorted(report.redacted.items()):
        say(f"masked {number:,} of {rule}")
    if files := report.redacted_in:
        more = f" and {len(files) - SHOWN_MASKED:,} more" if len(files) > SHOWN_MASKED else ""
        say(f"masked in {', '.join(files[:SHOWN_MASKED])}{more}; --redact no disables masking")
    if vectors is not None:
        end_embedding(vectors)
    if not report.complete:
        raise typer.Exit(NOTHING)


@command("vault")
def forget_root(
    shared: SharedOptions,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of a folder that the vault follows, or its path.")
    ],
) -> None:
    """Stop following a folder and erase its chunks; the folder itself is not changed."""
    with existing(file_only(shared.vault, "forget-root", FOLDERS), read_only=False) as opened:
        say(f"erased {opened.forget_root(name):,} chunks of {name} from {opened.path}")


def skipped_lines(skipped: Sequence[SkippedFile], most: int) -> list[str]:
    """Return a line for each skipped file or file with a warning, for at most ``most``, and a summary of the rest."""
    warnings = sum(file.taken for file in skipped[most:])
    lines = [_skipped_line(file) for file in skipped[:most]]
    if count := len(skipped[most:]) - warnings:
        lines.append(f"skipped {count:,} more")
    return [*lines, f"{warnings:,} more files have warnings"] if warnings else lines


def _skipped_line(file: SkippedFile) -> str:
    where = flat(file.path or file.root)
    if file.taken:
        return f"warning for {where}: {sentence(file.reason)}"
    if file.reason == "bad_rule":
        return f"{where}: ignored an invalid glob"
    # A reason with blanks is a sentence that describes the outcome.
    return (
        f"{where}: {sentence(file.reason)}" if " " in file.reason.strip() else f"skipped {where}: {flat(file.reason)}"
    )


def print_roots(roots: list[RootInfo]) -> None:
    """Print the folders that a vault follows, one per line."""
    from septet.files.report import counted

    for root in roots:
        when = "never synced completely"
        if root.synced_at is not None:
            when = time.strftime("synced %Y-%m-%d %H:%M", time.localtime(root.synced_at))
        text = f"chunks of {counted(root.files, 'file')}: {flat(root.name)}, {flat(root.path)}, {when}"
        print(f"  {'folder':10} {root.chunks:>10,}  {text}")
        if root.problem:
            print(f"  {'':21}  problem: {sentence(root.problem)}")


def _open(file: Path | None, root: str | None, dry_run: bool, embedding: dict[str, Any]) -> Any:
    """Open the vault to sync. Without a folder it must exist; a dry run does not create it."""
    if root is None:
        return existing(file, read_only=dry_run, **embedding)
    if not dry_run:
        return writable(file, **embedding)
    from septet.vault import Vault

    return existing(file) if (file or default_vault()).exists() else Vault(":memory:")


def _globs(values: _Globs) -> _Globs:
    """Return the globs of an option; None without the option, an empty list for a single empty value."""
    return [] if values == [""] else values or None


def _chunking(opened: Vault, root: str | None, changes: dict[str, Any]) -> Chunking | None:
    """Return the chunking options of a folder with changes; None without changes."""
    if not changes:
        return None
    from septet.files.chunking import Chunking
    from septet.files.roots import root_at

    path = None if root is None else root_at(root).path
    known = [info.options for info in _roots(opened) if path == root_at(info.path).path]
    before: dict[str, Any] = known[0].get("chunking", {}) if known else {}
    return Chunking(**{**before, **changes})


def _roots(opened: Vault) -> list[RootInfo]:
    from septet.files.report import roots_of

    return roots_of(opened._store)


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
    from septet.files.watching import events_of_system

    # Raises if the package is missing, before the folder is synced.
    events_of_system()
    embedder = shared.embedder()
    file = file_only(shared.vault, "watch", FOLDERS)
    with existing(file, read_only=False, **embedder) if root is None else writable(file, **embedder) as opened:
        try:
            heed_termination()
            if root is not None:
                _print_sync(opened.sync(root))
            if not (folders := [info.path for info in _roots(opened)]):
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
    from septet.files.roots import kinds_text

    when = "never synced completely" if root.age_s is None else f"synced {_span(root.age_s)} ago"
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
            more = f" and {len(paths) - SHOWN_PATHS:,} more" if len(paths) > SHOWN_PATHS else ""
            print(f"  {len(paths):,} {word}: {', '.join(map(flat, paths[:SHOWN_PATHS]))}{more}")
    if root.pending:
        news = f"{_size(root.pending_bytes)}, {counted(root.pending_messages, 'message')}"
        print(f"  {counted(len(root.pending), 'transcript')} with small additions ({news}), read by `septet sync`")
    for line in skipped_lines((*root.problems, *root.skipped), SHOWN_PATHS):
        print(f"  {line}")
    if root.skipped_kinds:
        print(f"  skipped {kinds_text(root.skipped_kinds)}")
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
