"""The asyncio form of methods that return a retriever; the retrieval package is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from septet.aio.mirror import Mirror, Mirrored

if TYPE_CHECKING:
    from septet.aio.retrieving import AsyncRetriever
    from septet.retrieval.retriever import Retriever

_P = ParamSpec("_P")
_S = TypeVar("_S")


def mirrored_retriever(method: Callable[Concatenate[_S, _P], Retriever]) -> Mirrored[_P, AsyncRetriever]:
    """Return a method of a `Mirror` that calls ``method`` on a thread and wraps the retriever for asyncio."""
    plain = cast("Callable[..., Any]", method)

    @wraps(plain)
    async def twin(self: Mirror[Any], *args: Any, **named: Any) -> AsyncRetriever:
        from septet.aio.retrieving import AsyncRetriever

        return AsyncRetriever(
            await self._workers.run(getattr(self.blocking, plain.__name__), *args, **named), self._workers
        )

    twin.__module__ = __name__
    return cast("Mirrored[_P, AsyncRetriever]", twin)
