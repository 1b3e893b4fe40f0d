"""The layers of the package: contracts of import-linter in `pyproject.toml`, and what it cannot see."""

import ast
import graphlib
from itertools import pairwise

import grimp
from importlinter import configuration
from importlinter.application.use_cases import lint_imports

from sources import BACKENDS, PACKAGE, ROOT, SOURCES, assert_none, faults, files, module_of, nodes_of, part_of

configuration.configure()
MODULES = {module_of(path) for path in SOURCES} | {"septet._core"}


def imports_of(path):
    """Yield the modules of the package that a file imports, with lines, for types too; `septet` for its names."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [n if (n := f"{node.module}.{a.name}") in MODULES else node.module for a in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name in MODULES)


def test_the_package_keeps_its_contracts(capsys):
    kept = lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None)
    assert kept, capsys.readouterr().out


def test_only_what_stands_above_the_package_imports_its_names():
    # import-linter takes `from septet import _core` for an import of the package.
    above = {"__init__", "__main__", "types", "adapters", "cli", "hooks", "mcp", "server", "service"}

    def inside(path):
        if part_of(module_of(path)) not in above:
            yield from (
                (line, "imports a name of septet itself") for name, line in imports_of(path) if name == "septet"
            )

    assert_none(faults(inside, SOURCES))


def test_backends_do_not_import_each_other():
    # Shared code belongs to `store`, `model` or `tiers`.
    def across(path):
        backend = module_of(path).split(".")[1]
        for name, line in imports_of(path):
            if [*name.split("."), ""][1] in {*BACKENDS} - {backend}:
                yield line, f"imports {name} of another backend"

    assert_none(faults(across, [path for backend in BACKENDS for path in files(PACKAGE / backend, "*.py")]))


def test_modules_of_the_package_are_imported_by_statements():
    # An import by name hides from the contracts. Only packages that load their names late may do that, from tables of
    # their own, and the command that documents the standard library.
    def by_name(path):
        for node in nodes_of(path):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
            ):
                name = getattr(node.args[0], "value", None) if node.args else None
                if not isinstance(name, str) or name.partition(".")[0] == "septet":
                    yield node.lineno, "import_module: wanted an import statement"
            elif isinstance(node, ast.ImportFrom) and node.level:
                yield node.lineno, "imports relatively"

    assert_none(faults(by_name, [p for p in SOURCES if p.name not in ("__init__.py", "late.py", "stdlib_docs.py")]))


def test_the_extension_and_the_errors_stand_on_the_ground():
    records = {"septet.system.records"}
    grounded = {
        "errors": set(),
        "system/records": {"septet.system.frozen"},
        "system/frozen": set(),
        "notes": records,
        "model/fields": records,
        "model/entry": {
            *records,
            "septet.inputs.arguments",
            "septet.errors",
            "septet.model.codec",
            "septet.model.fields",
            "septet.model.notebook",
            "septet._core",
        },
        "model/codec": records,
        "model/notebook": {"septet.errors", "septet.inputs.times"},
        "inputs/arguments": {"septet.errors"},
        "inputs/times": {"septet.errors", "septet.inputs.arguments"},
    }

    def floating(path):
        known = grounded[path.relative_to(PACKAGE).with_suffix("").as_posix()]
        return [(line, f"imports {name}") for name, line in imports_of(path) if name not in known]

    assert_none(faults(floating, [PACKAGE / f"{name}.py" for name in grounded]))


def test_imports_form_no_circle():
    graph = grimp.build_graph("septet", cache_dir=None)
    circle = []
    try:
        graphlib.TopologicalSorter(
            {name: graph.find_modules_directly_imported_by(name) - {"septet"} for name in graph.modules}
        ).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]
    assert_none(f"{a} imports {b} in a circle" for a, b in pairwise(circle))
