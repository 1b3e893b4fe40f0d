"""Charts of the quality of ranking, from what `make eval` found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .curves import Line, Plot, curves
from .rows import Change, changes

__all__ = ["QUALITY"]

Found = Mapping[str, Any]
#: What is left out, as a reader calls it.
NAMES = {
    "vectors": "vectors: words alone",
    "words": "words: vectors alone",
    "smoothing": "smoothing between neighbours",
    "balance": "balance of words and vectors",
    "BM25": "BM25",
    "trigrams": "letter triples",
    "titles": "titles",
    "word feedback": "feedback of words",
}
MODES = {"hybrid": "Words and vectors, without", "text": "Words alone, without"}


def origin(found: Found) -> str:
    return f"{found['date']} · septet {found['version']} · benches/EVAL.json"


def asked(found: Found) -> str:
    collection = found["collection"]
    return f"{collection['name']}: {collection['documents']:,} abstracts, {collection['queries']} questions"


def ablation(found: Found) -> str:
    sections = []
    for mode, ablation in found["ablation"].items():
        parts = sorted(ablation["without"], key=lambda part: part["change"])
        rows = [Change(NAMES[part["name"]], part["change"], part["low"], part["high"]) for part in parts]
        sections.append((MODES[mode], ablation["whole"], rows))
    notes = (
        "Dot: the change of the mean; line: its 95 % interval over the questions. Filled: the interval leaves out 0.",
        "All facts about the entries are equal here, so severity, age, tags, domain and links cannot be measured.",
    )
    about = f"{found['measure']} with one part of the ranking off · {asked(found)}"
    return changes("What each part of the ranking gives", about, sections, notes, origin(found))


def late_vectors(found: Found) -> str:
    points = [(float(share), float(value)) for share, value in found["late_vectors"]]
    words = points[0][1]
    lines = [
        Line("septet", points, "one"),
        Line("words alone", [(0, words), (1, words)], "seven", dashed=True),
    ]
    # From the hundredth below all values to the one above.
    low = math.floor(100 * min(value for _, value in points))
    high = math.ceil(100 * max(value for _, value in points))
    plot = Plot(
        "share of the entries that have a vector", found["measure"], within_x=(0, 1), percent=True,
        within_y=(low / 100, high / 100), marks_x=(0, 0.25, 0.5, 0.75, 1),
        marks_y=[mark / 100 for mark in range(low, high + 1)],
    )  # fmt: skip
    notes = ("Which entries have one is drawn by chance. The scale does not begin at 0.",)
    about = f"{found['measure']} while vectors arrive · {asked(found)}"
    return curves("A vault that is embedded in part", about, lines, plot, notes, origin(found))


#: Charts by the name of their file.
QUALITY: dict[str, Callable[[Found], str]] = {"ablation": ablation, "late-vectors": late_vectors}
