"""What a built site must keep to: no request to another host, no link that leads nowhere, no path of the machine.

`python website/site_built.py target/site` prints what does not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Read", "faults", "foreign", "read"]

#: Attributes whose value a browser loads when it shows the page, by element; "" stands for every element.
_LOADED = {
    "": {"src", "srcset", "poster", "background"},
    "link": {"href"},
    "use": {"href", "xlink:href"},
    "image": {"href", "xlink:href"},
    "object": {"data"},
}
#: Links that say something about the page and load nothing.
_SAID = {"canonical", "alternate", "prev", "next", "author", "license", "help", "me"}
_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Read(HTMLParser):
    """A page as it was read.

    Attributes:
        loads: what a browser loads with it.
        links: where its links go.
        names: the names that a fragment may have.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self._style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element loads, where it leads and how it is called."""
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        self.names |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & _SAID:
            return
        for name in _LOADED[""] | _LOADED.get(tag, set()):
            if name in given:
                parts = given[name].split(",") if name == "srcset" else [given[name]]
                self.loads += [part.split()[0] for part in parts if part.strip()]
        self.loads += _of_style(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Note what a style sheet within the page loads."""
        if self._style:
            self.loads += _of_style(data)


def _of_style(text: str) -> list[str]:
    return [first or second for first, second in _URL.findall(_COMMENT.sub("", text))]


def read(site: Path) -> dict[Path, Read]:
    """Return the pages of a built site."""
    return {path: Read(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def foreign(address: str) -> bool:
    """Say whether an address is on another host; `data:` and `#` are in the page itself."""
    parts = urlsplit(address.strip())
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp", "ws", "wss")


def _loaded_from_elsewhere(site: Path, pages: dict[Path, Read]) -> Iterator[str]:
    for path, page in pages.items():
        yield from (f"{path.relative_to(site)} loads {one}" for one in page.loads if foreign(one))
    for path in sorted([*site.rglob("*.css"), *site.rglob("*.svg")]):
        text = path.read_text(encoding="utf-8")
        loads = _of_style(text) + (Read(text).loads if path.suffix == ".svg" else [])
        yield from (f"{path.relative_to(site)} loads {one}" for one in loads if foreign(one))


def _leading_nowhere(site: Path, pages: dict[Path, Read]) -> Iterator[str]:
    for path, page in pages.items():
        # The page for addresses that are not there can be shown at any address: its links are absolute.
        absolute = path == site / "404.html"
        for address in {*page.links, *page.loads}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            start = site if absolute and parts.path.startswith("/") else path.parent
            to = (start / unquote(parts.path).lstrip("/" if absolute else "")).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if parts.path.startswith("/") and not absolute:
                yield f"{path.relative_to(site)}: {address} begins at the root of a host"
            elif not to.is_file():
                yield f"{path.relative_to(site)}: {address} is not there"
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].names | {"__top"}:
                yield f"{path.relative_to(site)}: {address}: no such place on the page"


def _naming_the_machine(site: Path) -> Iterator[str]:
    places = {str(Path(__file__).resolve().parent.parent), str(site.resolve()), str(Path.home())}
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".js", ".json", ".css", ".xml", ".svg", ".map"):
            text = path.read_text(encoding="utf-8")
            yield from (f"{path.relative_to(site)} names {place}" for place in places if f"{place}/" in text)


def faults(site: Path) -> list[str]:
    """Return what is wrong with a built site, a sentence each."""
    site = site.resolve()
    pages = read(site)
    if not pages:
        return [f"{site} has no page"]
    found = [*_loaded_from_elsewhere(site, pages), *_leading_nowhere(site, pages), *_naming_the_machine(site)]
    return sorted(set(found))


def main() -> int:
    """Print what is wrong with the site that the command line names; return how the command ends."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "target/site")
    found = faults(site)
    print(
        "\n".join(found) or f"{len(list(site.rglob('*.html')))} pages: every link leads somewhere, nothing is foreign"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
