"""Received: an answer of a server, checked against its declared type before any code reads a field of it."""

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

__all__ = ["Count", "Finite", "Many", "Mask", "Said", "inner", "received"]

_Item = TypeVar("_Item")
#: Hides the token in a text.
Mask: TypeAlias = Callable[[str], str]


class _FirstOnly:
    """Ends at the first wrong item of a list: a server may send millions of them."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return {**handler(source), "fail_fast": True}


Many = Annotated[list[_Item], _FirstOnly()]
#: JSON has 1e999, and programs that read the answer have no use for it.
Finite = Annotated[float, Field(allow_inf_nan=False)]
#: Sums over tiers must fit into 64 bits; so large a number is also exact in every program that reads JSON.
Count = Annotated[int, Field(ge=0, lt=1 << 53)]


def _masked(text: str, info: ValidationInfo) -> str:
    return text if info.context is None else str(info.context(text))


#: What a server says in its own words, in which it may repeat the token.
Said = Annotated[str, AfterValidator(_masked)]


#: How pydantic names the members of unions.
_MEMBER = re.compile(r"(constrained-)?(str|int|float|bool)|[a-z-]+\[.*", re.DOTALL)


def received(body: bytes, shape: Any, where: str, mask: Mask | None = None) -> Any:
    """Return the JSON of an answer as a value of a type; unknown fields are left out.

    Args:
        shape: the type: a typed dict, a named tuple, or what pydantic makes of one.
        where: the server, as messages call it.
        mask: hides the token in what the server says in its own words.

    Raises:
        Unreachable: the answer is of another type; the message names the field and what is expected there.
    """
    try:
        return _adapter(shape).validate_json(body, strict=True, context=mask)
    except ValidationError as fault:
        said = _first(fault)
    # Outside of the handler: its error holds the answer.
    raise Unreachable(f"{where} {said if mask is None else mask(said)}")


def inner(value: Any, shape: Any, info: ValidationInfo) -> Any:
    """Return a part of an answer as a value of a type, for validators of types that hold themselves.

    Raises:
        ValueError: it is of another type.
    """
    try:
        return _adapter(shape).validate_python(value, strict=True, context=info.context)
    except ValidationError as fault:
        said = _first(fault)
    raise ValueError(said)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _first(fault: ValidationError) -> str:
    """Return the first error, one about a value before one about a missing field."""
    errors = fault.errors(include_url=False, include_input=False, include_context=False)
    error = next((one for one in errors if one["type"] != "missing"), errors[0])
    field, wanted = _place(error["loc"]), cut(printable(error["msg"]))
    if error["type"] == "json_invalid":
        return f"answers with what is no JSON ({wanted.removeprefix('Invalid JSON: ')})"
    if error["type"] == "missing":
        return f"answers without the field {field}"
    wanted = wanted.removeprefix("Value error, ").replace("Input should be", "wanted", 1)
    return f"answers with a wrong value{field and ' of '}{field}: {wanted}"


def _place(parts: Sequence[int | str]) -> str:
    """Return where a field is; members of unions, which pydantic names as parts too, are no fields."""
    names = [str(part) for part in parts if not isinstance(part, str) or not _MEMBER.fullmatch(part)]
    return cut(printable(".".join(names)))
