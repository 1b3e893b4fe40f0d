"""Addresses of PostgreSQL servers, and what of them may be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from septet.errors import StoreError
from septet.inputs.arguments import shown, utf8

_Fault = TypeVar("_Fault", bound=BaseException)

#: Patterns of this module are compiled on first use: each vault loads it, and few have an address.
_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = r"((?i:password|passwd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]*)"
_USER = r"((?i:postgres(?:ql)?)://[^\s:@/]*):\S*@"
#: A password that was not percent-encoded ends too early, and its rest would be taken for a host or a database.
_AMBIGUOUS = r"(?i:postgres(?:ql)?)://(?:[^@/?]*@[^/?]*@|[^@?]*/[^?]*@)"
#: Any address; pathlib makes one slash of two.
_ADDRESS = r"://|^(?i:postgres(?:ql)?:/|(?:host|hostaddr|port|dbname|user|password|service)\s*=)"
#: Defaults of an address: the application's name, and keepalives that detect a lost server; TCP alone takes hours.
_UNSAID = {
    "application_name": "septet",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
#: Settings that neither an address nor the environment overrides.
_SAID = {"client_encoding": "UTF8"}
#: The index of names takes some 2,700 bytes.
MOST_NAME_CHARS = 256
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"


class Address:
    """The address of a vault: parameters of psycopg, the part to show (no user, no password), and its hosts."""

    __slots__ = ("_parts", "hosts", "shown")

    def __init__(self, parts: Mapping[str, str], shown: str, hosts: int) -> None:
        self._parts, self.shown, self.hosts = parts, shown, hosts

    @classmethod
    def of(cls, dsn: object, vault: str | None = None) -> Address:
        """Return the address of a vault, or of a database; raise `StoreError`, without a password, if it is none.

        Args:
            dsn: ``postgresql://…``, or ``host=… dbname=…`` as libpq reads it.
        """
        from urllib.parse import quote

        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        text = utf8(dsn, "dsn", StoreError)
        parts = None
        if re.match(_AMBIGUOUS, text) is None:
            # libpq's message quotes its input.
            with suppress(ProgrammingError):
                parts = conninfo_to_dict(text)
        if parts is None:
            # Nothing of it is repeated: its password may begin anywhere.
            raise StoreError(
                "this is no address of a PostgreSQL server: wanted postgresql://user@host:5432/database, "
                "with '@', '/', ':' and '?' in a password percent-encoded"
            )
        texts = {key: str(value) for key, value in parts.items() if value is not None}
        host, port = texts.get("host") or texts.get("hostaddr") or "", texts.get("port", "")
        ports = port.split(",") if "," in port else [port] * (host.count(",") + 1)
        hosts = ",".join(f"{name}:{at}" if at else name for name, at in zip(host.split(","), ports))
        shown = f"postgresql://{hosts}/{quote(texts.get('dbname', ''))}"
        if vault is not None:
            shown += f"?vault={quote(vault)}"
        return cls({**_UNSAID, **texts, **_SAID}, shown, host.count(",") + 1)

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def conninfo(self, target: str | None = None) -> str:
        """Return psycopg's connection string, which may contain a password, for a kind of server if not None."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(**self._parts, **({} if target is None else {"target_session_attrs": target}))


class HiddenText:
    """A text that no ``repr`` shows, such as an address that is needed later."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def is_dsn(text: object) -> bool:
    """Return True if a text names a PostgreSQL server rather than a file."""
    return isinstance(text, str) and text.lower().startswith(_SCHEMES)


def check_file(path: str) -> str:
    """Return the path of a file; raise `StoreError` for an address."""
    # The message repeats nothing of it, as it may have a password.
    if re.search(_ADDRESS, path):
        raise StoreError(
            "path is a database address: wanted the path of a file; open postgresql://host/database?vault=NAME "
            "with PostgresVault"
        )
    return path


def vault_named(dsn: str, vault: str | None = None) -> tuple[str, str]:
    """Return an address as libpq reads it, and the name of the vault that it means.

    Args:
        dsn: ``postgresql://host/database?vault=team``: ``vault`` is Septet's own parameter.
        vault: the name, if it is not in the address.

    Raises:
        StoreError: no vault is named, or two; the message has no password.
    """
    from urllib.parse import quote, unquote

    if not is_dsn(dsn) and "=" not in dsn:
        raise StoreError(
            "address is not a PostgreSQL URL: wanted postgresql://user@host/database; open a file with Vault"
        )
    # A password may hold a question mark.
    begin = dsn.find("@") + 1 if "@" in dsn.partition("://")[2].partition("/")[0] else 0
    head, _, query = dsn[begin:].partition("?")
    rest = [option for option in query.split("&") if option and option.partition("=")[0] != "vault"]
    vaults = {unquote(option.partition("=")[2]) for option in query.split("&") if option.partition("=")[0] == "vault"}
    plain, names = dsn[:begin] + head + (f"?{'&'.join(rest)}" if rest else ""), vaults | ({vault} if vault else set())
    names.discard("")
    if not names:
        mark = "&" if rest else "?"
        raise StoreError(f"{_without_user(plain)} names no vault: write {mark}vault=NAME at its end")
    if len(names) > 1:
        wanted = ", ".join(sorted(map(quote, names)))
        raise StoreError(f"{_without_user(plain)} is given with several vaults: wanted one of {wanted}")
    name = names.pop()
    if len(name) > MOST_NAME_CHARS or re.search(_CONTROL, name):
        raise StoreError(
            f"the name of a vault is {shown(name)}: wanted at most {MOST_NAME_CHARS} characters, no control characters"
        )
    return plain, name


def _without_user(address: str) -> str:
    return re.sub(r"(?<=://)[^/@]*@", "", without_passwords(address))


def without_passwords(text: str) -> str:
    """Return an address, or a text that may hold one, without the passwords in it."""
    from urllib.parse import unquote

    if not is_dsn(text):
        return re.sub(_SECRETS, r"\1***", re.sub(_USER, r"\1:***@", text))
    scheme, _, rest = text.partition("://")
    head, mark, query = rest.partition("?")
    if "@" in query:
        # The start of its password cannot be found.
        return f"{scheme}://…"
    user, at, place = head.rpartition("@")
    if ":" in user:
        user = f"{user.partition(':')[0]}:***"
    options = [option.partition("=") for option in query.split("&")]
    shown = [f"{key}{sign}{'***' if 'pass' in unquote(key).lower() else value}" for key, sign, value in options]
    return f"{scheme}://{user}{at}{place}{mark}{'&'.join(shown)}"


def without_frames(fault: _Fault) -> _Fault:
    """Return an error without the frames that it and its causes passed: reporters of errors show their variables."""
    cause: BaseException | None = fault
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__
    return fault
