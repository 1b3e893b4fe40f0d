"""A progress bar on standard error, for whoever looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from septet.cli.screen import has_colors, is_dumb
from septet.cli.terminal import unguarded

__all__ = ["progress"]

#: A bar changes so often in a second; reports may come for each of a million entries, and are left out in between.
CHANGES = 10
BAR_CELLS = 40


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a progress bar on standard error if it is a terminal that can; otherwise yield None.

    What is yielded takes the number of things done, and that of all, None while it is not known.
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
    # Beside the others in a narrow terminal there is no room for it.
    wide = console.width >= 2 * BAR_CELLS
    bar = (BarColumn(BAR_CELLS),) if wide else ()
    with Progress(columns[0], *bar, *columns[1:], console=console, transient=True, refresh_per_second=CHANGES) as shown:
        task, next_at = shown.add_task(label, total=None), 0.0

        def step(done: int, total: int | None) -> None:
            nonlocal next_at
            now = time.monotonic()
            if now >= next_at or done == total:
                next_at = now + 1 / CHANGES
                shown.update(task, completed=done, total=total)

        yield step
