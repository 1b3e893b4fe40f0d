"""Addresses of PostgreSQL servers, and what of them may be shown."""

from __future__ import annotations

import re
from typing import NamedTuple

from septet.arguments import shown, utf8
from septet.errors import StoreError

__all__ = ["Address", "is_dsn", "vault_named", "without_passwords"]

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
        from urllib.parse import quote

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


def vault_named(dsn: str, vault: str | None = None) -> tuple[str, str]:
    """Return an address as libpq reads it, and the name of the vault that it means.

    Args:
        dsn: ``postgresql://host/database?vault=team``: ``vault`` is Septet's own parameter.
        vault: the name, where it is told elsewhere.

    Raises:
        StoreError: no vault is named, or two; the message has no password.
    """
    from urllib.parse import quote, unquote

    # A password may hold a question mark.
    begin = dsn.find("@") + 1 if "@" in dsn.partition("://")[2].partition("/")[0] else 0
    head, _, query = dsn[begin:].partition("?")
    rest = [one for one in query.split("&") if one and one.partition("=")[0] != "vault"]
    said = {unquote(one.partition("=")[2]) for one in query.split("&") if one.partition("=")[0] == "vault"}
    plain, names = dsn[:begin] + head + (f"?{'&'.join(rest)}" if rest else ""), said | ({vault} if vault else set())
    names.discard("")
    if not names:
        mark = "&" if rest else "?"
        raise StoreError(f"{without_passwords(plain)} names no vault: write {mark}vault=NAME at its end")
    if len(names) > 1:
        wanted = ", ".join(sorted(map(quote, names)))
        raise StoreError(f"{without_passwords(plain)} is given with several vaults: wanted one of {wanted}")
    return plain, names.pop()


def without_passwords(text: str) -> str:
    """Return a text that may hold an address, without the passwords in it."""
    return _SECRETS.sub(r"\1***", _USER.sub(r"\1:***@", text))
