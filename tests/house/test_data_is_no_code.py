"""Nothing that is read becomes code: the package neither evaluates nor unpickles, and reads YAML by the safe loader."""

import ast

from sources import PACKAGE, SOURCES, nodes_of

#: Functions that make code, or objects of any kind, of what they are given.
BUILDING = {"eval", "exec", "compile", "execfile", "__import__"}
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "code", "codeop"}
#: Functions of other packages that do so for some files.
LOADING = {"yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "numpy.load", "np.load"}
#: Where a module is imported by a name that stands in the source, or that this Python lists.
IMPORTING = {"system/forks.py"}


def called(nodes):
    """The names of what is called, as they are written: `a` or `a.b`."""
    named = [node.func for node in nodes if isinstance(node, ast.Call)]
    found = {one.id for one in named if isinstance(one, ast.Name)}
    owned = [one for one in named if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    return found | {f"{one.value.id}.{one.attr}" for one in owned}


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def made_of_data(path):
    """What in a module makes code of data."""
    nodes, name = nodes_of(path), path.relative_to(PACKAGE).as_posix()
    found = called(nodes) & (BUILDING - ({"__import__"} if name in IMPORTING else set()) | LOADING)
    return sorted(found | (set(imported(nodes)) & UNSAFE))


def test_no_module_makes_code_of_data():
    assert {str(path): found for path in SOURCES if (found := made_of_data(path))} == {}


def test_what_would_make_code_of_data_is_found():
    for line in ("eval(text)", "yaml.unsafe_load(text)", "__import__(name)"):
        assert called(ast.walk(ast.parse(line))) & (BUILDING | LOADING)
    assert set(imported(ast.walk(ast.parse("from pickle import loads\nimport marshal")))) == {"pickle", "marshal"}


def test_yaml_is_loaded_by_the_safe_loader_alone():
    loading = [path for path in SOURCES if "yaml.load" in called(nodes_of(path))]
    assert [path.name for path in loading] == ["documents.py"]
    loaders = {node.attr for node in nodes_of(loading[0]) if isinstance(node, ast.Attribute)}
    assert "SafeLoader" in loaders and not loaders & {"Loader", "FullLoader", "UnsafeLoader", "CLoader"}
