"""The methods of a vault on its other faces: for asyncio, and on a server. Each is listed once for either."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from typing_extensions import Self

    from septet.model.suggestion import Suggestion
    from septet.vault.alike import Adding, Remembering

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


class Mirrored(Generic[_P, _R]):
    """The static type of an async twin: the parameters and the awaited result of the plain method."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[_P, Coroutine[Any, Any, _R]]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        """Bind the method; at run time the attribute is a function, which binds itself."""


class Declared:
    """A method of a vault in a list of methods; the class that inherits the list replaces it by a function."""

    def __init__(self, method: Any) -> None:
        self.method = method


def declared(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the declared methods of a class by name."""
    for name in dir(kind):
        if isinstance(entry := getattr_static(kind, name), Declared):
            yield name, entry.method


@overload
def awaited(  # type: ignore[overload-overlap]
    method: Adding[str, Suggestion],
) -> Adding[Coroutine[Any, Any, str], Coroutine[Any, Any, Suggestion]]: ...
@overload
def awaited(  # type: ignore[overload-overlap]
    method: Remembering[str, Suggestion],
) -> Remembering[Coroutine[Any, Any, str], Coroutine[Any, Any, Suggestion]]: ...
@overload
def awaited(method: Callable[Concatenate[_S, _P], _R]) -> Mirrored[_P, _R]: ...
def awaited(method: Any) -> Any:
    """Declare the coroutine method for a method of the vault."""
    return Declared(method)


@overload
def remote(method: Adding[str, Suggestion]) -> Adding[str, Suggestion]: ...  # type: ignore[overload-overlap]
@overload
def remote(method: Remembering[str, Suggestion]) -> Remembering[str, Suggestion]: ...  # type: ignore[overload-overlap]
@overload
def remote(method: Callable[Concatenate[_S, _P], _R]) -> Callable[Concatenate[Any, _P], _R]: ...
def remote(method: Any) -> Any:
    """Declare the method of a client for a method of the vault.

    Typed as a function, not as a descriptor: pyright ignores descriptors when it compares a class with a protocol,
    such as `septet.federation.Member`.
    """
    return Declared(method)


class AwaitedMethods:
    """The methods of vaults, federations and clients for asyncio."""

    search = awaited(AnyVault.search)
    search_many = awaited(AnyVault.search_many)
    recall = awaited(AnyVault.recall)
    similar = awaited(AnyVault.similar)
    context = awaited(AnyVault.context)
    explain = awaited(AnyVault.explain)
    weights = awaited(AnyVault.weights)

    get = awaited(AnyVault.get)
    load = awaited(AnyVault.load)
    entries = awaited(AnyVault.entries)
    count = awaited(AnyVault.count)
    facets = awaited(AnyVault.facets)
    history = awaited(AnyVault.history)
    links = awaited(AnyVault.links)
    stats = awaited(AnyVault.stats)

    add = awaited(AnyVault.add)
    update = awaited(AnyVault.update)
    supersede = awaited(AnyVault.supersede)
    reinstate = awaited(AnyVault.reinstate)
    remember = awaited(AnyVault.remember)
    forget = awaited(AnyVault.forget)
    delete = awaited(AnyVault.delete)
    link = awaited(AnyVault.link)
    unlink = awaited(AnyVault.unlink)
    feedback = awaited(AnyVault.feedback)


class AwaitedOfOneStore(AwaitedMethods):
    """The methods of vaults and clients for asyncio; a federation has those that change many entries by tier."""

    update_many = awaited(AnyVault.update_many)
    link_many = awaited(AnyVault.link_many)


class RemoteMethods:
    """The methods of a client."""

    search = remote(AnyVault.search)
    search_many = remote(AnyVault.search_many)
    recall = remote(AnyVault.recall)
    similar = remote(AnyVault.similar)
    context = remote(AnyVault.context)
    explain = remote(AnyVault.explain)
    weights = remote(AnyVault.weights)

    get = remote(AnyVault.get)
    load = remote(AnyVault.load)
    _ids_beginning = remote(AnyVault._ids_beginning)
    entries = remote(AnyVault.entries)
    count = remote(AnyVault.count)
    facets = remote(AnyVault.facets)
    history = remote(AnyVault.history)
    links = remote(AnyVault.links)
    stats = remote(AnyVault.stats)

    add = remote(AnyVault.add)
    add_many = remote(AnyVault.add_many)
    update = remote(AnyVault.update)
    update_many = remote(AnyVault.update_many)
    supersede = remote(AnyVault.supersede)
    reinstate = remote(AnyVault.reinstate)
    remember = remote(AnyVault.remember)
    forget = remote(AnyVault.forget)
    delete = remote(AnyVault.delete)
    link = remote(AnyVault.link)
    link_many = remote(AnyVault.link_many)
    unlink = remote(AnyVault.unlink)
    feedback = remote(AnyVault.feedback)
