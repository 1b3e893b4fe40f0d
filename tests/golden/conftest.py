"""Vaults and references that many golden tests share; nothing changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache

import pytest

from golden.loader import NOW, agent_vault, recording
from golden.reference import Corpus
from septet import Vault


@pytest.fixture(scope="session")
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def agent(opened: ExitStack) -> Callable[[bool, bool], Vault]:
    """Return the recorded agent vault by (links, vectors)."""
    return cache(lambda links, vectors: opened.enter_context(agent_vault(links=links, vectors=vectors)))


@pytest.fixture(scope="session")
def corpus(opened: ExitStack) -> Callable[..., Corpus]:
    """Return the reference over a recorded part (``agent``, ``project``...) by (part, links, vectors)."""
    data = recording("corpus")

    @cache
    def make(part: str = "agent", links: bool = False, vectors: bool = False) -> Corpus:
        made = Corpus(
            data[part],
            NOW,
            data["links"] if links else (),
            data["vectors"]["entryVectors"] if vectors else {},
        )
        return opened.enter_context(closing(made))

    return make
