"""Progress bars of long calls: tqdm or rich if installed, otherwise a line on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import IO, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from septet.inputs.arguments import called

#: Called with the number done and the total; the total is None if unknown.
Report: TypeAlias = "Callable[[int, Any], Any]"
#: A report function, or True for a bar.
Progress: TypeAlias = "bool | Report"

P = ParamSpec("P")
T = TypeVar("T")
#: Seconds between two updates of the line, on a terminal and elsewhere.
SOON_S, LATER_S = 0.1, 5.0


class Bar(Protocol):
    """An open progress bar."""

    def show(self, done: int, total: int | None) -> None:
        """Update the bar."""

    def close(self) -> None:
        """Finish the bar and end its line."""


def with_progress(unit: str, error: type[Exception]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that turns a method's ``progress`` argument into a report function.

    Args:
        unit: name of the counted things, such as ``files``.
        error: exception class for a value that is neither a function nor True, False or None.
    """

    def decorated(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def with_bar(*args: P.args, **options: P.kwargs) -> T:
            progress: Any = options.pop("progress", None)
            with shown_progress(progress, method.__name__.rstrip("_"), unit, error) as report:
                return method(*args, **options, progress=report)  # type: ignore[arg-type]

        return with_bar

    return decorated


@contextmanager
def shown_progress(progress: Progress | None, what: str, unit: str, error: type[Exception]) -> Iterator[Report | None]:
    """Yield the report function of a long call: the caller's, a bar for True, or None.

    Raises:
        error: ``progress`` is none of these.
    """
    if not isinstance(progress, bool):
        yield called(progress, "progress", error)
        return
    bar = _LazyBar(what, unit) if progress else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


def reporter(progress: Progress | None) -> Report | None:
    """Return the report function of a decorated method."""
    return None if isinstance(progress, bool) else progress


class _Quiet:
    """Standard error, ignoring write errors: after one, tqdm would hold its lock for ever."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._file = sys.stderr
        self.encoding = getattr(self._file, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            if self._file is not None:
                self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            if self._file is not None:
                self._file.flush()

    def isatty(self) -> bool:
        with suppress(OSError, ValueError):
            return self._file is not None and self._file.isatty()
        return False

    def fileno(self) -> int:
        if self._file is None:
            raise OSError("there is no standard error")
        return self._file.fileno()


class _LazyBar:
    """A report function that opens its bar at the first call."""

    def __init__(self, what: str, unit: str) -> None:
        self._what, self._unit = what, unit
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None:
            for kind in (_Tqdm, _Rich, _Line):
                # Fails in notebooks without extra packages, and for a second rich bar at a time.
                with suppress(Exception):
                    self._bar = kind(self._what, self._unit)
                    break
        if self._bar is not None:
            self._bar.show(done, total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Tqdm:
    def __init__(self, what: str, unit: str) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

        self._bar = tqdm(desc=what, unit=f" {unit}", total=0, file=_Quiet())

    def show(self, done: int, total: int | None) -> None:
        if self._bar.total != total:
            self._bar.total = total
            self._bar.refresh()
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Rich:
    def __init__(self, what: str, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(file=cast("IO[str]", _Quiet())))
        self._bar.start()
        self._task = self._bar.add_task(what, total=None)

    def show(self, done: int, total: int | None) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        self._bar.stop()


class _Line:
    """A line that is overwritten on a terminal and repeated every few seconds elsewhere."""

    def __init__(self, what: str, unit: str) -> None:
        self._what, self._unit = what, unit
        self._text, self._written, self._at = "", "", -LATER_S
        self._file = _Quiet()
        self._terminal = self._file.isatty()

    def show(self, done: int, total: int | None) -> None:
        of = "" if total is None else f" of {total:,}"
        self._text = f"{self._what}: {done:,}{of} {self._unit}"
        if time.monotonic() - self._at >= (SOON_S if self._terminal else LATER_S):
            self._write("" if self._terminal else "\n")

    def close(self) -> None:
        if self._terminal or self._text != self._written:
            self._write("\n")

    def _write(self, end: str) -> None:
        # Pad with spaces: the previous text may be longer.
        start = f"\r{self._text:<{len(self._written)}}" if self._terminal else self._text
        self._file.write(start + end)
        self._file.flush()
        self._written, self._at = self._text, time.monotonic()
