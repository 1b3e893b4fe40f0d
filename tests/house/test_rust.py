"""Modules of the Rust core: none knows Python, and their imports form no circle."""

import graphlib
import re
from itertools import pairwise

from sources import ROOT, assert_none, faults, files, place, text_of

CORE = ROOT / "rust" / "core"
MODULES = files(CORE / "src", "*.rs")
#: A path from the root of the crate, or several in braces.
PATH = re.compile(r"\bcrate::(\w+|\{[^;]*?\})")
COMMENT = re.compile(r"//.*")


def module_of(path):
    """Return the module at the top of the core that a file is in."""
    return path.relative_to(CORE / "src").parts[0].removesuffix(".rs")


def test_imports_of_modules_form_no_circle():
    arrows = {module_of(path): {} for path in MODULES}
    for path in MODULES:
        module, code = module_of(path), COMMENT.sub("", text_of(path))
        for match in PATH.finditer(code):
            for name in re.findall(r"\w+", match[1]):
                if name in arrows and name not in (module, *arrows[module]):
                    arrows[module][name] = place(path, code.count("\n", 0, match.start()) + 1)
    assert arrows["search"].keys() > {"fts", "vectors"}
    circle = []
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]
    assert_none(f"{arrows[a][b]}: {a} imports {b} in a circle" for a, b in pairwise(circle))


def test_the_core_does_not_know_python():
    def named(path):
        for number, line in enumerate(COMMENT.sub("", text_of(path)).splitlines(), 1):
            if re.search(r"\b(pyo3|numpy|Py[A-Z]\w+)\b", line):
                yield number, line.strip()

    assert_none(faults(named, [CORE / "Cargo.toml", *files(CORE, "*.rs")]))
