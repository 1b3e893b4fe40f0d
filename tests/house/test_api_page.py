"""The page of the API is complete and true: names, signatures, options, and what a federation has."""

import inspect
import re
from inspect import Parameter, Signature
from pathlib import Path

import pytest

import septet
from septet.query.options import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
#: Its sections by title, without what stands in the sections within them.
SECTIONS = {m[1]: m[2] for m in re.finditer(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)}
#: Code on the page, with line breaks as blanks.
CODE = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", PAGE)]
OF_A_VAULT = ("Searching", "Reading", "Writing", "Feedback", "Embedding", "Files and copies", "Folders")
#: Arguments of a federation's methods that a vault's do not have.
OF_TIERS = {"tier", "tiers"}
#: What concerns all tiers.
WITHOUT_TIER = {"weights", "retriever"}


def rows(section):
    """The code in the first column of the tables of a section."""
    return [
        code for row in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)
    ]


def parameters(function):
    """The parameters without `self`, and with those of a search as ``**options``."""
    given = [p for name, p in inspect.signature(function).parameters.items() if name != "self"]
    if not any(p.name in OPTIONS and p.name == "min_score" for p in given):
        return given
    own = [p for p in given if p.name not in OPTIONS or (p.name == "limit" and p.kind is not Parameter.KEYWORD_ONLY)]
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


@pytest.mark.parametrize("name", sorted(public(septet.Vault).keys() & public(septet.Federation).keys() - {"close"}))
def test_a_method_of_a_federation_takes_what_that_of_a_vault_takes_and_a_tier(name):
    ours = [p.replace(annotation=Parameter.empty) for p in parameters(getattr(septet.Vault, name))]
    theirs = [p.replace(annotation=Parameter.empty) for p in parameters(getattr(septet.Federation, name))]
    assert [p for p in theirs if p.name not in OF_TIERS] == [p for p in ours if p.name not in OF_TIERS]
    if not any(p.name == "options" for p in theirs) and name not in WITHOUT_TIER:
        assert any(p.name == "tier" for p in theirs), f"{name} has no tier="


@pytest.mark.parametrize("name", ["Results", "Hit", "Entry", "VectorIndex", "TfidfVectorizer", "SparseRows"])
def test_the_page_lists_what_a_value_has(name):
    said = {word for code in CODE for word in re.findall(r"\w+", code)}
    assert {n for n in public(getattr(septet, name)) if not hasattr(tuple, n)} <= said


@pytest.mark.parametrize("name", sorted(set(septet.__all__) - {"__version__"}))
def test_the_page_names_everything_that_is_exported(name):
    assert any(re.match(rf"{name}\b", code) for code in CODE)


@pytest.mark.parametrize("name", ["Vault", "PostgresVault", "Federation", "VectorIndex", "TfidfVectorizer"])
def test_the_page_shows_how_a_value_is_made(name):
    made = inspect.signature(getattr(septet, name))
    plain = made.replace(
        parameters=[p.replace(annotation=Parameter.empty) for p in made.parameters.values()],
        return_annotation=Signature.empty,
    )
    assert f"{name}{plain}".replace("<built-in function time>", "time.time") in CODE
