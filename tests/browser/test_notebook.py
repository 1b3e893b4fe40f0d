"""What notebooks show of values, in a browser: on a light and a dark ground, wide and narrow."""

from __future__ import annotations

import pytest

from septet import Vault, evaluate

from .accessible import accessibility_faults
from .world import ALARM

SCRIPT = f"<script>window.{ALARM} = 1</script><img src=x onerror='window.{ALARM} = 1'> & \"quoted\""
GROUNDS = {"light": ("#ffffff", "#000000"), "dark": ("#111111", "#d4d4d4")}
#: What Jupyter has around an output: it scrolls sideways, and the page does not.
PAGE = """<!doctype html><html lang=en><title>notebook</title><style>body {{ margin: 8px; background: {ground};
color: {text}; font: 14px sans-serif }} .output {{ overflow-x: auto }}</style><body><header><nav>File</nav></header>
<main><h1>Output</h1><div class=output>{html}</div></main>"""


@pytest.fixture(scope="module")
def shown():
    """HTML by name."""
    with Vault(":memory:", clock=lambda: 1.7e9) as vault:
        vault.add(id="jwt", title="JWT validation", description=f"Check exp and aud. {SCRIPT}", tags=["auth", SCRIPT],
                  span={"path": "notes/" + "deep/" * 30 + "jwt.md", "first_line": 3, "last_line": 9})  # fmt: skip
        vault.add(id="cookies", title=SCRIPT, description="Check SameSite, and exp " + "x" * 300)
        vault.add_many({"id": f"e{n}", "title": f"entry {n}", "description": "check exp " * 40} for n in range(20))
        found = vault.search(f"check exp {SCRIPT}", limit=20)
        judged = evaluate(vault, {"q": "check exp"}, {"q": {"jwt": 1}})
        values = {
            "results": found,
            "hit": next(hit for hit in found if hit.id == "jwt"),
            "entry": vault.get("cookies"),
            "page": vault.entries(limit=20),
            "explanation": vault.explain(f"check exp {SCRIPT}", "jwt"),
            "evaluation": judged,
            "comparison": judged.compare(judged),
        }
        yield {name: value._repr_html_() for name, value in values.items()}


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("name", ["results", "hit", "entry", "page", "explanation", "evaluation", "comparison"])
def test_an_output_is_legible_on_both_grounds_and_stays_in_its_page(browser, shown, name, width, theme):
    ground, text = GROUNDS[theme]
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    try:
        page.set_content(PAGE.format(ground=ground, text=text, html=shown[name]))
        page.wait_for_timeout(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(f"window.{ALARM}") is None, "a script of an entry ran"
        assert page.locator("main script, main img").count() == 0
        # A table of facts has no heads.
        faults = [one for one in accessibility_faults(page) if not one.startswith("a table without heads")]
        assert faults == []
        if name != "hit":
            table = page.locator("table").first
            assert table.is_visible() and table.locator("tr").count() > 0
    finally:
        page.close()


def test_results_use_the_width_that_there_is(browser, shown):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    try:
        page.set_content(PAGE.format(ground="#fff", text="#000", html=shown["results"]))
        assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.output'))")
        assert SCRIPT.split(">")[0] in page.locator("main").inner_text()
    finally:
        page.close()
