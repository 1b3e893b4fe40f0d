"""Bytes that nobody meant: real ones, changed by chance, and a child process that reads them within bounds."""

from __future__ import annotations

import faulthandler
import os
import random
import re
import resource
import signal
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from septet import SeptetError
from wrong_answers import wrong_body

__all__ = ["Target", "batch", "changed_json", "mutated"]

#: What one input may take of the processor: a guard against loops without an end, far above what any takes.
MOST_S = 20
#: What reading may take beside what the process has when it begins.
MOST_BYTES = 1 << 30
#: No input grows beyond.
MOST_INPUT = 1 << 20
#: Pieces that all formats know, or none.
ODD = [
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc3", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xff\xfe"),
    *("\u2028", "\u202e", "\u0130", "\ufffd", "\U0001f468\u200d\U0001f469", "\u0301", "ß", "\u0660"),
    *("\r", "\r\n", "\n", "\t", "\v", "\f", "\x1b[31m", "\x85", " ", "\u00a0", "\u3000"),
    *('"', "'", "\\", "\\ud800", "\\u0000", "{", "}", "[", "]", "(", ")", "<", ">", ",", ":", ";", "#", "*", "-", "/"),
    *("null", "true", "NaN", "Infinity", "-Infinity", "1e999", "-0", "{}", "[]", '""', "..", "~", "%00", "%", "&#0;"),
]
NUMBERS = [0, 1, -1, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Target(NamedTuple):
    """What reads foreign bytes.

    Attributes:
        name: of it.
        seeds: real inputs, small ones.
        dictionary: words that mean something in the format.
        read: reads bytes, with a folder of its own and a source of chance; returns nothing.
        refusals: the errors that are documented, besides those of Septet.
        wrong: makes an input of a seed in a way of its own, beside those of `mutated`; None for none.
        few: how many inputs are read where no time is given.
    """

    name: str
    seeds: Sequence[bytes]
    dictionary: Sequence[str]
    read: Callable[[bytes, Path, random.Random], None]
    refusals: tuple[type[Exception], ...] = ()
    wrong: Callable[[bytes, random.Random], bytes] | None = None
    few: int = 100


def mutated(seeds: Sequence[bytes], dictionary: Sequence[str], chance: random.Random) -> bytes:
    """Return one of the seeds after one to six changes."""
    made = chance.choice(seeds)
    for _ in range(chance.choice([1, 1, 1, 2, 2, 3, 6])):
        made = chance.choice(CHANGES)(made, seeds, dictionary, chance)[:MOST_INPUT]
    return made


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    """Return where a piece begins and ends: mostly a short one."""
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice([1, 2, 4, 8, 30, 200, len(data)]))


def _flip(data: bytes, seeds: Any, words: Any, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8]) if made else 0):
        at = chance.randrange(len(made))
        made[at] = made[at] ^ 1 << chance.randrange(8) if chance.random() < 0.5 else chance.randrange(256)
    return bytes(made)


def _cut(data: bytes, seeds: Any, words: Any, chance: random.Random) -> bytes:
    start, stop = _span(data, chance)
    return data[:start] if chance.random() < 0.3 else data[:start] + data[stop:]


def _twice(data: bytes, seeds: Any, words: Any, chance: random.Random) -> bytes:
    """Put a piece at another place too."""
    (start, stop), at = _span(data, chance), chance.randrange(len(data) + 1)
    return data[:at] + data[start:stop] + data[at:]


def _many(data: bytes, seeds: Any, words: Sequence[str], chance: random.Random) -> bytes:
    """Repeat a piece, or a word, very often."""
    start, stop = _span(data, chance)
    piece = chance.choice(words).encode() if chance.random() < 0.5 and words else data[start:stop]
    times = min(chance.choice([10, 300, 3_000, 60_000]), MOST_INPUT // 2 // max(len(piece), 1) + 1)
    return data[:start] + piece * times + data[start if chance.random() < 0.5 else stop :]


def _splice(data: bytes, seeds: Sequence[bytes], words: Any, chance: random.Random) -> bytes:
    other = chance.choice(seeds)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _word(data: bytes, seeds: Any, words: Sequence[str], chance: random.Random) -> bytes:
    """Put a word in, before a piece or in its place."""
    piece = chance.choice([*words, *words, *ODD])
    start, stop = _span(data, chance)
    rest = start if chance.random() < 0.6 else stop
    return data[:start] + (piece if isinstance(piece, bytes) else piece.encode()) + data[rest:]


def _number(data: bytes, seeds: Any, words: Any, chance: random.Random) -> bytes:
    """Change a number that is written in digits, or one of a header."""
    found = list(_NUMBER.finditer(data[:50_000]))
    value = chance.choice(NUMBERS)
    if found and chance.random() < 0.8:
        one = chance.choice(found)
        said = str(value) if chance.random() < 0.8 else chance.choice(["1e308", "0.1", "9" * 5_000, "-1e-320", "0x1"])
        return data[: one.start()] + said.encode() + data[one.end() :]
    size, at = chance.choice([1, 2, 4, 8]), chance.randrange(len(data) + 1)
    return data[:at] + (value % (1 << 8 * size)).to_bytes(size, chance.choice(["little", "big"])) + data[at + size :]


def _swap(data: bytes, seeds: Any, words: Any, chance: random.Random) -> bytes:
    """Change the order of lines."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data[::-1] if chance.random() < 0.1 else data
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


CHANGES = [_flip, _cut, _twice, _many, _splice, _word, _word, _number, _swap]


def changed_json(data: bytes, chance: random.Random) -> bytes:
    """Return JSON with other values in it, or lines of JSON of which one has them."""
    lines = [data] if chance.random() < 0.5 else data.split(b"\n")
    at = chance.randrange(len(lines))
    if lines[at][:1] not in (b"{", b"["):
        return mutated([data], [], chance)
    try:
        lines[at].decode()
    except UnicodeDecodeError:
        return mutated([data], [], chance)
    lines[at] = wrong_body(lines[at], chance, "a word")[2]
    return b"\n".join(lines)


def input_of(target: Target, seed: str) -> tuple[bytes, random.Random]:
    """Return the input with a seed, and the chance that reading it goes on with."""
    chance = random.Random(f"{target.name} {seed}")
    if target.wrong is not None and chance.random() < 0.5:
        return target.wrong(chance.choice(target.seeds), chance), chance
    return mutated(target.seeds, target.dictionary, chance), chance


def batch(target: Target, seed: int, count: int, folder: Path) -> list[str]:
    """Read so many inputs in a forked child, and return its faults: errors that are none of Septet, or its death."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.close(read_end)
        code = 1
        try:
            _play(target, seed, count, folder, write_end)
            code = 0
        except BaseException:  # noqa: BLE001 - the parent shall fail, whatever it is
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as told:
        said = told.read().decode().split("\0")
    _, status = os.waitpid(child, 0)
    faults = [one[1:] for one in said if one.startswith("!")]
    if status:
        last = [one for one in said if one and not one.startswith("!")][-1:]
        faults.append(f"{target.name} {''.join(last)}: the process ended with {os.waitstatus_to_exitcode(status)}")
    return faults


def _play(target: Target, seed: int, count: int, folder: Path, told: int) -> None:
    # What is allocated beyond is a MemoryError, or the end of the process: both are faults.
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MOST_BYTES, resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # Native code does not let Python's handlers run; what hangs is shown where it does, and ended.
    faulthandler.register(signal.SIGPROF, chain=True)
    for number in range(count):
        name = f"{seed} {number}"
        os.write(told, f"{name}\0".encode())
        data, chance = input_of(target, name)
        signal.setitimer(signal.ITIMER_PROF, MOST_S)
        try:
            target.read(data, folder, chance)
        except (SeptetError, *target.refusals):
            pass
        except BaseException as fault:  # noqa: BLE001 - what is looked for
            last = traceback.extract_tb(fault.__traceback__)[-1]
            what = f"{type(fault).__name__}: {str(fault)[:200]!a} at {last.filename[-50:]}:{last.lineno}"
            os.write(told, f"!{target.name} {name}: {what}\n    of {data[:300]!r}\0".encode()[:4_000])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
