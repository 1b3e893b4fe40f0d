"""The documentation as a site: it builds without a warning, is complete, and asks no other host for anything."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

import septet
from public_names import NAMES

ROOT = Path(__file__).parents[2]
WEBSITE = ROOT / "website"
#: What belongs to the group `docs`.
NEEDED = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def website(name):
    """A module of the folder of the site, which is no package: MkDocs imports its files by themselves."""
    sys.path.insert(0, str(WEBSITE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(WEBSITE))


LINKS = website("site_links")
MARKDOWN = LINKS.markdown_files()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built strictly: every warning ends the build."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        pytest.skip(f"no {', '.join(missing)}: install the group docs to build the site")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return website("site_built").read(site)


# -- without a build ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MARKDOWN, ids=[str(path.relative_to(ROOT)) for path in MARKDOWN])
def test_the_links_of_a_plain_file_lead_somewhere(path):
    assert list(LINKS.broken(path)) == []


def test_a_link_that_leads_nowhere_is_told_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(LINKS, "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# A & B: `code` twice\n\n## Same\n\n## Same\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a--b-code-twice) [c](there.md#same-1) `[code](gone.md)` <!-- [d](gone.md) -->\n"
        "```text\n[e](gone.md)\n```\n"
        '[f](gone.md)\n[g](there.md#gone)\n[h]: other.md\n<img src="gone.svg">\n[i](/there.md)\n[j](../../x.md)\n'
        "[k](#gone) [l](https://example.org/gone)\n"
    )
    assert [fault.split(":")[0] for fault in LINKS.broken(page)] == [
        "line 5", "line 6", "line 9", "line 10", "line 11", "line 7", "line 8",
    ]  # fmt: skip


def test_every_public_name_has_one_place_in_the_api():
    placed = [name for names in website("site_api").placed().values() for name in names]
    assert len(placed) == len(set(placed))
    assert {name.rpartition(".")[2] for name in placed} >= set(NAMES)


def test_a_module_that_no_page_of_the_api_has_is_an_error():
    with pytest.raises(LookupError, match=r"septet\.nowhere\.at_all is on no page"):
        website("site_api").page_of("nowhere.at_all")


def test_the_most_exact_part_decides_where_a_module_belongs():
    page_of = website("site_api").page_of
    assert (page_of("vault"), page_of("vault.writing"), page_of("postgres.vault")) == (
        "vault",
        "vault",
        "postgres",
    )


def test_the_benchmark_page_shows_sections_of_the_results_and_misses_too():
    figures = website("site_figures")
    results = (ROOT / "benches" / "RESULTS.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shown = figures.filled(page, results)
    assert "<!-- figures" not in shown
    assert figures.head(results) in shown
    for title in re.findall(r"<!-- figures: (.+?) -->", page):
        section = figures.sections(results)[title]
        judged = [row for row in section.rows if row[-1]]
        assert all(
            f"| {row[0]} | {row[1]} {row[3]} | {row[4]}: {row[2]} {row[3]} | {row[5]} |" in shown for row in judged
        )
        of_it = shown.partition(section.text)[2].partition("\n## ")[0]
        assert of_it.count("**missed**") == sum(row[-1] == "NOT REACHED" for row in judged)


def test_a_section_that_the_results_do_not_have_is_an_error():
    with pytest.raises(KeyError, match="Elsewhere"):
        website("site_figures").filled("<!-- figures: Elsewhere -->", "# Figures\n\n## Here\n\nText.\n")


def test_the_reference_has_every_code_error_command_and_profile():
    pytest.importorskip("typer")
    from septet import errors
    from septet.cli.commands import COMMANDS
    from septet.profiles import BUILTIN

    made = website("site_reference").pages()
    assert [code for code in get_args(septet.NoteCode) if f"`{code}`" not in made["reference/notes.md"]] == []
    assert [name for name in errors.__all__ if made["reference/errors.md"].count(f"[`{name}`]") != 1] == []
    assert [f"`{getattr(errors, name).code}`" in made["reference/errors.md"] for name in errors.__all__].count(
        False
    ) == 0
    assert [name for name in COMMANDS if f"### septet {name}\n" not in made["reference/cli.md"]] == []
    assert [name for name in BUILTIN if f"## {name}\n" not in made["reference/profiles.md"]] == []
    assert "| 4 | An embedding provider failed. |" in made["reference/cli.md"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", '<img src="https://example.org/x.png">'),
        ("page.html", '<script src="//example.org/x.js"></script>'),
        ("page.html", '<link rel="stylesheet" href="https://example.org/x.css">'),
        ("page.html", '<link rel="preconnect" href="https://example.org">'),
        ("page.html", '<img srcset="x.png 1x, https://example.org/x.png 2x">'),
        ("page.html", '<p style="background: url(https://example.org/x.png)">'),
        ("page.html", '<style>@import "https://example.org/x.css";</style>'),
        ("style.css", "p { background: url('http://example.org/x.png') }"),
        ("picture.svg", '<svg><image href="https://example.org/x.png"/></svg>'),
        ("page.html", '<a href="gone.html">there</a>'),
        ("page.html", '<a href="index.html#gone">there</a>'),
        ("page.html", f'<p>{ROOT}/docs</p>'),
    ],
)  # fmt: skip
def test_a_site_that_asks_elsewhere_or_leads_nowhere_has_a_fault(tmp_path, name, text):
    (tmp_path / "index.html").write_text('<h1 id="top"><a href="https://example.org">a plain link may</a></h1>')
    faults = website("site_built").faults
    assert faults(tmp_path) == []
    (tmp_path / name).write_text(text)
    told = faults(tmp_path)
    assert told
    assert all(fault.startswith(name) for fault in told)


# -- as it is built ----------------------------------------------------------------------------------------------------


def test_the_built_site_asks_no_other_host_and_every_link_leads_somewhere(site):
    assert website("site_built").faults(site) == []


def test_the_site_has_its_pages_as_markdown_and_an_index_of_them_for_language_models(site):
    index = (site / "llms.txt").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", index, re.MULTILINE)
    assert {"start.md", "tutorials/agent.md", "changelog.md", "reference/notes.md"} <= set(listed)
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->\n\n{(site / name).read_text(encoding='utf-8').strip()}\n" in full for name in listed)
    assert len(full.encode()) < 1_000_000


def test_every_public_name_is_documented_on_exactly_one_page(site, pages):
    places = {}
    for path, page in pages.items():
        for name in page.names:
            places.setdefault(name, []).append(path.relative_to(site).as_posix())
    for slug, names in website("site_api").placed().items():
        assert {name: places.get(name) for name in names} == {key: [f"api/{slug}.html"] for key in names}


def test_values_are_documented_with_the_arguments_that_make_them(site):
    text = "".join(re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8")) for path in site.glob("api/*.html"))
    assert "Span(path: str, first_line: int, last_line: int)" in text
    assert "Version(*, entry: Entry, replaced_at: float" in text


def test_methods_of_every_kind_of_vault_are_documented(pages):
    named = set().union(*(page.names for page in pages.values()))
    kinds = (
        "Vault PostgresVault Federation AsyncVault AsyncFederation AsyncPostgresVault Client AsyncClient Retriever "
        "AsyncRetriever VectorIndex TfidfVectorizer Results Hit"
    ).split()
    methods = [
        (kind, name, getattr(getattr(septet, kind), name)) for kind in kinds for name in dir(getattr(septet, kind))
    ]
    # Those of Python's own classes, such as `Sequence`, are documented there.
    own = [
        f"septet.{kind}.{name}"
        for kind, name, method in methods
        if not name.startswith("_") and callable(method) and method.__module__.startswith("septet")
    ]
    assert len(own) > 300
    assert [name for name in own if name not in named] == []


def test_the_search_works_from_a_disk_and_nothing_else_is_asked(site):
    if CHROMIUM is None:
        pytest.skip("no chromium: install it (Debian: apt-get install chromium) to open the site")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked, failed = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.goto((site / "api" / "vault.html").as_uri())
        page.locator("input.md-search__input").click()
        page.keyboard.type("restore a backup")
        page.locator(".md-search-result__item a").first.wait_for(timeout=30_000)
        first = page.locator(".md-search-result__item a").first.get_attribute("href")
        browser.close()
    assert ".html" in first
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert failed == []
