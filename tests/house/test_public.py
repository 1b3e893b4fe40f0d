"""The public surface, read from the syntax trees: its types are exported, and it says what it raises."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

import septet
from sources import nodes_of, tree_of

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
#: The classes and functions that users call.
CALLED = [
    name
    for name in septet.__all__
    if inspect.isclass(getattr(septet, name)) or inspect.isroutine(getattr(septet, name))
]
#: What reading and writing a store may raise, wherever it is called.
STORE = {"reading", "writing", "bookkeeping"}


@cache
def path_of(module):
    return Path(importlib.import_module(module).__file__)


@cache
def definitions(module):
    return {node.name: node for node in tree_of(path_of(module)).body if isinstance(node, (*FUNCTION, ast.ClassDef))}


def classes_of(name):
    """A public class and those of the package that it is made from, as syntax trees with their modules."""
    for kind in getattr(septet, name).__mro__:
        if kind.__module__.startswith("septet."):
            yield kind.__module__, definitions(kind.__module__)[kind.__name__]


def public_functions():
    """Every public function and method, with its module and the methods beside it."""
    for name in CALLED:
        public = getattr(septet, name)
        if not inspect.isclass(public):
            yield name, public.__module__, definitions(public.__module__)[name], {}
            continue
        methods = {}
        for module, tree in classes_of(name):
            for node in tree.body:
                if isinstance(node, FUNCTION) and not is_overload(node):
                    methods.setdefault(node.name, (module, node))
        for method, (module, node) in methods.items():
            if not method.startswith("_"):
                yield f"{name}.{method}", module, node, {m: found for m, (_, found) in methods.items()}


def is_overload(node):
    return any(getattr(d, "id", "") == "overload" for d in node.decorator_list)


@cache
def imported(module):
    """The names that a module takes from the package, wherever in it, with the module each comes from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in nodes_of(path_of(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("septet")
        for alias in node.names
    }


@cache
def raises(node):
    """Whether a function says or shows that it raises: a section of its docstring, or a statement."""
    told = "Raises:" in (ast.get_docstring(node) or "")
    return told or any(isinstance(inner, ast.Raise) and inner.exc is not None for inner in ast.walk(node))


def resolved(call, module, methods):
    """The function of the package that a call means, as far as names tell."""
    name = call.func
    names = imported(module)
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        if name.value.id == "self":
            return methods.get(name.attr)
        home, what = names.get(name.value.id, (None, None))
        if home is None:
            return None
        try:
            return definitions(f"{home}.{what}").get(name.attr)
        except ImportError:
            return None
    if not isinstance(name, ast.Name):
        return None
    if name.id in names and names[name.id][0] != "septet._core":
        home, what = names[name.id]
        return definitions(home).get(what)
    return definitions(module).get(name.id)


def can_raise(node, module, methods):
    for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in STORE:
            return True
        found = resolved(call, module, methods)
        if isinstance(found, FUNCTION) and found is not node and raises(found):
            return True
    return any(isinstance(inner, ast.Raise) and inner.exc is not None for inner in ast.walk(node))


FUNCTIONS = {name: (module, node, methods) for name, module, node, methods in public_functions()}


def test_the_functions_that_users_call_are_found():
    assert {"Vault.search", "Vault.add", "Federation.load", "VectorIndex.search", "top_k", "embedder_from"} <= set(
        FUNCTIONS
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_that_can_raise_says_so(name):
    module, node, methods = FUNCTIONS[name]
    if can_raise(node, module, methods):
        assert "Raises:" in (ast.get_docstring(node) or ""), f"{module}, line {node.lineno}"


def names_in(annotation):
    """The names in an annotation, also in one that is written as text; of ``Annotated`` those of the type."""
    if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Annotated":
        return names_in(annotation.slice.elts[0])
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return names_in(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Name):
        return {annotation.id}
    return {name for child in ast.iter_child_nodes(annotation) for name in names_in(child)}


def annotations_of(name):
    """Every annotation of a public class or function: attributes, parameters, results."""
    public = getattr(septet, name)
    if not inspect.isclass(public):
        trees = [(public.__module__, [definitions(public.__module__)[name]])]
    else:
        trees = [(module, tree.body) for module, tree in classes_of(name)]
    for module, body in trees:
        for node in body:
            if isinstance(node, ast.AnnAssign) and not getattr(node.target, "id", "_").startswith("_"):
                yield module, node.annotation
            public_one = isinstance(node, FUNCTION) and (node.name == "__init__" or not node.name.startswith("_"))
            if public_one:
                arguments = node.args
                for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.kwarg):
                    if one is not None and one.annotation is not None:
                        yield module, one.annotation
                if node.returns is not None:
                    yield module, node.returns


#: Where public names are: at the top, and in the two modules that hold what fewer programs name.
PUBLIC = {*septet.__all__, *septet.embedding.__all__, *septet.profiles.__all__}
#: What the embedders of providers are made from, and a profile's formula: parts that users neither make nor pass.
PARTS = {
    "Client",
    "Expanding",
    "Rules",
    "Tracer",
    "Workers",
    "Fields",
    "PlannedSpace",
    "ProviderFormat",
    "Prefixes",
    "_Provider",
    "_core",
}
PARTS |= {"ChatFields", "ChatProvider", "Resolver", "Secret"}
# What a retriever is made from.
PARTS |= {"Expanding", "Rules", "Tracer"}
# Blocks of a configuration, which dicts describe.
PARTS |= {"CorporaSettings", "EmbeddingsSettings", "FtsWeights", "ListWeights", "PresentSettings", "SourceSettings"}
# Numbers within bounds.
PARTS |= {"AtLeastOne", "Bounded", "Count", "Few", "Many", "NotNegative", "Positive", "Share"}


@pytest.mark.parametrize("name", CALLED)
def test_the_types_of_the_public_surface_are_public(name):
    hidden = set()
    for module, annotation in annotations_of(name):
        own = set(definitions(module)) | set(imported(module))
        hidden |= (names_in(annotation) & own) - PUBLIC
    assert hidden <= PARTS


@pytest.mark.parametrize("name", CALLED)
def test_no_public_type_is_a_union_with_any(name):
    unions = [
        ast.unparse(annotation)
        for _, annotation in annotations_of(name)
        for node in ast.walk(annotation)
        if isinstance(node, ast.BinOp) and "Any" in (getattr(node.left, "id", ""), getattr(node.right, "id", ""))
    ]
    assert unions == []
