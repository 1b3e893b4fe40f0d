"""The house rules, read from the syntax trees: files stay small, names are documented, `__all__` is for users."""

import ast
import importlib
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import septet
from sources import (
    BACKENDS,
    FUNCTION,
    PACKAGE,
    ROOT,
    RUST,
    SOURCES,
    STUB,
    assert_none,
    faults,
    files,
    line_of,
    module_of,
    nodes_of,
    part_of,
    text_of,
    tree_of,
)

MAX_LINES = 400
#: The border is one page, however much crosses it.
MAX_STUB_LINES = 1_290
MAX_FUNCTION_LINES = 60
MAX_ARCHITECTURE_LINES = 150

#: Machine paths and brands of someone's computer have no place in what is shipped.
FORBIDDEN = re.compile(r"/(?:work|home|root|Users)/\w|[A-Z]:\\Users|PRIVATE KEY|\b(?:TODO|FIXME|XXX)\b")
SQL = re.compile(
    r"\b(SELECT|INSERT( OR REPLACE)? INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA|BEGIN|COMMIT|ROLLBACK|(LEFT )?JOIN|WHERE|"
    r"ORDER BY|GROUP BY|CREATE|INDEXED BY)\b"
)
#: The embedding cache is a database of its own, with a schema of its own: its SQL stands as constants beside it.
OWN_SQL = PACKAGE / "embedding" / "cache.py"
TESTS = files(ROOT / "tests", "*.py")
BENCHES = files(ROOT / "benches", "*.py")
WEBSITE = files(ROOT / "website", "*.py")
#: Packages that load their public names when these are first asked for.
LATE = ("septet", *(f"septet.{name}" for name in "embedding exchange files retrieval watch".split()))


def typing_only(tree):
    """Every node under ``if TYPE_CHECKING:``."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


def public_definitions(body, inside=""):
    for node in body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_"):
            yield node, inside + node.name
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{node.name}.")


def is_overload(node):
    return any(getattr(d, "id", getattr(d, "attr", "")) in ("overload", "override") for d in node.decorator_list)


def test_no_file_is_long():
    def long(path):
        length, most = len(text_of(path).splitlines()), MAX_STUB_LINES if path == STUB else MAX_LINES
        return [(most + 1, f"{length} lines, at most {most}")] if length > most else []

    assert_none(faults(long, [*SOURCES, *RUST, STUB, *TESTS, *BENCHES, *WEBSITE]))


def functions_of(node):
    """Yield every function below a node, without a look at expressions, which hold none."""
    for statement in ast.iter_child_nodes(node):
        if isinstance(statement, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            if isinstance(statement, FUNCTION):
                yield statement
            yield from functions_of(statement)


def test_no_function_is_long():
    def long(path):
        for node in functions_of(tree_of(path)):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.lineno
            if node.end_lineno - start >= MAX_FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {node.end_lineno - start + 1} lines"

    assert_none(faults(long, [*SOURCES, *TESTS, *WEBSITE]))


#: The classes of sessions.
SESSIONS = ("LateSession", "LocalSession", "PostgresSession", "RemoteSession")


@cache
def documented_by_protocols():
    """Return the names of the functions that a protocol documents, by table, and by class of sessions."""
    store = PACKAGE / "store"
    methods = {
        node.name: {function.name for function in functions_of(node)}
        for name in ("table_protocols", "vector_protocols")
        for node in tree_of(store / f"{name}.py").body
        if isinstance(node, ast.ClassDef)
    }
    (tables,) = (n for n in tree_of(store / "protocol.py").body if getattr(n, "name", "") == "Tables")
    fields = (node for node in tables.body if isinstance(node, ast.AnnAssign))
    documented = {field.target.id: methods[field.annotation.attr] for field in fields}
    protocols = tree_of(PACKAGE / "tiers" / "protocol.py").body
    sessions = [node for node in protocols if getattr(node, "name", "") in ("Session", "ServedSession")]
    of_sessions = {function.name for node in sessions for function in functions_of(node)}
    return {**documented, **dict.fromkeys(SESSIONS, of_sessions)}


def test_every_public_name_is_documented():
    def bare(path):
        tree = tree_of(path)
        if not ast.get_docstring(tree):
            yield 1, "the module has no docstring"
        is_table = part_of(module_of(path)).endswith(".tables") if path != STUB else False
        of_protocol = documented_by_protocols().get(path.stem, ()) if is_table else ()
        for node, name in public_definitions(tree.body):
            holder, _, method = name.rpartition(".")
            is_documented = name in of_protocol or method in documented_by_protocols().get(holder, ())
            if not ast.get_docstring(node) and not is_overload(node) and not is_documented:
                yield node.lineno, f"{name} has no docstring"

    assert_none(faults(bare, [*SOURCES, STUB]))


def typed_only(tree):
    """The imports for type checkers alone: names that the package itself brings when they are first asked for."""
    blocks = [n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    return [node for block in blocks for node in block.body]


def aliases_of(path):
    """Every name that a file imports from a module: (module, alias) in order."""
    return [(n.module, alias) for n in nodes_of(path) if isinstance(n, ast.ImportFrom) for alias in n.names]


def files_of_late_names():
    return {Path(importlib.import_module(module).__file__): importlib.import_module(module) for module in LATE}


def test_type_checkers_see_the_names_that_are_loaded_late():
    packages = files_of_late_names()

    def unlike(path):
        loaded = packages[path]
        seen = {(home, a.name) for home, a in aliases_of(path) if a.asname == a.name and home != "septet"}
        homes = {f"{loaded.__name__}.{home}": names.split() for home, names in loaded._NAMES.items()}
        table = {(home, name) for home, names in homes.items() for name in names}
        for home, name in sorted(seen ^ table):
            yield line_of(path, name), f"{home}.{name} is in one of imports and _NAMES alone"
        for name in sorted({name for _, name in seen} - set(loaded.__all__)):
            yield line_of(path, name), f"{name} is not in __all__"
        yield from ((line_of(path, "__all__"), f"{n} stands twice in __all__") for n in doubled(loaded.__all__))

    assert_none(faults(unlike, packages))


def doubled(names):
    return [name for name, count in Counter(names).items() if count > 1]


def test_submodules_that_are_attributes_are_the_same_for_type_checkers():
    def unlike(path):
        imported = {alias.name for home, alias in aliases_of(path) if home == "septet"}
        for name in sorted(imported ^ septet._MODULES):
            yield line_of(path, name), f"{name} is in one of imports and _MODULES alone"

    assert_none(faults(unlike, [PACKAGE / "__init__.py"]))


def is_public(path):
    """Return True for packages, and for the modules that users import by name."""
    return path.name in ("__init__.py", "errors.py", "notes.py", "types.py") or path.parent.name == "adapters"


def lies_of_all(path):
    """Yield the faults of ``__all__`` of a module."""
    tree = tree_of(path)
    listed = [
        (node.lineno, ast.literal_eval(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]
    ]
    if not listed:
        return
    line, names = listed[0]
    if not is_public(path):
        yield line, "__all__ in a module that users do not import"
    defined = set()
    for node in [*tree.body, *typed_only(tree)]:
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {t.id for t in targets if isinstance(t, ast.Name)}
    if "__getattr__" in defined:
        # Named for type checkers, loaded when asked for; the next test asks.
        defined |= {a.name for n in typing_only(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    yield from ((line, f"{name} stands twice in __all__") for name in doubled(names))
    yield from ((line, f"{name} is not defined") for name in sorted(set(names) - defined))


def test_all_tells_the_truth():
    assert_none(faults(lies_of_all, SOURCES))


def test_names_that_are_loaded_late_are_there():
    packages = files_of_late_names()

    def lacking(path):
        loaded = packages[path]
        for name in loaded.__all__:
            if not hasattr(loaded, name):
                yield line_of(path, name), f"{name} does not load"
            if name not in dir(loaded):
                yield line_of(path, name), f"{name} is not in dir()"

    assert_none(faults(lacking, packages))
    for loaded in packages.values():
        with pytest.raises(AttributeError, match="no_such_name"):
            loaded.no_such_name  # noqa: B018


def test_nothing_of_the_machine_it_was_written_on_is_left():
    def foreign(path):
        return [(text_of(path).count("\n", 0, m.start()) + 1, m[0]) for m in FORBIDDEN.finditer(text_of(path))]

    assert_none(faults(foreign, [*SOURCES, *RUST, STUB, PACKAGE / "sqlite" / "store" / "schema.sql"]))


@cache
def texts_of(path):
    """Return every string of a module that is no docstring, with the statement of the module that it stands in."""
    return tuple(_texts(tree_of(path)))


def _texts(tree):
    for outer in tree.body:
        nodes = [*ast.walk(outer)]
        bare = {n.value for n in nodes if isinstance(n, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in bare:
                yield node, outer


def test_sql_is_in_stores_and_tables_only():
    def sql(path):
        for node, outer in texts_of(path):
            if SQL.search(node.value) and not (path == OWN_SQL and isinstance(outer, ast.Assign)):
                yield node.lineno, f"SQL outside of a store: {node.value}"

    assert_none(faults(sql, [path for path in SOURCES if not part_of(module_of(path)).endswith((".store", ".tables"))]))


def test_what_leaves_memories_out_is_written_once_a_store():
    def conditions(path):
        for node, _ in texts_of(path):
            if re.search(r"kind\s*(<>|!=)\s*'memory'", node.value):
                yield node.lineno, "leaves memories out"

    places = faults(conditions, SOURCES)
    homes = [f"python/septet/{backend}/tables/fragments.py" for backend in BACKENDS]
    assert [path.split(":")[0] for path in places] == homes, "\n".join(places)


def test_ranking_numbers_live_in_profiles_only():
    # Documented constants of the model: defaults of a node, the half in the adaptive formula, units, "nothing",
    # FTS5's k1, b and least IDF.
    allowed = (0.0, 0.5, 1.0, 60.0, 1e3, 10.0, 0.01, 86_400.0, 1.2, 0.75, 1e-6)

    def numbers(path):
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in allowed:
                yield node.lineno, f"the number {node.value} outside of profiles"

    # Defaults of a profile's fields stand where the fields are declared.
    ranked = re.compile(r"(ranking|query|search|tiers|\w+\.(store|tables|snapshot|tier))")
    scored = [
        p for p in SOURCES if ranked.fullmatch(part_of(module_of(p))) and p.name not in ("profile.py", "fusion.py")
    ]
    assert_none(faults(numbers, scored))


def test_the_architecture_has_at_most_300_lines():
    assert len(text_of(ROOT / "ARCHITECTURE.md").splitlines()) <= MAX_ARCHITECTURE_LINES
