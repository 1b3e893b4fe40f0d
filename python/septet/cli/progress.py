"""A progress bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from septet.cli.screen import has_colors, is_dumb
from septet.cli.terminal import unguarded

#: Maximum updates per second: progress may be reported for each of a million entries.
CHANGES = 10
BAR_CELLS = 40


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a progress bar on standard error and yield a callback for it; None without a capable terminal.

    The callback takes the number of items done and the total, None if unknown.
    """
    if not sys.stderr.isatty() or is_dumb():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(
        file=unguarded(sys.stderr), color_system="auto" if has_colors(sys.stderr) else None, force_terminal=True
    )
    columns = (TextColumn("{task.description}", markup=False), MofNCompleteColumn(), TimeElapsedColumn())
    # A narrow terminal has no room for the bar.
    bar = (BarColumn(BAR_CELLS),) if console.width >= 2 * BAR_CELLS else ()
    with Progress(columns[0], *bar, *columns[1:], console=console, transient=True, refresh_per_second=CHANGES) as shown:
        task, next_at = shown.add_task(label, total=None), 0.0

        def step(done: int, total: int | None) -> None:
            nonlocal next_at
            now = time.monotonic()
            if now >= next_at or done == total:
                next_at = now + 1 / CHANGES
                shown.update(task, completed=done, total=total)

        yield step
