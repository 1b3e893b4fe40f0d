"""Every `unsafe` of the crate is listed with what it rests on."""

import re
from collections import Counter

from sources import ROOT, RUST, text_of


def unsafe_words():
    """Count the word by file and function; the text behind // is no code."""
    found = Counter()
    for path in RUST:
        function = ""
        for line in text_of(path).splitlines():
            code = line.split("//")[0]
            if named := re.search(r"\bfn (\w+)", code):
                function = named[1]
            if count := len(re.findall(r"\bunsafe\b", code)):
                found[path.relative_to(ROOT / "rust").as_posix(), function] += count
    return found


def test_every_unsafe_block_is_listed_with_what_it_rests_on():
    listed = {}
    for line in text_of(ROOT / "rust" / "UNSAFE.md").splitlines():
        if line.startswith("| `"):
            file, function, count, *reasons = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(reasons) == 3 and all(reasons), line
            listed[file.strip("`"), function.strip("`")] = int(count)
    assert listed == unsafe_words()
