"""Print every public name with its signature, a line each: what the promise of compatibility covers.

`python tests/public_api.py > tests/house/public_api.txt` after a change that is meant.
"""

import dataclasses
import inspect
import typing
from importlib import import_module

from public_names import MODULES, PUBLIC

#: The modules whose `__all__` is public, each name listed where it is met first.
LISTED = (*MODULES, "septet.errors", "septet.notes")


def listed():
    """Yield the lines, in order of modules and names."""
    known = []
    for module in LISTED:
        yield f"# {module}"
        home = import_module(module)
        for name in sorted(home.__all__):
            value = getattr(home, name)
            if not any(value is other for other in known):
                known.append(value)
                yield from lines_of(name, value)
        yield ""


def lines_of(name, value):
    """Yield a name, and for a class its members below it."""
    if inspect.isclass(value) and not typing.get_args(value):
        bases = [base.__name__ for base in value.__bases__ if base.__name__ in PUBLIC]
        yield f"class {name}{parameters(value)}" + (f" is {', '.join(bases)}" if bases else "")
        yield from sorted(f"    {member}" for member in members(value))
    elif inspect.isroutine(value):
        yield f"def {name}{parameters(value)}"
    elif choices := texts_of(value):
        yield f"{name} = {' | '.join(map(repr, choices))}"
    else:
        yield name


def texts_of(value):
    """The texts that an alias of literals allows, none for others."""
    return [one for one in typing.get_args(value) if isinstance(one, str)]


def members(kind):
    """The public members that a class has from this package, inherited ones too."""
    fields = set(getattr(kind, "model_fields", {})) | set(getattr(kind, "__annotations__", {}))
    if dataclasses.is_dataclass(kind):
        fields |= {field.name for field in dataclasses.fields(kind)}
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("septet"):
            found.update({name: inspect.getattr_static(kind, name, None) for name in vars(base)})
    for name in fields:
        if not name.startswith("_"):
            yield name
    for name, value in found.items():
        if name.startswith(("_", "model_")) or name in fields:
            continue
        inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        yield f"{name}{parameters(inner)}" if inspect.isroutine(inner) else name


def parameters(value):
    """The parameters by name, kind and default, without annotations; nothing where a class is made by its fields."""
    if hasattr(value, "model_fields") or typing.is_typeddict(value) or getattr(value, "_is_protocol", False):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=parameter.empty, default=_plain(parameter.default))
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(plain))


class _Shown:
    """A default of which only the text matters."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text


def _plain(default):
    if default is inspect.Parameter.empty or default is None or isinstance(default, bool | int | float | str):
        return default
    # Neither places in memory nor what a version of Python puts around a name.
    name = getattr(default, "__name__", None)
    return _Shown(name if name is not None else "…" if " at 0x" in repr(default) else repr(default))


if __name__ == "__main__":
    print("\n".join(listed()).rstrip())
