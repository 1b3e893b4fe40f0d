"""Chunkers as they are described, one unit or one character at a time, and slow."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

#: What characters cost that cost more than their UTF-16 units: by cost, ranges of code points.
DENSE = {
    4: ["B7", "3000-319F", "4E00-9FA5", "AC00-D7AF", "FF01-FF60"],
    8: ["2C7", "2C9-2CB", "2D9", "2EA-2EB", "305", "323", "FE10-FE4F", "FF61-FFDC", "FFE0-FFE6"],
    12: [
        *("1100-11FF", "2E80-2FFF", "31A0-4DFF", "9FA6-9FFF", "A000-A4FF", "A700-A707", "A960-A97F", "D7B0-D7FF"),
        *("F900-FAFF", "1D360-1D371"),
    ],
    16: ["16FE0-16FFF", "1AFF0-1AFFF", "1B000-1B16F", "1F200-1F2FF", "20000-2FA1F", "30000-3347F"],
}
COSTS = {
    code: cost
    for cost, ranges in DENSE.items()
    for ends in (text.split("-") for text in ranges)
    for code in range(int(ends[0], 16), int(ends[-1], 16) + 1)
}
#: What the documented system takes for blanks: `\s` of JavaScript.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
HEADING = re.compile(rf"#{{1,6}}(?:[{BLANKS}]|\Z)")


class Line(NamedTuple):
    text: str
    number: int


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cost(text: str) -> int:
    return sum(COSTS.get(ord(c), 2 if c > "\uffff" else 1) for c in text)


def chunks(text: str, tokens: int, overlap: int, variant: str) -> list[tuple[str, int, int, str]]:
    """Return text, first line, last line and SHA-256 of each chunk."""
    most, repeated = max(32, 4 * tokens), 4 * overlap
    measure = units if variant == "literal" else cost
    pieces_of = blind_pieces if variant == "literal" else pieces
    found: list[list[Line]] = []
    held: list[Line] = []
    fresh = False
    for number, line in enumerate(text.split("\n"), 1):
        if variant == "entries" and number > 1 and (line.startswith("- ") or HEADING.match(line)):
            found.append(held)
            held = []
        for piece in pieces_of(line, most):
            size = measure(piece) + 1
            if held and sum(measure(one.text) + 1 for one in held) + size > most:
                found.append(held)
                if variant == "literal":
                    held = at_least(held, repeated)
                else:
                    held = at_most(held, min(repeated, max(0, most - size)))
            held = [*held, Line(piece, number)]
            fresh = True
    assert fresh
    made = []
    for lines in [*found, held]:
        joined = (
            "\n".join(line.text for line in lines).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        )
        made.append((joined, lines[0].number, lines[-1].number, hashlib.sha256(joined.encode()).hexdigest()))
    return made


def blind_pieces(line: str, most: int) -> list[str]:
    data = line.encode("utf-16-le")
    cut = [data[at : at + 2 * most] for at in range(0, len(data), 2 * most)] or [b""]
    return [piece.decode("utf-16-le", "surrogatepass") for piece in cut]


def pieces(line: str, most: int) -> list[str]:
    found = []
    rest = line
    while rest:
        coarse = ""
        for c in rest:
            if units(coarse) + units(c) > most:
                break
            coarse += c
        rest = rest[len(coarse) :]
        piece = ""
        for c in coarse:
            if cost(piece) + cost(c) > most:
                found.append(piece)
                piece = ""
            piece += c
        found.append(piece)
    return found or [""]


def at_least(held: list[Line], repeated: int) -> list[Line]:
    kept: list[Line] = []
    while len(kept) < len(held) and sum(units(line.text) + 1 for line in kept) < repeated:
        kept = held[len(held) - len(kept) - 1 :]
    return kept


def at_most(held: list[Line], window: int) -> list[Line]:
    kept: list[Line] = []
    for line in reversed(held):
        room = window - sum(cost(one.text) + 1 for one in kept)
        if room <= 0:
            break
        if cost(line.text) + 1 > room:
            tail = ""
            for c in reversed(line.text):
                if cost(c + tail) > room - 1:
                    break
                tail = c + tail
            return [Line(tail, line.number)] if tail and not kept else kept
        kept = [line, *kept]
    return kept
