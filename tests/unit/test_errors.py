"""Errors of Septet pass between processes whole."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from septet import errors
from septet.errors import BatchError, EmbeddingError, SeptetError, Unreachable


def tree(kind=SeptetError):
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


def made(kind):
    """An error as the library makes it, and its attributes."""
    if issubclass(kind, BatchError):
        wanted = {"written": 5_000, "index": 5_003}
    elif issubclass(kind, EmbeddingError):
        wanted = {"provider": "openai", "status": 429}
    elif issubclass(kind, Unreachable):
        wanted = {"status": 502}
    else:
        wanted = {}
    return kind("what was seen\n: what to do", **wanted), wanted


WAYS = {f"pickle {n}": lambda fault, n=n: pickle.loads(pickle.dumps(fault, n)) for n in range(6)}
WAYS |= {"copy": copy.copy, "deepcopy": copy.deepcopy}


def test_the_tree_has_every_error_that_is_exported():
    assert {kind.__name__ for kind in tree()} >= set(errors.__all__)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", sorted(set(tree()), key=str), ids=lambda kind: kind.__name__)
def test_an_error_is_pickled_and_copied_with_all_that_it_says(kind, way):
    fault, wanted = made(kind)
    fault.__notes__ = ["a note"]
    again = WAYS[way](fault)
    assert type(again) is kind
    assert (str(again), again.args, again.code) == (str(fault), fault.args, fault.code)
    assert {name: getattr(again, name) for name in wanted} == wanted
    assert again.__notes__ == ["a note"]


def test_the_vectors_that_a_provider_sent_before_it_failed_go_along():
    fault = errors.EmbeddingUnavailable("no answer", provider="p")
    fault.rows = np.ones((2, 3), dtype=np.float32)
    assert (pickle.loads(pickle.dumps(fault)).rows == fault.rows).all()


def stops(_item):
    raise BatchError("item 3 could not be stored", written=2, index=3)


def test_a_worker_of_a_pool_hands_a_batch_error_to_its_parent():
    with multiprocessing.get_context("spawn").Pool(1) as pool, pytest.raises(BatchError) as found:
        pool.map_async(stops, [0]).get(60)
    assert (found.value.written, found.value.index) == (2, 3)
