"""Received: an answer of a server, validated against its declared type before any field is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, TypeAdapter, ValidationError, ValidationInfo

from septet.errors import Unreachable, printable
from septet.inputs.arguments import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

_Item = TypeVar("_Item")
#: Hides the token in a text.
Mask: TypeAlias = Callable[[str], str]


class _FirstOnly:
    """Stop at the first invalid item of a list: a server may send millions."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return {**handler(source), "fail_fast": True}


Many = Annotated[list[_Item], _FirstOnly()]
#: JSON allows 1e999, which readers of the answer cannot use.
Finite = Annotated[float, Field(allow_inf_nan=False)]
#: Sums over tiers must fit into 64 bits; numbers below 2**53 are also exact in every JSON reader.
Count = Annotated[int, Field(ge=0, lt=1 << 53)]


def _masked(text: str, info: ValidationInfo) -> str:
    return text if info.context is None else str(info.context(text))


#: Free text of a server, which may repeat the token.
Said = Annotated[str, AfterValidator(_masked)]


#: Names that pydantic gives to the members of unions.
_MEMBER = re.compile(r"(constrained-)?(str|int|float|bool)|[a-z-]+\[.*", re.DOTALL)


def received(body: bytes, shape: Any, where: str, mask: Mask | None = None) -> Any:
    """Return the JSON of an answer as a value of a type; unknown fields are dropped.

    Args:
        shape: the type: a typed dict, a named tuple, or an annotated type of pydantic.
        where: the name of the server in messages.
        mask: hides the token in free text of the server.

    Raises:
        Unreachable: the answer is of another type; the message names the field and the expected type.
    """
    try:
        return _adapter(shape).validate_json(body, strict=True, context=mask)
    except ValidationError as fault:
        reason = _first_reason(fault)
    # Raised outside of the handler: the pydantic error holds the whole answer.
    raise Unreachable(f"{where} {reason if mask is None else mask(reason)}")


def inner(value: Any, shape: Any, info: ValidationInfo) -> Any:
    """Return a part of an answer as a value of a type, for validators of recursive types.

    Raises:
        ValueError: the value is of another type.
    """
    try:
        return _adapter(shape).validate_python(value, strict=True, context=info.context)
    except ValidationError as fault:
        reason = _first_reason(fault)
    raise ValueError(reason)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _first_reason(fault: ValidationError) -> str:
    """Return the reason of the first error, of an invalid value before a missing field."""
    errors = fault.errors(include_url=False, include_input=False, include_context=False)
    error = next((error for error in errors if error["type"] != "missing"), errors[0])
    field, expected = _path(error["loc"]), cut(printable(error["msg"]))
    if error["type"] == "json_invalid":
        return f"answers with invalid JSON ({expected.removeprefix('Invalid JSON: ')})"
    if error["type"] == "missing":
        return f"answers without the field {field}"
    expected = expected.removeprefix("Value error, ").replace("Input should be", "wanted", 1)
    return f"answers with a wrong value{field and ' of '}{field}: {expected}"


def _path(parts: Sequence[int | str]) -> str:
    """Return the dotted path of a field, without the union members that pydantic puts into it."""
    names = [str(part) for part in parts if not isinstance(part, str) or not _MEMBER.fullmatch(part)]
    return cut(printable(".".join(names)))
