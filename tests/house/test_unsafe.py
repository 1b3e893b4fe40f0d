"""Every `unsafe` of the crates is listed with what it rests on."""

import re
from collections import Counter

from sources import ROOT, RUST, assert_none, line_of, place, text_of

PAGE = ROOT / "rust" / "UNSAFE.md"


def unsafe_words():
    """Count the word by file and function; the text behind // is no code."""
    counts = Counter()
    for path in RUST:
        function = ""
        for line in text_of(path).splitlines():
            code = line.split("//")[0]
            if head := re.search(r"\bfn (\w+)", code):
                function = head[1]
            if count := len(re.findall(r"\bunsafe\b", code)):
                counts[path.relative_to(ROOT / "rust").as_posix(), function] += count
    return counts


def test_every_unsafe_block_is_listed_with_what_it_rests_on():
    listed = {}
    faults = []
    for number, line in enumerate(text_of(PAGE).splitlines(), 1):
        if line.startswith("| `"):
            file, function, count, *reasons = [cell.strip() for cell in line.strip("|").split("|")]
            listed[file.strip("`"), function.strip("`")] = int(count)
            if len(reasons) != 3 or not all(reasons):
                faults.append(f"{place(PAGE, number)}: not three reasons: {line}")
    words = unsafe_words()
    for file, function in sorted(key for key in listed.keys() | words.keys() if listed.get(key) != words.get(key)):
        path = ROOT / "rust" / file
        where = place(path, line_of(path, f"fn {function}")) if path.exists() else place(PAGE, line_of(PAGE, file))
        counts = words[file, function], listed.get((file, function), 0)
        faults.append(f"{where}: unsafe stands {counts[0]} times in {function}, by UNSAFE.md {counts[1]} times")
    assert_none(faults)
