"""Answers that no server should give: recorded right ones, changed by chance, and a server that gives them."""

from __future__ import annotations

import base64
import json
import socket
import threading
from contextlib import suppress
from typing import Any, NamedTuple

import httpx

__all__ = ["Lying", "Recorded", "Recording", "changed", "response_of", "with_more_fields", "wrong_body"]

#: Stands for what `json.dumps` cannot write, until the text is there.
_MARK = "§{}§"
#: Values in the place of others, as JSON writes them.
ODD = [
    *("null", "true", "false", "0", "-0", "1", "-1", "0.5", "-1e-320", "1e308", "1e999", "-1e999", "NaN", "Infinity"),
    *(str(2**31), str(2**63 - 1), str(2**63), str(-(2**63) - 1), str(2**70), "1" * 400, "9" * 5_000),
    *('""', '" "', '"x"', '"0"', '"NaN"', '"\\ud800"', '"\\u0000"', '"2026-01-01"', '"=="', '"AAAA"', '"AAAAAAAA8H8="'),
    *("[]", "[[]]", "[null]", "[0]", '["x"]', "[{}]", "{}", '{"a": 1}', '{"": null}', '{"id": "x"}'),
    *(
        "[" * 60 + "]" * 60,
        "[" * 400 + "]" * 400,
        "[" * 100_000,
        '{"a":' * 300 + "1" + "}" * 300,
        '"' + "x" * 70_000 + '"',
    ),
]
#: Keys whose dicts hold data under names of their own.
DATA = frozenset(
    "attrs weights breakdown signals raw kinds feedback filters facets tiers columns labels guesses changes answer "
    "understood vectors values standing counts".split()
)


class Recorded(NamedTuple):
    """An answer as it was, and to what it was one."""

    key: str
    body: bytes


class Recording(httpx.BaseTransport):
    """Sends requests on, and keeps the answers in order."""

    def __init__(self) -> None:
        self.inner, self.kept = httpx.HTTPTransport(), list[Recorded]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        response = self.inner.handle_request(request)
        body = response.read()
        self.kept.append(Recorded(key_of(request.url.raw_path.decode(), content), body))
        return httpx.Response(response.status_code, content=body, headers={"content-type": "application/json"})

    def take(self) -> list[Recorded]:
        """Return what was kept, and begin anew."""
        kept, self.kept = self.kept, []
        return kept

    def close(self) -> None:
        self.inner.close()


def key_of(path: str, content: bytes) -> str:
    """Return what a request asks: its path, and for a tier the method."""
    method = ""
    if path.endswith("/v1/tier"):
        with suppress(ValueError):
            method = str(json.loads(content)["method"])
    return f"{path} {method}"


class Lying:
    """A server on loopback that gives recorded answers, one of them changed.

    A `with` block ends it. Answers are whole responses, so that any of their bytes may be wrong.
    """

    def __enter__(self) -> Lying:
        self.recorded: list[Recorded] = []
        self.wrong, self.response, self.asked = -1, b"", 0
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def tell(self, recorded: list[Recorded], wrong: int, response: bytes) -> None:
        """Give these answers from now on, and in the place of one of them the response."""
        with self._lock:
            self.recorded, self.wrong, self.response, self.asked = recorded, wrong, response, 0
            self._given: dict[str, int] = {}

    def _begin(self, work: Any, *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._open.add(connection)
            self._threads = [one for one in self._threads if one.is_alive()]
            self._begin(self._talk, connection)

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = connection.makefile("rb")
            while request := _read(stream):
                response, whole = self._answer(key_of(*request))
                connection.sendall(response)
                if not whole:
                    break
        self._open.discard(connection)

    def _answer(self, key: str) -> tuple[bytes, bool]:
        """Return the next answer to what is asked, the last one again and again."""
        with self._lock:
            self.asked += 1
            places = [at for at, one in enumerate(self.recorded) if one.key == key]
            if not places:
                return response_of(b'{"error":{"code":"not_found","message":"nobody recorded it"}}', "404 Not"), True
            turn = self._given.get(key, 0)
            self._given[key] = turn + 1
            place = places[min(turn, len(places) - 1)]
            if place == self.wrong:
                return self.response, False
            return response_of(self.recorded[place].body), True


def _read(stream: Any) -> tuple[str, bytes] | None:
    first = stream.readline()
    if not first:
        return None
    length = 0
    while (line := stream.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return first.split()[1].decode(), stream.read(length)


def response_of(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    """Return a body as a whole response."""
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


# -- changes -----------------------------------------------------------------------------------------------------------


def changed(body: bytes, chance: Any, token: str) -> tuple[str, bytes]:
    """Return a response that is wrong, and how it became so."""
    if chance.random() < 0.08:
        return _http(body, chance, token)
    how, status, made = wrong_body(body, chance, token)
    return how, response_of(made, status)


def wrong_body(body: bytes, chance: Any, token: str) -> tuple[str, str, bytes]:
    """Return how an answer became wrong, its status, and its body."""
    kind = chance.choices([_value, _bytes, _error], [76, 13, 11])[0]
    return kind(body, chance, token)


def _value(body: bytes, chance: Any, token: str) -> tuple[str, str, bytes]:
    """Change one to three values of the JSON."""
    try:
        made = json.loads(body)
    except ValueError:
        return _bytes(body, chance, token)
    told, raw = [], {}
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        holder, name, path = _place(made, chance)
        how = chance.choice("drop odd odd odd odd swap twice cut packed text token rename".split())
        told.append(f"{path} {how}")
        if holder is None or how == "odd":
            mark = _MARK.format(len(raw))
            raw[mark] = chance.choice(ODD)
            told[-1] += f" {raw[mark][:40]}"
            if holder is None:
                made = mark
                break
            holder[name] = mark
        else:
            _CHANGES[how](holder, name, chance, token)
    text = json.dumps(made)
    for mark, value in raw.items():
        text = text.replace(json.dumps(mark), value)
    return "; ".join(told), "200 OK", text.encode()


def _place(made: Any, chance: Any) -> tuple[Any, Any, str]:
    """Return a value somewhere in a value: what holds it, and its name there."""
    holder, name, path, here = None, None, "", made
    while isinstance(here, (dict, list)) and here and (holder is None or chance.random() < 0.8):
        name = chance.choice([*here]) if isinstance(here, dict) else chance.randrange(len(here))
        holder, here, path = here, here[name], f"{path}.{name}"
    return holder, name, path


def _drop(holder: Any, name: Any, chance: Any, token: str) -> None:
    del holder[name]


def _swap(holder: Any, name: Any, chance: Any, token: str) -> None:
    other = chance.choice([*holder]) if isinstance(holder, dict) else chance.randrange(len(holder))
    holder[name], holder[other] = holder[other], holder[name]


def _twice(holder: Any, name: Any, chance: Any, token: str) -> None:
    if isinstance(holder, list):
        holder.insert(name, holder[name])
    elif isinstance(holder[name], list):
        holder[name] = holder[name] * 2


def _cut(holder: Any, name: Any, chance: Any, token: str) -> None:
    if isinstance(holder[name], (str, list)):
        holder[name] = holder[name][: chance.randrange(len(holder[name]) + 1)]
    elif isinstance(holder[name], dict):
        holder[name] = dict([*holder[name].items()][1:])


def _packed(holder: Any, name: Any, chance: Any, token: str) -> None:
    """Change numbers that travel as base64, or make some of what is none."""
    value = holder[name]
    data = bytearray(b"\0" * 8)
    if isinstance(value, str):
        with suppress(ValueError):
            data = bytearray(base64.b64decode(value, validate=True)) or data
    at = chance.randrange(len(data))
    data[at : at + 8] = chance.choice(
        [b"", b"\0\0\0\0\0\0\xf8\x7f", b"\xff" * 8, b"\0\0\0\0\0\0\xf0\x7f", b"\x01", b"\0" * 16]
    )
    holder[name] = base64.b64encode(bytes(data)).decode()


def _text(holder: Any, name: Any, chance: Any, token: str) -> None:
    value = holder[name]
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        holder[name] = value[:at] + chance.choice(["", "\0", '"', "\\", "é", "\u202e", "[", "1"]) + value[at + 1 :]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[name] = chance.choice([-value, value + 1, value * 1e9, str(value), [value], value + 0.5])


def _token(holder: Any, name: Any, chance: Any, token: str) -> None:
    said = chance.choice(
        [token, f"Bearer {token}", base64.b64encode(token.encode()).decode(), token.replace("-", "%2D")]
    )
    if isinstance(holder, dict) and chance.random() < 0.3:
        holder[said] = holder.pop(name)
    else:
        holder[name] = said


def _rename(holder: Any, name: Any, chance: Any, token: str) -> None:
    if isinstance(holder, dict):
        holder[chance.choice(["", "x", name.upper(), name * 2])] = holder.pop(name)


_CHANGES = {
    "drop": _drop, "swap": _swap, "twice": _twice, "cut": _cut, "packed": _packed, "text": _text, "token": _token,
    "rename": _rename,
}  # fmt: skip


def _bytes(body: bytes, chance: Any, token: str) -> tuple[str, str, bytes]:
    """Change the body as bytes."""
    how = chance.choice("cut flip utf-16 latin bom empty html twice lines garbage number text list".split())
    at = chance.randrange(len(body) + 1)
    made = {
        "cut": body[:at],
        "flip": body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :],
        "utf-16": body.decode().encode("utf-16"),
        "latin": body.replace(b"e", b"\xe9", 1),
        "bom": b"\xef\xbb\xbf" + body,
        "empty": b"",
        "html": b"<html>" + token.encode(),
        "twice": body * 2,
        "lines": body.replace(b",", b"\n", 3),
        "garbage": chance.randbytes(50),
        "number": b"12",
        "text": json.dumps(token).encode(),
        "list": b"[" + body + b"]",
    }[how]
    return f"bytes {how}", "200 OK", made


def _error(body: bytes, chance: Any, token: str) -> tuple[str, str, bytes]:
    """Tell an error, right or wrong."""
    codes = "store_error query_error entry_error batch_error entry_not_found embedding_error embedding_refused closed "
    codes += "vector_error tier_error unreachable unauthorized internal_error too_large septet_error nonsense read_only"
    code: Any = chance.choice([*codes.split(), 5, None, [], token])
    message: Any = chance.choice(
        ["no", f"you sent Bearer {token}", token[::-1], "", None, 5, {"a": token}, [token], "x" * 9_000]
    )
    details: Any = chance.choice([{}, {"written": 1, "index": 0}, {"written": "x"}, None, [], {"written": 1 << 70}])
    said: Any = {"error": {"code": code, "message": message, "details": details}}
    if chance.random() < 0.2:
        said = chance.choice([{"error": token}, {"error": None}, [], {"detail": token}])
    status = chance.choice(
        [
            "400 Bad",
            "401 No",
            "403 No",
            "404 Not",
            "409 Conflict",
            "413 Large",
            "422 Wrong",
            "500 Broken",
            "503 Busy",
            "200 OK",
        ]
    )
    return f"error {status} {code} {str(message)[:20]}", status, json.dumps(said).encode()


def _http(body: bytes, chance: Any, token: str) -> tuple[str, bytes]:
    """Break the response below the JSON."""
    length = f"HTTP/1.1 200 OK\r\nContent-Length: {{}}\r\nX-Seen: {token}\r\n\r\n"
    made = {
        "nothing": b"",
        "short": length.format(len(body) + 9).encode() + body,
        "long": length.format(max(len(body) - 9, 0)).encode() + body,
        "negative": length.format(-1).encode() + body,
        "text": length.format(token).encode() + body,
        "huge": length.format("9" * 30).encode() + body,
        "no status": f"{token}\r\n\r\n".encode() + body,
        "odd status": f"HTTP/1.1 999 {token}\r\nContent-Length: 0\r\n\r\n".encode(),
        "no content": response_of(b"", "204 No"),
        "redirect": response_of(b"", "302 Found", f"Location: http://127.0.0.1:9/{token}"),
        "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + body,
        "packed": response_of(body, "200 OK", "Content-Encoding: gzip"),
        "reason": response_of(body, f"500 {token}"),
        "header": f"HTTP/1.1 200 OK\r\n{token}\0: \0\r\n\r\n".encode() + body,
        "latin header": b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
    }
    how = chance.choice([*made])
    return f"http {how}", made[how]


def with_more_fields(value: Any, inside: str = "") -> Any:
    """Return JSON as a later version may answer it: with a field more wherever names are Septet's own."""
    if isinstance(value, list):
        return [with_more_fields(one, inside) for one in value]
    if not isinstance(value, dict):
        return value
    more = {} if inside in DATA else {"of_a_next_version": {"x": [1]}}
    return {**{name: with_more_fields(one, name) for name, one in value.items()}, **more}
