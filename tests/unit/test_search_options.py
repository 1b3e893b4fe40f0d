"""The options of a search are defined once: signatures, defaults, docstrings and the command line agree with it."""

import inspect
import re

import pytest

from septet import Federation, Vault
from septet.query.options import DEFAULTS, OPTIONS, RECALL_OPTIONS, takes_options
from septet.types import SearchOptions

NAMES = list(SearchOptions.__annotations__)


@pytest.mark.parametrize("kind", [Vault, Federation])
def test_the_signature_of_recall_names_the_options_that_make_sense_for_memories(kind):
    parameters = inspect.signature(kind.recall).parameters
    assert list(parameters)[:3] == ["self", "query", "limit"]
    assert list(parameters)[3:] == [name for name in NAMES if name in RECALL_OPTIONS]
    assert set(NAMES) - RECALL_OPTIONS == {"limit", "kinds", "include_memories"}
    assert parameters["limit"].default is None


@pytest.mark.parametrize("option", ["kinds", "include_memories", "limt"])
def test_recall_takes_no_other_options(option):
    with Vault(":memory:") as vault, pytest.raises(TypeError, match=rf"recall\(\) got .*'{option}'"):
        vault.recall("alpha", **{option: True})


@pytest.mark.parametrize("kind", [Vault, Federation])
@pytest.mark.parametrize(("method", "own"), [("search", ["self", "query"]), ("explain", ["self", "query", "id"])])
def test_the_signature_names_every_option_with_its_default(kind, method, own):
    parameters = inspect.signature(getattr(kind, method)).parameters
    assert list(parameters) == own + NAMES
    named = [parameters[name] for name in NAMES]
    assert {p.name: p.default for p in named} == DEFAULTS
    assert {p.kind for p in named} == {inspect.Parameter.KEYWORD_ONLY}
    assert not [p.name for p in named if p.annotation is inspect.Parameter.empty]


def test_the_docstring_of_search_documents_every_option_in_order():
    documented = re.findall(r"^    (\w+): ", inspect.getdoc(Vault.search).split("Raises:")[0], re.MULTILINE)
    assert documented == ["query", *NAMES]


def test_every_option_has_one_line_of_help():
    assert [name for name, option in OPTIONS.items() if not re.fullmatch(r"[^\n]+\.", option.help)] == []


@pytest.mark.parametrize("method", ["search", "explain"])
def test_an_unknown_option_is_a_type_error_that_names_the_nearest(method):
    with Vault(":memory:") as vault:
        vault.add(id="a", title="alpha")
        call = {
            "search": lambda **o: vault.search("alpha", **o),
            "explain": lambda **o: vault.explain("alpha", "a", **o),
        }
        with pytest.raises(TypeError, match=rf"{method}\(\) got .*'limt'. Did you mean 'limit'\?"):
            call[method](limt=3)
        with pytest.raises(TypeError, match=rf"{method}\(\) got .*'zzz': known are limit, offset, words,"):
            call[method](limit=1, zzz=1)
        with pytest.raises(TypeError, match=r"Did you mean words=\{'must_not': \.\.\.\}\?"):
            call[method](must_not="beta")
        with pytest.raises(TypeError, match=r"Did you mean where=\{'severity': \.\.\.\}\?"):
            call[method](severity="critical")


def test_options_follow_the_query_by_name_only():
    with Vault(":memory:") as vault, pytest.raises(TypeError, match="positional"):
        vault.search("alpha", 5)


def test_options_that_are_given_win_over_the_defaults():
    with Vault(":memory:") as vault:
        plain, given = (vault._plan("alpha", one) for one in ({}, {"limit": 3, "mode": "scan"}))
    assert (plain.limit, plain.mode) == (DEFAULTS["limit"], DEFAULTS["mode"])
    assert (given.limit, given.mode, given.query) == (3, "scan", plain.query)


def test_a_method_keeps_what_it_takes_beside_the_options():
    @takes_options
    def method(a, b=1, *, c, **options):
        return options

    assert list(inspect.signature(method).parameters) == ["a", "b", "c", *NAMES]


def test_the_command_line_offers_every_option_that_is_not_left_out():
    pytest.importorskip("typer")
    from septet.cli.command import signed
    from septet.cli.commands.searching import explain, search
    from septet.cli.options import _HELP, LEFT_OUT

    assert set(NAMES) >= LEFT_OUT
    for command, without in ((search, set()), (explain, {"mode"})):
        parameters = inspect.signature(signed(command)).parameters
        offered = [name for name in parameters if name in NAMES]
        assert offered == [name for name in NAMES if name not in LEFT_OUT | without]
        assert {name: parameters[name].default for name in offered} == {name: DEFAULTS[name] for name in offered}
        shown = {name: parameters[name].annotation.__metadata__[0].help for name in offered}
        # A flag says in its own words what its one value does.
        assert [n for n in offered if not shown[n].startswith(_HELP.get(n, OPTIONS[n].help))] == []
