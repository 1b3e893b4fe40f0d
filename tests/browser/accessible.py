"""What everybody must be able to use: names, landmarks, headings, contrast, sizes, the keyboard."""

from __future__ import annotations

from pathlib import Path

__all__ = ["accessibility_faults", "tab_faults"]

CHECKS = (Path(__file__).parent / "accessible.js").read_text(encoding="utf-8")
MOST_TABS = 400


def accessibility_faults(page):
    """Return in sentences what is wrong with a page as it is shown now."""
    return page.evaluate(CHECKS)


def tab_faults(page):
    """Go through the whole page by Tab: return controls that are not reached, and those whose focus is not seen."""
    page.evaluate("document.activeElement?.blur(); window.scrollTo(0, 0)")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
        .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0)
        .map((e, n) => (e.dataset.walk = n, (e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 60)))"""
    )
    reached, faults = set(), []
    for _ in range(min(len(wanted) + 3, MOST_TABS)):
        page.keyboard.press("Tab")
        at, ringed = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e);
            const ring = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1.5;
            return [e.dataset?.walk, ring || s.boxShadow !== 'none']; }"""
        )
        if at is None:
            continue
        reached.add(int(at))
        if not ringed:
            faults.append(f"the focus is not seen on {wanted[int(at)]!r}")
    # Of radio buttons with one name, Tab reaches one.
    groups = page.evaluate(
        "() => [...document.querySelectorAll('input[type=radio][data-walk]')].map(e => +e.dataset.walk)"
    )
    return faults + [
        f"Tab does not reach {name!r}"
        for n, name in enumerate(wanted)
        if n not in reached and n not in groups and len(wanted) < MOST_TABS
    ]
