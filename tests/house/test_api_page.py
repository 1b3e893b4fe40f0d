"""The page of the API is complete and true: names, signatures, options, and what a federation has."""

import inspect
import re
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path

import septet
from public_names import MODULES, NAMES, PUBLIC
from septet.query.options import OPTIONS
from sources import ROOT, assert_none, line_of, place, text_of

PATH = ROOT / "docs" / "api.md"
PAGE = text_of(PATH)
#: Its sections by title, without what stands in the sections within them.
SECTIONS = {m[1]: m[2] for m in re.finditer(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)}
#: Code on the page, with line breaks as blanks.
CODE = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", PAGE)]
OF_A_VAULT = ("Searching", "Reading", "Writing", "Feedback", "Embedding", "Files and copies", "Folders")


def rows(section):
    """The code in the first column of the tables of a section."""
    return [
        code for row in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)
    ]


def parameters(function):
    """The parameters without `self`, and with those of a search as ``**options``."""
    every = [p for name, p in inspect.signature(function).parameters.items() if name != "self"]
    if not any(p.name in OPTIONS and p.name == "min_score" for p in every):
        return every
    own = [p for p in every if p.name not in OPTIONS or (p.name == "limit" and p.kind is not Parameter.KEYWORD_ONLY)]
    return [*own, Parameter("options", Parameter.VAR_KEYWORD)]


def written(name, value):
    """A method as the page writes it."""
    if not callable(value):
        return name
    plain = [p.replace(annotation=Parameter.empty) for p in parameters(value)]
    return f"{name}{Signature(plain)}"


def public(kind):
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def not_on_a_federation():
    after = SECTIONS["Federation"].split("Not on a federation", 1)[1]
    return set(re.findall(r"`(\w+)`", after))


def test_the_page_lists_each_method_of_a_vault_with_its_signature():
    listed = [code for title in OF_A_VAULT for code in rows(SECTIONS[title]) if code not in OPTIONS]
    assert sorted(listed) == sorted(written(name, value) for name, value in public(septet.Vault).items())


def test_the_page_lists_each_option_of_a_search_with_its_default():
    listed = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", SECTIONS["Searching"], re.MULTILINE)
    assert listed == [(name, repr(option.default)) for name, option in OPTIONS.items()]


def test_a_federation_has_what_a_vault_has_but_for_what_the_page_names():
    vault, federation = public(septet.Vault), public(septet.Federation)
    assert vault.keys() - federation.keys() == not_on_a_federation()


def test_the_page_lists_the_methods_of_a_federation_alone():
    own = {name: v for name, v in public(septet.Federation).items() if name not in public(septet.Vault)}
    own["close"] = septet.Federation.close
    assert sorted(rows(SECTIONS["Federation"])) == sorted(written(name, value) for name, value in own.items())


def place_of(function):
    code = inspect.unwrap(function).__code__
    return place(Path(code.co_filename), code.co_firstlineno)


def test_a_method_of_a_federation_takes_what_that_of_a_vault_takes():
    faults = []
    for name in sorted(public(septet.Vault).keys() & public(septet.Federation).keys() - {"close"}):
        method = getattr(septet.Federation, name)
        ours = [p.replace(annotation=Parameter.empty) for p in parameters(getattr(septet.Vault, name))]
        theirs = [p.replace(annotation=Parameter.empty) for p in parameters(method)]
        if ours != theirs:
            faults.append(f"{place_of(method)}: {name} takes {[*map(str, theirs)]}, of a vault {[*map(str, ours)]}")
    assert_none(faults)


def test_the_page_lists_what_a_value_has():
    words = {word for code in CODE for word in re.findall(r"\w+", code)}
    faults = [
        f"{place(PATH, line_of(PATH, name))}: {attribute} of {name} is not in code"
        for name in ("Results", "Hit", "Entry", "VectorIndex", "TfidfVectorizer", "SparseRows")
        for attribute in public(PUBLIC[name])
        if not hasattr(tuple, attribute) and attribute not in words
    ]
    assert_none(faults)


def test_the_page_names_everything_that_is_exported():
    faults = [
        f"{place(PATH, line_of(PATH, name))}: no code begins with {name}"
        for name in NAMES
        if not any(re.match(rf"{name}\b", code) for code in CODE)
    ]
    assert_none(faults)


def test_the_page_lists_each_name_at_the_module_it_is_imported_from():
    rows = re.findall(r"^\| `(septet\.\w+)` \| (.+?) \|$", SECTIONS["Where names are"], re.MULTILINE)
    listed = {module: re.findall(r"`(\w+)`", names) for module, names in rows}
    top = {*septet.__all__}
    assert listed == {m: sorted({*import_module(m).__all__} - top) for m in MODULES if m != "septet"}


def test_the_page_shows_how_a_value_is_made():
    faults = []
    for name in ("Vault", "PostgresVault", "Federation", "VectorIndex", "TfidfVectorizer"):
        signature = inspect.signature(PUBLIC[name])
        plain = signature.replace(
            parameters=[p.replace(annotation=Parameter.empty) for p in signature.parameters.values()],
            return_annotation=Signature.empty,
        )
        call = f"{name}{plain}".replace("<built-in function time>", "time.time")
        call = call.replace("<class 'numpy.float64'>", "numpy.float64")
        if call not in CODE:
            faults.append(f"{place(PATH, line_of(PATH, f'{name}('))}: no code {call}")
    assert_none(faults)
