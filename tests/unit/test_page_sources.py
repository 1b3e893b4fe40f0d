"""The sources of the inspector page: routes as served, nothing inline, nothing from elsewhere, no way for markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import septet
from septet.server.calling import HTTP_OPERATIONS

PAGE = Path(septet.__file__).parent / "server" / "page"
SCRIPTS = sorted(PAGE.rglob("*.js"))
STYLES = sorted(PAGE.rglob("*.css"))
ROUTE = re.compile(r'^  (\w+): \["(\w+)", "([^"]+)"\],$', re.MULTILINE)
MARKUP = re.compile(
    r"(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|setAttribute\(\"(style|on)"
)
SVG = "http://www.w3.org/2000/svg"

of_each = pytest.mark.parametrize("path", [*SCRIPTS, *STYLES], ids=lambda path: path.relative_to(PAGE).as_posix())


def text_of(path):
    return path.read_text(encoding="utf-8")


def test_the_page_calls_operations_where_they_are_served():
    routes = {name: (verb, path) for name, verb, path in ROUTE.findall(text_of(PAGE / "api.js"))}
    served = {name: one.route for name, one in HTTP_OPERATIONS.items()}
    assert routes == {name: served[name] for name in routes}
    called = {name for path in SCRIPTS for name in re.findall(r"(?:\bapi\.call|\bcall)\(\s*\"(\w+)\"", text_of(path))}
    assert called and called <= routes.keys()


def test_the_document_has_nothing_inline_and_names_files_that_are_there():
    linked = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            attributes = dict(attrs)
            assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attrs)
            assert tag != "style" and (tag != "script" or attributes["src"]), attrs
            linked.extend(attributes[name] for name in ("src", "href") if name in attributes)

    reader = Reader()
    reader.feed(text_of(PAGE / "index.html"))
    files = [name for name in linked if not name.startswith("#")]
    assert len(files) > 4 and all((PAGE / name).is_file() for name in files)
    assert {path.relative_to(PAGE).as_posix() for path in STYLES} <= set(files)


@of_each
def test_a_file_is_short_and_asks_nobody_else(path):
    text = text_of(path)
    assert text.count("\n") <= 400
    assert not [url for url in re.findall(r"https?://[^\s\"'`)]+", text) if url != SVG]
    assert "url(" not in text and "@import" not in text


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(PAGE).as_posix())
def test_a_script_makes_no_markup_of_texts_and_imports_what_is_there(path):
    text = text_of(path)
    assert not MARKUP.search(text)
    for name in re.findall(r"(?:^import\b[^;\"]*|\bimport\()\"([^\"]+)\"", text, re.MULTILINE):
        assert name.startswith(".") and (path.parent / name).resolve().is_file(), name
