"""Addresses of PostgreSQL servers, and what of them may be shown."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from septet.arguments import shown, utf8
from septet.errors import StoreError

__all__ = ["Address", "is_dsn", "without_passwords"]

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = re.compile(r"((?:password|passwd|sslpassword)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]*)", re.IGNORECASE)
_USER = re.compile(r"(postgres(?:ql)?://[^\s:@/]*):[^\s/]*@", re.IGNORECASE)


class Address(NamedTuple):
    """Where a vault is: what psycopg connects by, and what may be shown of it."""

    conninfo: str
    shown: str

    @classmethod
    def of(cls, dsn: object, vault: str) -> Address:
        """Return the address of a vault.

        Args:
            dsn: ``postgresql://…``, or ``host=… dbname=…`` as libpq reads it.

        Raises:
            StoreError: it cannot be read; the message has no password.
        """
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        text = utf8(dsn, "dsn", StoreError)
        try:
            parts = conninfo_to_dict(text)
        except ProgrammingError:
            # libpq's message quotes what it was given.
            raise StoreError(
                f"{shown(without_passwords(text))} is no address of a PostgreSQL server: "
                "wanted postgresql://user@host:5432/database"
            ) from None
        host, port = str(parts.get("host") or ""), str(parts.get("port") or "")
        ports = [*port.split(","), *[port] * host.count(",")]
        hosts = ",".join(f"{one}:{at}" if at else one for one, at in zip(host.split(","), ports))
        return cls(text, f"postgresql://{hosts}/{quote(str(parts.get('dbname') or ''))}?vault={quote(vault)}")


def is_dsn(text: object) -> bool:
    """Whether a text names a PostgreSQL server rather than a file."""
    return isinstance(text, str) and text.lower().startswith(_SCHEMES)


def without_passwords(text: str) -> str:
    """Return a text that may hold an address, without the passwords in it."""
    return _SECRETS.sub(r"\1***", _USER.sub(r"\1:***@", text))
