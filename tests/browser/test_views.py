"""Each view looked at in both themes, wide and narrow: what everybody must be able to use."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from .world import HOSTILE, HUB, ODD_ID

VIEWS = {
    "search": ("#search?q=retry%20cookies", ".search-view .hit"),
    "search-empty": ("#search", "h1"),
    "why": ("#why?q=cookies&id=entry-02", ".why-view .verdict"),
    "why-not": ("#why?q=cookies&id=entry-01&domain=web", ".why-view .verdict"),
    "compare": ("#compare?q=retry%20cookies&a=septet&b=seven-signals", ".moving li"),
    "browse": ("#browse", ".entries > li[data-id]"),
    "browse-month": ("#browse?when=2026-01&domain=http", ".entries > li[data-id]"),
    "entry": ("#browse?id=entry-03", ".versions"),
    "entry-hub": (f"#browse?id={HUB}", ".graph"),
    "entry-hostile": (f"#browse?id={quote(HOSTILE, safe='')}", ".graph"),
    "entry-odd": (f"#browse?id={quote(ODD_ID, safe='')}", ".graph"),
    "health": ("#health", ".plot"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_good_for_all(seen, url, name):
    view, ready = VIEWS[name]
    seen(url, view, name, ready)
