"""An edit of settings: any JSON keeps its bytes, reads as before with the entry in it, and is restored without it."""

import json
import random
from contextlib import suppress

import pytest

from septet.errors import StoreError
from septet.hooks.json_text import added, apply, parsed, without
from septet.hooks.settings import _taken_out

WORDS = ["a", "hooks", "SessionStart", 'quote " and \\', "// no comment", "Zoë 🦀", "x,}]"]


def value(draw, depth=0):
    kind = draw.randrange(7 if depth < 4 else 4)
    if kind < 4:
        return [draw.choice(WORDS), draw.randrange(-9, 9) / 4, None, True][kind]
    if kind == 4:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(WORDS): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def written(draw, settings):
    """Write JSON in one of the ways of programs."""
    indent = draw.choice([None, 1, 2, 4, "\t"])
    text = json.dumps(settings, indent=indent, ensure_ascii=draw.random() < 0.5)
    if draw.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return draw.choice(["", "\ufeff", "\n"]) + text + draw.choice(["", "\n", "  \n"])


def read(text):
    return json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize("seed", range(60))
def test_an_entry_is_added_to_any_settings_and_taken_out_again(seed):
    draw = random.Random(seed)
    for _ in range(10):
        settings = {draw.choice(WORDS): value(draw) for _ in range(draw.randrange(4))}
        hooks = settings.get("hooks")
        if "hooks" in settings and not isinstance(hooks, dict):
            del settings["hooks"]
        elif isinstance(hooks, dict) and not isinstance(hooks.get("SessionStart", []), list):
            del hooks["SessionStart"]
        text, entry = written(draw, settings), value(draw)
        insertions = added(text, ("hooks", "SessionStart"), entry)
        longer = apply(text, insertions)
        settings.setdefault("hooks", {}).setdefault("SessionStart", []).append(entry)
        assert read(longer) == settings
        assert _taken_out(longer, insertions) == text
        array = parsed(longer).get("hooks").get("SessionStart")
        for number in range(len(array.items)):
            rest = [*settings["hooks"]["SessionStart"]]
            del rest[number]
            assert read(without(longer, array, number))["hooks"]["SessionStart"] == rest


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_text_is_refused_or_read_and_never_crashes(seed):
    draw = random.Random(seed)
    text = written(draw, {"hooks": value(draw), "b": value(draw)})
    for at in range(len(text)):
        with suppress(StoreError):
            parsed(text[:at])
