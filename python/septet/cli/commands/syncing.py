"""`septet sync` and `septet forget-root`: the folders that a vault keeps in step with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.commands.embedding import embedding_stoppable, end_embedding
from septet.cli.exits import NOTHING
from septet.cli.options import AsJson, Embedding, VaultPath
from septet.cli.places import default_vault, existing, file_only, writable
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import flat, print_json, say, sentence
from septet.errors import EntryError

if TYPE_CHECKING:
    from pathlib import Path

    from septet.embedding.report import EmbedReport
    from septet.files.chunking import Chunking
    from septet.files.report import RootInfo, SkippedFile, SyncReport
    from septet.vault import Vault

__all__ = ["FOLDERS", "brought_in", "forget_root", "left_out", "print_roots", "sync", "tell"]

#: So many files that were left out are named.
SHOWN = 20
#: The most files with masked secrets that are named.
SHOWN_MASKED = 5
#: Why folders are followed by files alone.
FOLDERS = "folders are those of this machine: sync one into a file, and `septet push` the file"
REDACT: dict[str, Any] = {"yes": True, "no": False, "all": "all"}

_Globs = list[str] | None


def sync(
    # Text: a `Path` of an empty one, which a variable that is not set becomes, is the working directory.
    root: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="A folder, or one file; without it, all that the vault follows."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FILE", help="Only this file of them; repeat for more.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the chunks have as source; default the folder's name.")] = None,
    layout: Annotated[
        Any,
        typer.Option(metavar="folder|memory", parser=str, help="All texts, or MEMORY.md, USER.md and memory/ only."),
    ] = None,
    include: Annotated[
        _Globs, typer.Option(metavar="GLOB", help="Only such files; repeat for more; '' for all.")
    ] = None,
    exclude: Annotated[
        _Globs, typer.Option(metavar="GLOB", help="Leave these out; repeat for more; '' for none.")
    ] = None,
    extra: Annotated[
        _Globs, typer.Option(metavar="PATH", help="A file, folder or glob beside them; '' for none.")
    ] = None,
    follow_symlinks: Annotated[
        bool | None, typer.Option("--follow-symlinks/--no-follow-symlinks", help="Look at what links lead to.")
    ] = None,
    tokens: Annotated[int | None, typer.Option("--chunk-tokens", help="The size of a chunk; default 400.")] = None,
    overlap: Annotated[
        int | None, typer.Option("--chunk-overlap", help="Tokens of the one before; default 80.")
    ] = None,
    variant: Annotated[
        Any, typer.Option("--chunks", metavar="capped|literal|entries", parser=str, help="How texts are cut.")
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
    force: Annotated[bool, typer.Option("--force", help="Read every file, and make its chunks anew.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change; write nothing.")] = False,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop then; the next sync goes on.")
    ] = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Bring a vault in step with a folder: Markdown, text and transcripts.

    The folder and its options are remembered: `septet sync` alone brings in what changed since, in all folders. Options
    that are not given stay as they were. The new chunks are embedded if an embedder is configured.
    """
    from septet.cli import settings

    if redact is not None and redact not in REDACT:
        raise EntryError(f"--redact is {redact!r}: wanted yes, no or all")
    options: dict[str, Any] = {
        "name": name, "layout": layout, "include": _globs(include), "exclude": _globs(exclude), "extra": _globs(extra),
        "follow_symlinks": follow_symlinks, "redact": REDACT.get(redact), "trust": trust,
    }  # fmt: skip
    made: dict[str, Any] = {} if dry_run else settings.find(embedding).embedder
    # Without a folder there is nothing to write down in a vault that is not there yet.
    file = file_only(vault, "sync", FOLDERS)
    with _opened(file, root, dry_run, made) as opened:
        cut = {"tokens": tokens, "overlap": overlap, "variant": variant}
        options["chunking"] = _chunking(opened, root, {key: value for key, value in cut.items() if value is not None})
        if root is None and not opened.roots() and not any(value is not None for value in options.values()):
            raise EntryError(f"{opened.path} follows no folder: `septet sync DIR` begins to")
        done = brought_in(
            opened, root, paths=only, force=force, dry_run=dry_run, timeout_s=timeout_s,
            **{key: value for key, value in options.items() if value is not None},
        )  # fmt: skip
    tell(*done, as_json=as_json)


def brought_in(opened: Any, root: str | None, **options: Any) -> tuple[SyncReport, EmbedReport | None]:
    """Sync a folder and embed what is new, if there is an embedder; return the reports of both."""
    with stoppable(lambda: _stored(opened)), progress("syncing") as step:
        report = opened.sync(root, progress=step, **options)
    return report, _embedded(opened) if hasattr(opened, "embed") and opened._embeds() else None


def tell(report: SyncReport, vectors: EmbedReport | None, *, as_json: bool = False) -> None:
    """Print what a sync did.

    Raises:
        typer.Exit: it has something left to do, or texts could not be embedded.
    """
    if as_json:
        print_json(report.to_dict() | ({} if vectors is None else {"embedded": vectors.to_dict()}))
    else:
        would = "a sync would see " if report.dry_run else ""
        print(f"{', '.join(map(flat, report.roots))}: {would}{flat(str(report))}")
    _say_left_out(report)
    if vectors is not None:
        end_embedding(vectors)
    if not report.complete:
        raise typer.Exit(NOTHING)


def forget_root(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of a folder that the vault follows, or its path.")
    ],
    vault: VaultPath = None,
) -> None:
    """Stop following a folder, and erase its chunks; the folder itself stays as it is."""
    with existing(file_only(vault, "forget-root", FOLDERS), read_only=False) as opened:
        say(f"erased {opened.forget_root(name):,} chunks of {name} from {opened.path}")


def left_out(skipped: Sequence[SkippedFile], most: int) -> list[str]:
    """Return lines that say why files are not in the vault, or what is odd about those that are: of so many, a line."""
    taken = sum(one.taken for one in skipped[most:])
    lines = [_left_out(one) for one in skipped[:most]]
    if out := len(skipped[most:]) - taken:
        lines.append(f"left out {out:,} more")
    return [*lines, f"took {taken:,} more with a remark"] if taken else lines


def _left_out(one: SkippedFile) -> str:
    where = flat(one.path or one.root)
    if one.taken:
        return f"took {where}: {sentence(one.reason)}"
    if one.reason == "bad_rule":
        return f"{where}: a line of it is no glob; its other lines hold"
    # A sentence says itself what became of the file.
    return f"{where}: {sentence(one.reason)}" if " " in one.reason.strip() else f"left out {where}: {flat(one.reason)}"


def print_roots(roots: list[RootInfo]) -> None:
    """Print the folders that a vault follows, a line each."""
    from septet.files.report import counted

    for root in roots:
        when = "not yet synced as a whole"
        if root.synced_at is not None:
            when = time.strftime("synced %Y-%m-%d %H:%M", time.localtime(root.synced_at))
        said = f"chunks of {counted(root.files, 'file')}: {flat(root.name)}, {flat(root.path)}, {when}"
        print(f"  {'folder':10} {root.chunks:>10,}  {said}")
        if root.problem:
            print(f"  {'':21}  problem: {sentence(root.problem)}")


def _opened(file: Path | None, root: str | None, dry_run: bool, embedding: dict[str, Any]) -> Any:
    """Open the vault to sync: without a folder one that is there; for a dry run none is made."""
    if root is None:
        return existing(file, read_only=dry_run, **embedding)
    if not dry_run:
        return writable(file, **embedding)
    from septet.vault import Vault

    return existing(file) if (file or default_vault()).exists() else Vault(":memory:")


def _globs(given: _Globs) -> _Globs:
    """Return the globs that are given: None where the option is not, and none at all for an empty one alone."""
    return [] if given == [""] else given or None


def _chunking(opened: Vault, root: str | None, given: dict[str, Any]) -> Chunking | None:
    """Return how to cut texts: what is given, and the rest as it was for this folder."""
    if not given:
        return None
    from septet.files.chunking import Chunking
    from septet.files.roots import root_at

    path = None if root is None else root_at(root).path
    known = [one.options for one in opened.roots() if path == root_at(one.path).path]
    before: dict[str, Any] = known[0].get("chunking", {}) if known else {}
    return Chunking(**{**before, **given})


def _embedded(opened: Vault) -> EmbedReport:

    with embedding_stoppable(opened), progress("embedding") as step:
        return opened.embed(progress=step)


def _stored(opened: Vault) -> str:
    from septet.files.report import counted

    roots = opened.roots()
    files, chunks = sum(one.files for one in roots), sum(one.chunks for one in roots)
    return f"{counted(files, 'file')} in {counted(chunks, 'chunk')} stored; sync again to go on"


def _say_left_out(report: SyncReport) -> None:
    for line in left_out(report.skipped, SHOWN):
        say(line)
    for said in report.problems:
        say(f"problem: {said}")
    for rule, number in sorted(report.redacted.items()):
        say(f"masked {number:,} of {rule}")
    if files := report.redacted_in:
        more = f" and {len(files) - SHOWN_MASKED:,} more" if len(files) > SHOWN_MASKED else ""
        say(f"masked in {', '.join(files[:SHOWN_MASKED])}{more}; --redact no leaves texts as they are")
