"""The floors of the package: imports point downward, at its top and in its larger parts, and form no circle."""

import ast
import graphlib
from functools import cache
from itertools import pairwise

from sources import (
    BACKENDS,
    PACKAGE,
    SOURCES,
    assert_none,
    faults,
    files,
    line_of,
    module_of,
    nodes_of,
    part_of,
    place,
    text_of,
)

#: From the ground up; a module may import from its own floor and from those before it, types included.
FLOORS = (
    {"errors", "notes", "inputs", "model", "system", "net", "watch", "_core"},
    {"ranking"},
    {"profiles"},
    {"query"},
    {"store", "sqlite", "sqlite.store", "sqlite.tables", "postgres", "postgres.store", "postgres.tables"},
    {"sqlite.snapshot"},
    {"listing"},
    {"embedding"},
    {"tiers", "sqlite.tier", "postgres.tier"},
    {"search"},
    {"files"},
    {"retrieval"},
    {"exchange", "vault", "postgres.vault", "federation", "index", "tfidf"},
    {"aio", "postgres.aio", "client", "evaluation"},
    {"__init__", "types"},
    {"service"},
    {"adapters", "mcp", "server"},
    {"cli", "__main__"},
)
#: The same inside ``embedding``, but strict: what stands on one floor knows nothing of its neighbours.
EMBEDDING_FLOORS = (
    {"batching", "embedder", "report", "rows"},
    {"cache", "config", "handover", "pooling"},
    {"providers", "local", "function", "fallback"},
    {"choose", "pipeline"},
    {"chain"},
    {"automatic", "ahead", "batch", "options"},
    {"query"},
    {"embeddings"},
    {"attach", "__init__"},
)
#: Likewise inside ``retrieval``, from the left to the right.
RETRIEVAL_FLOORS = [
    {*floor.split()}
    for floor in (
        "corpus, fusion waves knowledge planning, corpora expansion, ordering recall, config rules, running account, "
        "retriever, making, __init__"
    ).split(",")
]
LADDERS = {"embedding": EMBEDDING_FLOORS, "retrieval": RETRIEVAL_FLOORS}
FLOOR_OF = {part: number for number, floor in enumerate(FLOORS) for part in floor}
MODULES = {module_of(path) for path in SOURCES} | {"septet._core"}


@cache
def imports_of(path):
    """Return the modules of the package that a file imports, with lines: for types alone and by ``import_module`` too.

    The tables of names that a package loads when they are first asked for name modules in parts, and are not seen.
    """
    return tuple(_imports(path))


def _imports(path):
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        else:
            continue
        known = [n for n in names if n in MODULES]
        # `from septet.a import b` means the module septet.a.b when there is one.
        yield from ((n, node.lineno) for n in known if not (n == names[-1] and len(known) > 1 and n != "septet._core"))


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def test_every_part_of_the_package_has_its_floor():
    def floorless(path):
        part = part_of(module_of(path))
        return [] if part in FLOOR_OF else [(1, f"{part} has no floor in FLOORS")]

    assert_none(faults(floorless, SOURCES))


def test_imports_point_downward():
    def upward(path):
        here = FLOOR_OF.get(part_of(module_of(path)), -1)
        for module, line in imports_of(path):
            if FLOOR_OF.get(part_of(module), len(FLOORS)) > here:
                yield line, f"imports {module} from a floor above"
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.level:
                yield node.lineno, "imports relatively"

    assert_none(faults(upward, SOURCES))


def test_backends_do_not_import_each_other():
    # Shared code belongs to `store`, `model` or `tiers`.
    def across(path):
        backend = module_of(path).split(".")[1]
        for module, line in imports_of(path):
            if module.split(".")[1] in {*BACKENDS} - {backend}:
                yield line, f"imports {module} of another backend"

    assert_none(faults(across, [path for backend in BACKENDS for path in files(PACKAGE / backend, "*.py")]))


def test_modules_that_are_imported_by_name_are_named_whole():
    # A name that is put together could point anywhere. Only packages that load their names late may do that, from
    # tables of their own, and the command that documents the standard library.
    def put_together(path):
        for node in nodes_of(path):
            by_name = isinstance(node, ast.Call) and called(node) == "import_module"
            if by_name and not (node.args and isinstance(node.args[0], ast.Constant)):
                yield node.lineno, "import_module with a name that is put together"

    assert_none(
        faults(put_together, [p for p in SOURCES if p.name not in ("__init__.py", "late.py", "stdlib_docs.py")])
    )


def test_the_rooms_of_a_house_form_a_ladder():
    def room_of(module):
        return module.split(".")[2] if module.count(".") > 1 else "__init__"

    def sideways(path):
        here, house = room_of(module_of(path)), part_of(module_of(path))
        floor_of = {room: number for number, floor in enumerate(LADDERS[house]) for room in floor}
        for module, line in imports_of(path):
            room = room_of(module)
            if (
                part_of(module) == house
                and room != here
                and floor_of.get(room, len(floor_of)) >= floor_of.get(here, -1)
            ):
                yield line, f"{here} imports {room}, which LADDERS has not below it"
        # The package loads its public names by their modules' names; another import by name would hide an arrow.
        if here != "__init__" and "import_module" in text_of(path):
            yield line_of(path, "import_module"), "import_module in a room"

    assert_none(faults(sideways, [path for house in LADDERS for path in files(PACKAGE / house, "*.py")]))


def test_the_extension_and_the_errors_stand_on_the_ground():
    grounded = {
        "errors": set(),
        "notes": set(),
        "model/fields": set(),
        "model/entry": {
            "septet.inputs.arguments",
            "septet.errors",
            "septet.model.codec",
            "septet.model.fields",
            "septet.model.notebook",
            "septet._core",
        },
        "model/codec": set(),
        "model/notebook": {"septet.errors"},
        "inputs/arguments": {"septet.errors"},
    }

    def floating(path):
        return [
            (line, f"imports {m}")
            for m, line in imports_of(path)
            if m not in grounded[path.relative_to(PACKAGE).with_suffix("").as_posix()]
        ]

    assert_none(faults(floating, [PACKAGE / f"{name}.py" for name in grounded]))


def test_imports_form_no_circle():
    arrows = {module_of(p): {m: place(p, line) for m, line in imports_of(p) if m != module_of(p)} for p in SOURCES}
    circle = []
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]
    assert_none(f"{arrows[a][b]}: {a} imports {b} in a circle" for a, b in pairwise(circle))
