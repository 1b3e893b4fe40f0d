"""Reference pages made from the code at build time: notes, errors, profiles, providers, commands with exit codes."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import septet
from septet import errors, notes
from septet.cli import exits
from septet.cli.app import app
from septet.cli.commands import SECTIONS
from septet.embedding.providers import formats
from septet.embedding.providers.formats import KEY_VARIABLES
from septet.profiles import BUILTIN, Profile, WeightSet

__all__ = ["pages"]

_MODES: tuple[WeightSet, ...] = ("text", "hybrid")
PACKAGE = Path(septet.__file__).parent
_DEFAULT_MODELS = {
    "openai": formats.OPENAI_MODEL,
    "voyage": formats.VOYAGE_MODEL,
    "gemini": formats.GEMINI_MODEL,
}


def pages() -> dict[str, str]:
    """Return the Markdown of the pages by their paths within the site, in the order of the navigation."""
    return {
        "reference/cli.md": _commands(),
        "reference/profiles.md": _profiles(),
        "reference/providers.md": _providers(),
        "reference/notes.md": _notes(),
        "reference/errors.md": _errors(),
    }


def _marked(text: str) -> str:
    """Return the text of a docstring as Markdown in a cell of a table."""
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", *parts)) + "\n"


def _table(header: str, rows: Iterable[tuple[str, ...]]) -> str:
    names = header.split("|")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


# -- notes -------------------------------------------------------------------------------------------------------------


def _meanings() -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"^``(\w+)`` +(\S.*)$", notes.__doc__ or "", re.MULTILINE)}


def _cures() -> dict[str, set[str]]:
    """Return what the notes of a code advise, as far as it stands in the sources as one text."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Note":
                code, _, cure = (*node.args[:3], None, None, None)[:3]
                if all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in (code, cure)):
                    found.setdefault(code.value, set()).add(cure.value)  # type: ignore[union-attr]
    return found


def _notes() -> str:
    meanings, cures = _meanings(), _cures()
    rows = [
        (
            f'<a id="{code}"></a>`{code}`' + ("<br>degrades" if code in notes.DEGRADING else ""),
            _marked(meanings[code]),
            _marked("; or ".join(sorted(filter(None, cures.get(code, ()))))),
        )
        for code in sorted(meanings)
    ]
    return _page(
        "Codes of notes",
        "A search never fails for want of something: it answers with what it has, and says in `results.notes` what was "
        "missing or done differently. So do runs of embedding. Test for the code; `cause` says what happened this "
        "time, `cure` what to do about it. *Degrades* marks the codes of `septet.notes.DEGRADING`: the answer is "
        "less than it could be.",
        _table("code|meaning|what the note advises", rows),
        "Where the third column is empty, the advice depends on the case: the note has it.",
    )


# -- errors ------------------------------------------------------------------------------------------------------------


def _tree(kind: type[errors.SeptetError], depth: int = 0) -> Iterator[tuple[int, type[errors.SeptetError]]]:
    yield depth, kind
    for name in errors.__all__:
        child = getattr(errors, name)
        if kind in child.__bases__:
            yield from _tree(child, depth + 1)


def _errors() -> str:
    rows = []
    for depth, kind in _tree(errors.SeptetError):
        others = [b.__name__ for b in kind.__bases__ if not issubclass(b, errors.SeptetError) and b is not Exception]
        said = (kind.__doc__ or "").split("\n\n")[0]
        indent = "&emsp;" * depth
        rows.append(
            (
                f"{indent}[`{kind.__name__}`][septet.{kind.__name__}]",
                f"`{kind.code}`",
                _marked(said),
                ", ".join(f"`{name}`" for name in others),
            )
        )
    return _page(
        "Errors and their codes",
        "Writes raise, searches degrade and say so in [notes](notes.md). Every error that Septet raises on purpose is "
        "a `SeptetError`; its message says what was found, what was wanted, and what to do. `code` is what HTTP and "
        "MCP send beside the message. An error is of every kind above it, and of Python's own where the last column "
        "names one. [What a service does about each](../operations.md#errors-and-notes) is under operations.",
        _table("error|code|when|also", rows),
    )


# -- profiles ----------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return a part of a profile as JSON has it, without what is the default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {}
        for field in dataclasses.fields(value):
            given = getattr(value, field.name)
            made = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            if given != made:
                found[field.name] = _plain(given)
        return found
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    return value


def _expression(value: Any) -> str:
    return "`" + json.dumps(_plain(value), ensure_ascii=False) + "`"


def _profile(profile: Profile) -> str:
    signals = [
        (f"`{name}`", *(f"{profile.weights[mode][name]:.4g}" for mode in _MODES), _expression(of))
        for name, of in profile.signals.items()
    ]
    parts = [f"## {profile.name}", profile.description]
    parts.append(_table("signal|text alone|with vectors|expression", signals))
    rest = _plain(profile)
    for shown in ("name", "description", "signals", "weights"):
        rest.pop(shown, None)
    if rest:
        settings = [(f"`{name}`", "`" + json.dumps(value, ensure_ascii=False) + "`") for name, value in rest.items()]
        parts.append(_table("setting|value, where it is not the default", settings))
    return "\n\n".join(parts)


def _profiles() -> str:
    return _page(
        "Built-in profiles",
        "Every number that ranking uses, as the code has it. [Profiles](../profiles.md) explains columns, expressions "
        "and rules, and shows how to write one; [ranking](../ranking.md) tells how these numbers were found.",
        *map(_profile, BUILTIN.values()),
    )


# -- providers ---------------------------------------------------------------------------------------------------------


def _providers() -> str:
    rows = []
    for name, variables in KEY_VARIABLES.items():
        models = formats.DIMENSIONS.get(name, {})
        default = _DEFAULT_MODELS.get(name)
        rows.append(
            (
                f"`{name}`",
                " or ".join(f"`{one}`" for one in variables) or "none is sent unless the configuration has one",
                f"`{default}`" if default else "must be named",
                ", ".join(f"`{model}` ({dimensions:,})" for model, dimensions in models.items()),
            )
        )
    return _page(
        "Embedding providers",
        "What `provider` of an embedding configuration may name, besides `local` (a model in a folder, without a "
        "network), `auto` and `none`. Nothing is embedded, and nothing is sent, until a provider is configured. "
        "[Embedding](../embedding.md) explains chains and fallbacks; `septet models` says what can be used on a "
        "machine.",
        _table("provider|key|default model|models whose dimensions are known", rows),
    )


# -- commands ----------------------------------------------------------------------------------------------------------


def _exit_codes() -> str:
    """Return the table of exit codes: each constant with what the comment above it says."""
    lines = Path(exits.__file__).read_text(encoding="utf-8").splitlines()
    rows = [("0", "done")]
    for above, line in itertools.pairwise(lines):
        if above.startswith("#:") and (found := re.match(r"\w+ = (\d+)$", line)):
            rows.append((found[1], _marked(above.removeprefix("#:"))))
    return _table("code|meaning", rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


def _command(group: Any, name: str) -> str:
    import typer

    command = group.get_command(None, name)
    context = typer.Context(command, info_name=f"septet {name}", terminal_width=10_000, max_content_width=10_000)
    usage = command.get_usage(context).removeprefix("Usage:").strip()
    paragraphs = [_cell(" ".join(part.split())) for part in (command.help or "").replace("\b", "").split("\n\n")]
    parts = [f"### septet {name}", *filter(None, paragraphs), f"```text\n{usage}\n```"]
    records = [(p.param_type_name, p.get_help_record(context)) for p in command.get_params(context)]
    rows = [
        ("<code>" + _cell(record[0]).replace("\\|", "&#124;") + "</code>", _cell(" ".join(record[1].split())))
        for _, record in records
        if record is not None and not record[0].startswith("-h,")
    ]
    if rows:
        parts.append(_table("|", rows))
    return "\n\n".join(parts)


def _commands() -> str:
    import typer

    group = typer.main.get_command(app)
    parts = [
        "Every command with its arguments and options, as `--help` has them. [The guide](../cli.md) shows them "
        "at work.",
        "## Exit codes",
        _exit_codes(),
    ]
    for heading, names in SECTIONS.items():
        parts += [f"## {heading}", *(_command(group, name) for name in names)]
    return _page("Commands and exit codes", *parts)
