"""The bounds that the code has, as the table at the end of docs/operations.md; run it to write the table anew."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
BEGIN = "### Every bound\n"
INTRO = f"""{BEGIN}
Made from the code (`python tests/docs/bounds_in_code.py`): each constant that bounds something, by its module.

| module | bound | at most |
|---|---|--:|
"""
NAME = re.compile(r"_?(?:MOST|MAX)_([A-Z0-9_]+)|([A-Z0-9_]+_LIMIT)")
RUST = re.compile(r"^(?:pub(?:\(\w+\))? )?const ((?:MOST|MAX)_\w+): [ui]\w+ = ([\d_ <>*+()]+);", re.MULTILINE)


def bounds() -> Iterator[tuple[str, str, int | float]]:
    """Yield module, name and value of each bound."""
    package = ROOT / "python" / "septet"
    for path in sorted(package.rglob("*.py")):
        values: dict[str, int | float] = {}
        for node in ast.parse(path.read_text()).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            value = _number(getattr(node, "value", None), values)
            if value is not None:
                values |= dict.fromkeys(names, value)
        place = path.relative_to(package).with_suffix("").as_posix().replace("/__init__", "")
        yield from ((place, name, value) for name, value in values.items() if NAME.fullmatch(name))
    for path in sorted((ROOT / "rust").rglob("*.rs")):
        place = "rust/" + path.relative_to(ROOT / "rust").with_suffix("").as_posix().removesuffix("/mod")
        for name, text in RUST.findall(path.read_text()):
            value = _number(ast.parse(text.strip(), mode="eval").body, {})
            assert value is not None, (place, name)
            yield place, name, value


def _number(node: ast.AST | None, known: dict[str, int | float]) -> int | float | None:
    """Return what an expression of numbers and earlier constants comes to."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left, known), _number(node.right, known)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
            case ast.Pow():
                return left**right
            case ast.LShift():
                return int(left) << int(right)
    return None


def table() -> str:
    """Return the section of the page."""
    rows = [
        f"| `{place}` | {name.strip('_').lower().replace('_', ' ')} | {value:,} |\n" for place, name, value in bounds()
    ]
    return INTRO + "".join(rows)


def written(page: str) -> str:
    """Return a page with the section as it is now, at its end."""
    return page.partition(BEGIN)[0].rstrip("\n") + "\n\n" + table()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
