"""The public surface, read from the syntax trees: its types are exported, and it says what it raises."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

from public_names import NAMES, PUBLIC
from sources import FUNCTION, assert_none, nodes_of, place, tree_of

#: The classes and functions that users call.
CALLED = [name for name in NAMES if inspect.isclass(PUBLIC[name]) or inspect.isroutine(PUBLIC[name])]
#: What reading and writing a store may raise, wherever it is called.
STORE = {"reading", "writing", "bookkeeping"}


@cache
def path_of(module):
    return Path(importlib.import_module(module).__file__)


@cache
def definitions(module):
    if path_of(module).suffix != ".py":
        return {}
    return {node.name: node for node in tree_of(path_of(module)).body if isinstance(node, (*FUNCTION, ast.ClassDef))}


def classes_of(name):
    """A public class and those of the package that it is made from, as syntax trees with their modules."""
    for kind in PUBLIC[name].__mro__:
        if kind.__module__.startswith("septet."):
            yield kind.__module__, definitions(kind.__module__)[kind.__name__]


@cache
def public_functions():
    """Every public function and method by name, with its module and the methods beside it."""
    functions = {}
    for name in CALLED:
        public = PUBLIC[name]
        if not inspect.isclass(public):
            functions[name] = public.__module__, definitions(public.__module__)[name], {}
            continue
        methods = {}
        for module, tree in classes_of(name):
            for node in tree.body:
                if isinstance(node, FUNCTION) and not is_overload(node):
                    methods.setdefault(node.name, (module, node))
        beside = {method: node for method, (_, node) in methods.items()}
        for method, (module, node) in methods.items():
            if not method.startswith("_"):
                functions[f"{name}.{method}"] = module, node, beside
    return functions


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


def promises(node):
    """Whether the docstring of a function has a section of errors."""
    return "Raises:" in (ast.get_docstring(node) or "")


def has_raise(node):
    return any(isinstance(inner, ast.Raise) and inner.exc is not None for inner in ast.walk(node))


@cache
def raises(node):
    """Whether a function says or shows that it raises: a section of its docstring, or a statement."""
    return promises(node) or has_raise(node)


def resolved(call, module, methods):
    """The function of the package that a call means, as far as names tell."""
    name = call.func
    names = imported(module)
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        if name.value.id == "self":
            return methods.get(name.attr)
        home, module_name = names.get(name.value.id, (None, None))
        if home is None:
            return None
        try:
            return definitions(f"{home}.{module_name}").get(name.attr)
        except ImportError:
            return None
    if not isinstance(name, ast.Name):
        return None
    if name.id in names and names[name.id][0] != "septet._core":
        home, own_name = names[name.id]
        return definitions(home).get(own_name)
    return definitions(module).get(name.id)


def can_raise(node, module, methods):
    for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in STORE:
            return True
        function = resolved(call, module, methods)
        if isinstance(function, FUNCTION) and function is not node and raises(function):
            return True
    return has_raise(node)


def test_the_functions_that_users_call_are_found():
    known = {"Vault.search", "Vault.add", "Federation.load", "VectorIndex.search", "top_k", "embedder_from"}
    assert known <= set(public_functions())


def test_a_public_function_that_can_raise_says_so():
    faults = [
        f"{place(path_of(module), node.lineno)}: {name} can raise and has no section Raises"
        for name, (module, node, methods) in public_functions().items()
        if not promises(node) and can_raise(node, module, methods)
    ]
    assert_none(faults)


def names_in(annotation):
    """The names in an annotation, also in one that is written as text; of ``Annotated`` those of the type."""
    if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Annotated":
        return names_in(annotation.slice.elts[0])
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return names_in(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Name):
        return {annotation.id}
    return {name for child in ast.iter_child_nodes(annotation) for name in names_in(child)}


@cache
def annotations_of(name):
    """Every annotation of a public class or function: attributes, parameters, results."""
    public = PUBLIC[name]
    if not inspect.isclass(public):
        trees = [(public.__module__, [definitions(public.__module__)[name]])]
    else:
        trees = [(module, tree.body) for module, tree in classes_of(name)]
    annotations = []
    for module, body in trees:
        for node in body:
            if isinstance(node, ast.AnnAssign) and not getattr(node.target, "id", "_").startswith("_"):
                annotations.append((module, node.annotation))
            if isinstance(node, FUNCTION) and (node.name == "__init__" or not node.name.startswith("_")):
                arguments = node.args
                parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.kwarg)
                typed = [p.annotation for p in parameters if p is not None] + [node.returns]
                annotations += [(module, annotation) for annotation in typed if annotation is not None]
    return annotations


#: What the embedders of providers are made from, and a profile's formula: parts that users neither make nor pass.
PARTS = {
    "ServiceClient",
    "Expanding",
    "Rules",
    "Tracer",
    "Workers",
    "Fields",
    "IO",
    "LocalModel",
    "PlannedSpace",
    "HttpEmbedder",
    "ProviderFormat",
    "_core",
}
PARTS |= {"ChatFields", "ChatProvider", "Resolver", "Secret"}
# What a retriever is made from.
PARTS |= {"Expanding", "Rules", "Tracer"}
# Blocks of a configuration, which dicts describe.
PARTS |= {"CorporaSettings", "EmbeddingsSettings", "FtsWeights", "ListWeights", "PresentSettings", "SourceSettings"}
# Numbers within bounds.
PARTS |= {"AtLeastOne", "Bounded", "Count", "Few", "Many", "NotNegative", "Positive", "Share"}


def test_the_types_of_the_public_surface_are_public():
    faults = [
        f"{place(path_of(module), annotation.lineno)}: {name} names {hidden}, which is not public"
        for name in CALLED
        for module, annotation in annotations_of(name)
        for hidden in sorted(
            (names_in(annotation) & (set(definitions(module)) | set(imported(module)))) - set(NAMES) - PARTS
        )
    ]
    assert_none(faults)


def test_no_public_type_is_a_union_with_any():
    faults = [
        f"{place(path_of(module), node.lineno)}: {name} has {ast.unparse(annotation)}"
        for name in CALLED
        for module, annotation in annotations_of(name)
        for node in ast.walk(annotation)
        if isinstance(node, ast.BinOp) and "Any" in (getattr(node.left, "id", ""), getattr(node.right, "id", ""))
    ]
    assert_none(faults)
