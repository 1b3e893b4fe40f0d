"""What MkDocs cannot do by itself: pages that are made, files of the repository as pages, links between them.

The pages under `docs/` are plain files of the repository first. Their links into the rest of the repository lead to a
page of the site where it has one, and are left out, with their text kept, where it has none.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import site_api
import site_figures
import site_links
import site_llms
import site_reference

ROOT = site_links.ROOT
RESULTS = "benches/RESULTS.md"
PAGES = site_links.PAGES
ALIASES = {"README.md": "index.md", "docs": "index.md", "SECURITY.md": "security.md", "llms.txt": "llms.txt"}
#: Where the charts of the benchmarks are in the repository, and on the site.
CHARTS = "benches/charts"
#: What pages say, by their paths.
_texts: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Keep the search working from files, by a script of ours where the theme would load one from elsewhere."""
    config.extra["polyfills"] = ["assets/worker.js"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made: the API, the reference, files of the repository, charts; then name it all in the navigation."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    for name, text in {**site_api.pages(), **site_reference.pages()}.items():
        files.append(File.generated(config, name, content=text))
    for chart in sorted((ROOT / CHARTS).glob("*.svg")):
        files.append(File.generated(config, f"charts/{chart.name}", abs_src_path=str(chart)))
    config.nav = _spread(config.nav, [file.src_uri for file in files.documentation_pages()])
    return files


def _named(entry: Any) -> set[str]:
    if isinstance(entry, str):
        return {entry}
    return set().union(*map(_named, entry.values() if isinstance(entry, dict) else entry))


def _spread(nav: Any, pages: list[str]) -> Any:
    """Put the pages that a pattern of the navigation means, and that it does not name, in the pattern's place."""
    named = _named(nav)

    def spread(entry: Any) -> list[Any]:
        if isinstance(entry, str):
            if "*" not in entry:
                return [entry]
            found = [page for page in pages if fnmatch.fnmatch(page, entry) and page not in named]
            if not found:
                raise PluginError(f"mkdocs.yml: no page is {entry}")
            return found
        return [{title: one if isinstance(one, str) else _flat(one)} for title, one in entry.items()]

    def _flat(entries: list[Any]) -> list[Any]:
        return [one for entry in entries for one in spread(entry)]

    return _flat(nav)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the figures, and lead links of plain files to where the site has what they mean."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri == "benchmarks.md":
        try:
            markdown = site_figures.filled(markdown, (ROOT / RESULTS).read_text(encoding="utf-8"))
        except KeyError as missing:
            raise PluginError(f"docs/benchmarks.md: {RESULTS} has no section {missing}") from None
    source = next((path for path, name in PAGES.items() if name == page.file.src_uri), f"docs/{page.file.src_uri}")
    if not (ROOT / source).exists():
        # Of a page of the API only its builder knows the text.
        if ":::" not in markdown:
            _texts[page.file.src_uri] = markdown
        return markdown
    led = _texts[page.file.src_uri] = _led(markdown, source, page.file.src_uri)
    return led


def on_post_build(config: MkDocsConfig) -> None:
    """Write what language models read: each page as Markdown, their index, and all of them in one file."""
    site = Path(config.site_dir)
    for name, text in _texts.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    nav = config.nav or []
    (site / "llms.txt").write_text(site_llms.index(nav, _texts), encoding="utf-8")
    (site / "llms-full.txt").write_text(site_llms.full(nav, _texts), encoding="utf-8")


def _led(markdown: str, source: str, page: str) -> str:
    """Return the text with the links of a file of the repository as those of a page of the site."""
    for link in sorted(site_links.links(markdown), key=lambda link: link.start, reverse=True):
        target, mark, fragment = link.target.partition("#")
        if not target or re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("/"):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path.startswith("../") or not (ROOT / path).exists():
            continue  # MkDocs says so
        to = _place(path)
        if to is None:
            markdown = _unlinked(markdown, link, source)
        else:
            relative = posixpath.relpath(to, posixpath.dirname(page) or ".")
            markdown = markdown[: link.start] + relative + mark + fragment + markdown[link.end :]
    return markdown


def _place(path: str) -> str | None:
    """Return where the site has a file or folder of the repository; None for nowhere."""
    if path in PAGES:
        return PAGES[path]
    if path in ALIASES:
        return ALIASES[path]
    if path.startswith("docs/"):
        name = path.removeprefix("docs/")
        return posixpath.join(name, "index.md") if (ROOT / path).is_dir() else name
    if path.startswith(f"{CHARTS}/"):
        return f"charts/{posixpath.basename(path)}"
    return None


def _unlinked(markdown: str, link: site_links.Link, source: str) -> str:
    """Return the text with what was linked in the place of the link: the file is in the repository, not on the site."""
    begin = markdown.rfind("[", 0, link.start)
    end = markdown.find(")", link.end) + 1
    if markdown[link.start - 2 : link.start] != "](" or (begin > 0 and markdown[begin - 1] == "!"):
        raise PluginError(f"{source}: {link.target} is not on the site, and no plain link whose text could stay")
    return markdown[:begin] + markdown[begin + 1 : link.start - 2] + markdown[end:]
