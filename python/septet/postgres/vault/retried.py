"""The methods that write, run again when other writers on the server were in their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

from septet.vault.batch import MOST_IDS

_Kind = TypeVar("_Kind", bound=type)

#: Methods that are one transaction, from their beginning to its end.
TRANSACTIONS = (
    "_write _change _add_near _restore_feedback update supersede reinstate link_many unlink feedback reset_feedback"
).split()


def retried(kind: _Kind) -> _Kind:
    """Let each transaction that was a victim of a deadlock be done again, a few times; a decorator of the class."""
    for name in TRANSACTIONS:
        setattr(kind, name, _again(getattr(kind, name)))
    return kind


def _again(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        # psycopg is there when a vault is open.
        from septet.postgres.store.again import again

        return again(method)(self, *map(_held, args), **{name: _held(value) for name, value in named.items()})

    return call


def _held(value: Any) -> Any:
    """Return an argument that can be read twice: an iterator as a list of no more than a call takes."""
    if isinstance(value, Iterator):
        return list(islice(value, MOST_IDS + 1))
    if type(value) is dict or (isinstance(value, Mapping) and any(isinstance(one, Iterator) for one in value.values())):
        return {name: _held(one) for name, one in value.items()}
    return value
