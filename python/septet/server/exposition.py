"""Exposition: counters, gauges and histograms in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: Upper bounds in seconds, from 0.1 ms to the longest deadline.
BOUNDS = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Counter:
    """A monotonic counter, one value per label set."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *values: str, by: float = 1.0) -> None:
        """Increment the value of a label set."""
        self._values[values] = self._values.get(values, 0.0) + by

    def lines(self) -> Iterator[str]:
        """Yield the lines of the metric."""
        yield from _head(self.name, self.help, "counter")
        for values, count in list(self._values.items()):
            yield f"{self.name}{_labels(zip(self.labels, values))} {_number(count)}"


class Histogram:
    """A histogram of seconds, one per label set."""

    def __init__(self, name: str, help: str, *labels: str, bounds: Sequence[float] = BOUNDS) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._bounds = tuple(bounds)
        self._seen: dict[tuple[str, ...], list[float]] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Count a duration."""
        row = self._seen.get(values)
        if row is None:
            row = self._seen[values] = [0.0] * (len(self._bounds) + 2)
        row[bisect_left(self._bounds, seconds)] += 1
        row[-1] += seconds

    def lines(self) -> Iterator[str]:
        """Yield the lines of the metric."""
        yield from _head(self.name, self.help, "histogram")
        for values, row in list(self._seen.items()):
            named, total = [*zip(self.labels, values)], 0.0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), row):
                total += count
                yield f"{self.name}_bucket{_labels([*named, ('le', bound)])} {_number(total)}"
            yield f"{self.name}_sum{_labels(named)} {_number(row[-1])}"
            yield f"{self.name}_count{_labels(named)} {_number(total)}"


def gauge(name: str, help: str, values: Mapping[tuple[tuple[str, str], ...], float]) -> Iterator[str]:
    """Yield the lines of a gauge, one value per label set."""
    yield from _head(name, help, "gauge")
    for labels, value in values.items():
        yield f"{name}{_labels(labels)} {_number(value)}"


def _head(name: str, help: str, kind: str) -> tuple[str, str]:
    escaped = help.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {escaped}", f"# TYPE {name} {kind}"


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    text = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
