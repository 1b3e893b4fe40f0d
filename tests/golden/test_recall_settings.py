"""The search block of a configuration: what is taken, what is refused, and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.errors import ProfileError
from septet.retrieval.recall.settings import RecallSettings, settings_of

CASES = other_recording("lore-config")["cases"]
#: Where the documented pull requests and later versions have different defaults, by path.
FIRST_DEFAULTS = {("queryExpansion",): False, ("embeddings", "enabled"): False}
BY_PROVIDER = {("embeddings", "provider"), ("embeddings", "model"), ("embeddings", "dimensions")}


def leaves(value: Mapping[str, Any], *path: str) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, inner in value.items():
        found |= leaves(inner, *path, name) if isinstance(inner, Mapping) else {(*path, name): inner}
    return found


KNOWN = leaves(RecallSettings().model_dump(by_alias=True)).keys()
PARTS = {path[:at] for path in KNOWN for at in range(1, len(path) + 1)}


def without_unknown(block: Mapping[str, Any], *path: str) -> dict[str, Any]:
    kept = {name: value for name, value in block.items() if (*path, name) in PARTS}
    return {
        name: without_unknown(value, *path, name) if isinstance(value, Mapping) else value
        for name, value in kept.items()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["input"])[:60])
@differs("nothing-is-asked-of-a-model-unasked", "a-model-goes-with-its-provider", "unknown-settings-are-errors")
def test_a_block_is_taken_or_refused_as_recorded(case: Mapping[str, Any]) -> None:
    if not case["ok"]:
        with pytest.raises(ProfileError, match=case["error_path"].replace(".", r"\.") + " is invalid"):
            settings_of(case["input"])
        return
    block = case["input"].get("search") or {}
    taken = without_unknown(block)
    if taken != block:
        with pytest.raises(ProfileError, match="does not exist"):
            settings_of(case["input"])
    ours = leaves(settings_of({"search": taken}).model_dump(by_alias=True))
    given = leaves(taken)
    for path, value in leaves(case["search"]).items():
        if path in given:
            assert ours[path] == value == given[path]
        elif path in FIRST_DEFAULTS:
            assert ours[path] == FIRST_DEFAULTS[path]
        elif path not in BY_PROVIDER:
            assert ours[path] == value


@differs("unknown-settings-are-errors")
@pytest.mark.parametrize("case", [case for case in CASES if case["ok"]], ids=lambda case: str(case["input"])[:60])
def test_an_unknown_name_is_an_error_wherever_it_stands(case: Mapping[str, Any]) -> None:
    block = case["input"].get("search") or {}
    for name in ("recallLimits", "fts_weight"):
        with pytest.raises(ProfileError, match=f"search.{name} does not exist: did you mean"):
            settings_of({"search": {**block, name: 1}})
    for part, field in (("recall", "charBudgets"), ("ftsWeights", "titles"), ("embeddings", "modell")):
        with pytest.raises(ProfileError, match=f"search.{part}.{field} does not exist: did you mean {field[:-1]}"):
            settings_of({"search": {**block, part: {**block.get(part, {}), field: 1}}})


@differs("a-model-goes-with-its-provider")
def test_a_block_names_an_embedder_only_when_it_is_enabled() -> None:
    assert settings_of({}).embeddings.config.provider == "none"
    asked = settings_of({"search": {"embeddings": {"enabled": True}}}).embeddings.config
    assert (asked.provider, asked.model, asked.dimensions) == ("voyage", "voyage-code-3", 1024)
    other = settings_of({"search": {"embeddings": {"enabled": True, "provider": "openai"}}}).embeddings.config
    assert (other.provider, other.model, other.dimensions) == ("openai", None, None)
