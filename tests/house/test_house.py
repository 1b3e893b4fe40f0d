"""The house rules, read from the syntax trees: arrows point down, files stay small, names are documented."""

import ast
import graphlib
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import septet
from sources import PACKAGE, ROOT, RUST, SOURCES, STUB, faults, nodes_of, text_of, tree_of

MAX_LINES = 400
#: The border is one page, however much crosses it.
MAX_STUB_LINES = 1_200
MAX_FUNCTION_LINES = 60
MAX_ARCHITECTURE_LINES = 300

#: From the ground up; a module may import from its own floor and from those before it, types included.
FLOORS = (
    {
        *(
            "errors arguments checked fields drafts entry vector notes results matches trec prompt pages explanation "
            "flush spaces threads filesystem target times documents watch _core"
        ).split()
    },
    {"ranking"},
    {"profiles"},
    {"query"},
    {"storage"},
    {"snapshot"},
    {"listing"},
    {"embedding"},
    {"tiers"},
    {"search", "searchable", "similar"},
    {"files"},
    {"retrieval"},
    {"exchange", "vault", "stats", "federation", "index", "tfidf"},
    {"aio", "client", "evaluation", "external"},
    {"__init__"},
    {"service"},
    {"adapters", "mcp", "server"},
    {"cli", "__main__"},
)
#: The same inside ``embedding``, but strict: what stands on one floor knows nothing of its neighbours.
EMBEDDING_FLOORS = (
    {"batching", "embedder", "report", "rows"},
    {"cache", "config", "handover", "pooling", "transport"},
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
        "corpus __init__, answers, fusion waves knowledge planning, confident corpora expansion, ordering recall, "
        "judging config, rules, rounds planned, running account, building, retriever, making"
    ).split(",")
]
LADDERS = {"embedding": EMBEDDING_FLOORS, "retrieval": RETRIEVAL_FLOORS}
FLOOR_OF = {part: number for number, floor in enumerate(FLOORS) for part in floor}
#: Machine paths and brands of someone's computer have no place in what is shipped.
FORBIDDEN = re.compile(r"/(?:work|home|root|Users)/\w|[A-Z]:\\Users|PRIVATE KEY|\b(?:TODO|FIXME|XXX)\b")
SQL = re.compile(
    r"\b(SELECT|INSERT( OR REPLACE)? INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA|BEGIN|COMMIT|ROLLBACK|(LEFT )?JOIN|WHERE|"
    r"ORDER BY|GROUP BY|CREATE|INDEXED BY)\b"
)
#: The embedding cache is a database of its own, with a schema of its own: its SQL stands as constants beside it.
OWN_SQL = PACKAGE / "embedding" / "cache.py"
TESTS = sorted((ROOT / "tests").rglob("*.py"))
BENCHES = sorted((ROOT / "benches").rglob("*.[pr][ys]"))
WEBSITE = sorted((ROOT / "website").rglob("*.py"))


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module):
    return module.split(".")[1] if "." in module else "__init__"


def typing_only(tree):
    """Every node under ``if TYPE_CHECKING:``."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


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
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        else:
            continue
        known = [n for n in names if n in MODULES]
        # `from septet.a import b` means the module septet.a.b when there is one.
        yield from ((n, node.lineno) for n in known if not (n == names[-1] and len(known) > 1 and n != "septet._core"))


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def public_definitions(body, inside=""):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node, inside + node.name
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{node.name}.")


def is_overload(node):
    return any(getattr(d, "id", getattr(d, "attr", "")) in ("overload", "override") for d in node.decorator_list)


def test_every_part_of_the_package_has_its_floor():
    parts = {part_of(module_of(p)) for p in SOURCES}
    assert parts <= set(FLOOR_OF), f"give {sorted(parts - set(FLOOR_OF))} a floor in FLOORS"


def test_imports_point_downward():
    def upward(path):
        here = FLOOR_OF[part_of(module_of(path))]
        return [f"line {line}: {module}" for module, line in imports_of(path) if FLOOR_OF[part_of(module)] > here]

    assert faults(upward, SOURCES) == []


def test_modules_that_are_imported_by_name_are_named_whole():
    # A name that is put together could point anywhere. Only packages that load their names late may do that, from
    # tables of their own, and the command that documents the standard library.
    def put_together(path):
        calls = [n for n in nodes_of(path) if isinstance(n, ast.Call) and called(n) == "import_module"]
        return [f"line {call.lineno}" for call in calls if not isinstance(call.args[0], ast.Constant)]

    assert faults(put_together, [p for p in SOURCES if p.name not in ("__init__.py", "stdlib_docs.py")]) == []


@pytest.mark.parametrize("house", LADDERS)
def test_the_rooms_of_a_house_form_a_ladder(house):
    floor_of = {room: number for number, floor in enumerate(LADDERS[house]) for room in floor}

    def room_of(module):
        return module.split(".")[2] if module.count(".") > 1 else "__init__"

    def sideways(path):
        here = room_of(module_of(path))
        needed = {room_of(m) for m, _ in imports_of(path) if part_of(m) == house} - {here}
        yield from (room for room in sorted(needed) if floor_of[room] >= floor_of[here])
        # The package loads its public names by their modules' names; another import by name would hide an arrow.
        if here != "__init__" and "import_module" in text_of(path):
            yield "import_module"

    assert faults(sideways, sorted((PACKAGE / house).rglob("*.py"))) == []


def test_the_extension_and_the_errors_stand_on_the_ground():
    grounded = {
        "septet.errors": set(),
        "septet.fields": set(),
        "septet.notes": set(),
        "septet.entry": {"septet.arguments", "septet.errors", "septet.fields", "septet._core"},
        "septet.arguments": {"septet.errors"},
    }
    for module, allowed in grounded.items():
        path = PACKAGE / f"{module.split('.')[1]}.py"
        assert {m for m, _ in imports_of(path)} <= allowed


def test_imports_form_no_circle():
    graph = {module_of(p): {m for m, _ in imports_of(p)} for p in SOURCES}
    for module, needed in graph.items():
        needed.discard(module)
    graphlib.TopologicalSorter(graph).prepare()


def test_no_file_is_long():
    def long(path):
        lines = len(text_of(path).splitlines())
        return [f"{lines} lines"] if lines > (MAX_STUB_LINES if path == STUB else MAX_LINES) else []

    assert faults(long, [*SOURCES, *RUST, STUB, *TESTS, *BENCHES, *WEBSITE]) == []


def functions_of(node):
    """Yield every function below a node, without a look at expressions, which hold none."""
    for statement in ast.iter_child_nodes(node):
        if isinstance(statement, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield statement
            yield from functions_of(statement)


def test_no_function_is_long():
    def long(path):
        for node in functions_of(tree_of(path)):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.lineno
            if node.end_lineno - start >= MAX_FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name}, {node.end_lineno - start + 1} lines"

    assert faults(long, [*SOURCES, *TESTS, *WEBSITE]) == []


def test_every_public_name_is_documented():
    def bare(path):
        tree = tree_of(path)
        if not ast.get_docstring(tree):
            yield "the module"
        for node, name in public_definitions(tree.body):
            if not ast.get_docstring(node) and not is_overload(node):
                yield f"line {node.lineno}: {name}"

    assert faults(bare, [*SOURCES, STUB]) == []


def typed_only(tree):
    """What only type checkers import: names that the package itself brings when they are first asked for."""
    blocks = [n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    return [node for block in blocks for node in block.body]


@pytest.mark.parametrize("module", ["septet", "septet.embedding"])
def test_type_checkers_see_the_names_that_are_loaded_late(module):
    loaded = importlib.import_module(module)
    imports = [n for n in ast.walk(tree_of(Path(loaded.__file__))) if isinstance(n, ast.ImportFrom)]
    seen = {(n.module, a.name) for n in imports for a in n.names if a.asname == a.name and n.module != "septet"}
    table = {(f"{module}.{home}", name) for home, names in loaded._NAMES.items() for name in names.split()}
    assert seen == table
    assert sorted({name for _, name in seen} | set(loaded.__all__)) == sorted(loaded.__all__)


def test_submodules_that_are_attributes_are_the_same_for_type_checkers():
    imports = [n for n in ast.walk(tree_of(PACKAGE / "__init__.py")) if isinstance(n, ast.ImportFrom)]
    assert {a.name for n in imports if n.module == "septet" for a in n.names} == septet._MODULES


def lies_of_all(path):
    """Yield what is wrong with ``__all__`` of a module."""
    tree = tree_of(path)
    listed = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]
    ]
    defined = set()
    public = set()
    for node in [*tree.body, *typed_only(tree)]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
            public |= {node.name} - {n for n in (node.name,) if n.startswith("_")}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {t.id for t in targets if isinstance(t, ast.Name)}
    if "__getattr__" in defined:
        # Named for type checkers, loaded when asked for; the next test asks.
        defined |= {a.name for n in typing_only(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    if not public and not listed:
        return
    if not listed:
        yield "the module has public names and no __all__"
        return
    if len(listed[0]) != len(set(listed[0])):
        yield "a name stands twice in __all__"
    yield from (f"{name} is not defined" for name in sorted(set(listed[0]) - defined))


def test_all_tells_the_truth():
    assert faults(lies_of_all, SOURCES) == []


@pytest.mark.parametrize("module", ["septet", "septet.embedding"])
def test_names_that_are_loaded_late_are_there(module):
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []
    assert set(loaded.__all__) <= set(dir(loaded))
    with pytest.raises(AttributeError, match="no_such_name"):
        loaded.no_such_name  # noqa: B018


def test_rust_has_never_heard_of_python():
    def named(path):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            # The crate's root may switch the one folder on.
            allowed = line.lstrip().startswith("//") or (path.name == "lib.rs" and "feature" in line)
            if not allowed and re.search(r"\b(pyo3|numpy|Py[A-Z]\w+)\b", line):
                yield f"line {number}: {line.strip()}"

    assert faults(named, [p for p in RUST if p.relative_to(ROOT / "rust").parts[0] != "python"]) == []


def test_nothing_of_the_machine_it_was_written_on_is_left():
    paths = [*SOURCES, *RUST, STUB, PACKAGE / "storage" / "schema.sql"]
    assert faults(lambda path: [m[0] for m in FORBIDDEN.finditer(text_of(path))], paths) == []


@cache
def texts_of(path):
    """Return every string of a module that is no docstring, with the statement of the module that it stands in."""
    return tuple(_texts(tree_of(path)))


def _texts(tree):
    for outer in tree.body:
        bare = {n.value for n in ast.walk(outer) if isinstance(n, ast.Expr)}
        for node in ast.walk(outer):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in bare:
                yield node, outer


def test_all_sql_lives_in_storage():
    def sql(path):
        for node, outer in texts_of(path):
            if SQL.search(node.value) and not (path == OWN_SQL and isinstance(outer, ast.Assign)):
                yield f"line {node.lineno}: {node.value}"

    assert faults(sql, [path for path in SOURCES if part_of(module_of(path)) != "storage"]) == []


def test_what_leaves_memories_out_is_written_once_a_store():
    written = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in SOURCES
        for node, _ in texts_of(path)
        if re.search(r"kind\s*(<>|!=)\s*'memory'", node.value)
    ]
    assert [place.split(":")[0] for place in written] == [
        "storage/postgres/tables/fragments.py",
        "storage/tables/fragments.py",
    ]


def test_ranking_numbers_live_in_profiles_only():
    # Documented constants of the model: defaults of a node, the half in the adaptive formula, units, "nothing",
    # FTS5's k1, b and least IDF.
    allowed = (0.0, 0.5, 1.0, 60.0, 1e3, 10.0, 0.01, 86_400.0, 1.2, 0.75, 1e-6)

    def numbers(path):
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in allowed:
                yield f"line {node.lineno}: {node.value}"

    # Defaults of a profile's fields stand where the fields are declared.
    ranked = ("ranking", "query", "search", "tiers", "storage", "snapshot")
    scored = [p for p in SOURCES if part_of(module_of(p)) in ranked and p.name not in ("profile.py", "passes.py")]
    assert faults(numbers, scored) == []


def test_the_architecture_has_at_most_300_lines():
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= MAX_ARCHITECTURE_LINES
