"""Malformed and hostile HTTP requests over raw sockets, generated from a seed."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Request = list[bytes]
"""The parts of a request, sent one after the other."""

_STATUS = re.compile(rb"HTTP/1\.[01] (\d\d\d) ")
_METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "G\0T", "")
_PATHS = (
    "/", "/health", "/health/live", "/connectors", "/connectors?expand=status&expand=info", "/connectors/{}",
    "/connectors/{}/config", "/connectors/{}/status", "/connectors/{}/tasks/0/status",
    "/connectors/{}/tasks/{}/restart", "/connectors/{}/offsets", "/connectors/{}/offsets/resolve",
    "/connectors/{}/offsets/history", "/connectors/{}/topics", "/connectors/{}/pause", "/connectors/{}/preview",
    "/connectors/{}/restart?includeTasks={}&onlyFailed={}", "/connector-plugins", "/connector-plugins/{}/config",
    "/connector-plugins/{}/config/validate", "/admin/loggers", "/admin/loggers/{}", "/events", "/metrics",
    "/openapi.json", "/orphaned-offsets", "/workers", "/workers/{}/cordon", "/deleted-connectors", "/events/own",
    "/connectors/{}/logs", "/connectors/{}/errors", "/connectors/{}/progress", "/connectors/{}/restarts",
    "/connectors/{}/config/history", "/connectors/{}/tasks", "/connectors/{}/fence", "/connectors/{}/settled?within={}",
    "/connectors/{}/tasks/0/stack", "/connector-plugins/details", "/connector-plugins/{}/preview",
)  # fmt: skip
_NAMES = (
    "c", "FileStreamSource", "%00", "%ff%fe", "%2e%2e%2f%2e%2e", "..", "%", "%zz", "a%2Fb", "\u20ac", "%E2%82%AC", "-1",
    "99999999999999999999", "true", "x" * 300, "%0d%0aSet-Cookie:%20a=b", "${env:PATH}", "'\"<>", " ",
)  # fmt: skip
_HEADERS = (
    b"Host: localhost", b"Host: evil.example", b"Host: localhost\r\nHost: localhost", b"Host:", b"Accept: */*",
    b"Accept: text/event-stream", b"Accept: " + b"a/b," * 500, b"Content-Type: application/json",
    b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16", b"Connection: close",
    b"Connection: upgrade\r\nUpgrade: websocket", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c",
    b"Expect: 100-continue", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: identity", b"Content-Encoding: gzip", b"Authorization: Basic %%%", b"Authorization: Basic",
    b"Authorization: Basic YTpi", b"Authorization: Basic \xff", b"Headrace-Reason: \xc3\xbc",
    b"Origin: http://localhost", b"Origin: null", b"Range: bytes=0-",
    b"X-Request-ID: " + b"r" * 5000, b"X: \xff\xfe\x80", b"X\0Y: z", b" folded: yes", b"no colon", b": no name",
    b"X-Connect-Authorization: eA==\r\nX-Connect-Request-Signature-Algorithm: HmacSHA256",
    b"Headrace-Caller: e30=.eA==",
    b"Cookie: " + b"c" * 20_000, b"X-Forwarded-For: 127.0.0.1", b"Last-Event-ID: -1", b"Accept-Encoding: gzip",
)  # fmt: skip
_LENGTHS = (b"0", b"-1", b"+5", b"5, 5", b"1e3", b"0x10", b"99999999999999999999", b"", b"5 ", b"\xb2", b"40000000")
_SCALARS = (
    b"null", b"true", b"0", b"-0", b"1e999", b"99999999999999999999999", b'""', b'"\\ud800"', b'"\\u0000"', b'"\xff"',
    b"NaN", b"-Infinity", b'"${file:/etc/passwd:x}"', b'"${env:HOME}"', b"[]", b"{}", b'"' + b"x" * 5000 + b'"',
)  # fmt: skip
_KEYS = (
    b'"name"', b'"config"', b'"connector.class"', b'"offsets"', b'"partition"', b'"offset"', b'"tasks.max"', b'"topic"',
    b'"initial_state"', b'"level"', b'"timestamp"', b'"kafka_topic"', b'"kafka_partition"', b'""', b'"\\ud800"',
    b'"a.password"', b'"samples"', b'"transforms"', b'"__proto__"',
)  # fmt: skip


@dataclass(slots=True)
class Answers:
    """Counts of a worker's answers to generated requests."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    server_errors: list[str] = field(default_factory=list)  # requests that were answered with 5xx
    refused: int = 0  # connections
    leaks: list[str] = field(default_factory=list)  # answers with a secret
    secrets: Sequence[bytes] = ()

    def count(self, request: Request, received: bytes) -> None:
        self.requests += 1
        if any(secret in received for secret in self.secrets):
            self.leaks.append(f"a secret in {received[:1000]!r}")
        for status in map(int, _STATUS.findall(received)):
            self.statuses[status] += 1
            if status >= 500:
                self.server_errors.append(f"{status} for {b''.join(request)[:1000]!r}")


def fuzz(
    address: tuple[str, int], until: float, chance: random.Random, header: bytes = b"", secrets: Sequence[bytes] = ()
) -> Answers:
    """Sends requests until the given value of time.monotonic(), each on its own connection. `header` is added to most
    of them, such as a user's password; no answer may have one of the `secrets`."""
    answers = Answers(secrets=secrets)
    while time.monotonic() < until:
        request = generate(chance)
        if header:
            request[0] = request[0].replace(b"\r\n", b"\r\n" + header + b"\r\n", 1)
        try:
            received = _send(address, request)
        except ConnectionRefusedError:
            answers.refused += 1
            time.sleep(0.1)
        else:
            answers.count(request, received)
    return answers


def _send(address: tuple[str, int], request: Request) -> bytes:
    """The part of the answer that arrives quickly; connections are often abandoned before its end."""
    received = b""
    with socket.create_connection(address, timeout=10) as connection:
        connection.settimeout(0.3)
        with contextlib.suppress(OSError):
            for part in request:
                connection.sendall(part)
            while len(received) < 100_000 and (chunk := connection.recv(65536)):
                received += chunk
                if b"\r\n\r\n" in received and len(request) == 1:
                    break
    return received


def generate(chance: random.Random) -> Request:
    kinds: list[Callable[[random.Random], Request]] = [_request] * 12
    kinds += [_mutated] * 6 + [_pipelined, _tls_hello, _garbage, _http2, _many_headers, _endless_head]
    return chance.choice(kinds)(chance)


def _request(chance: random.Random) -> Request:
    """A request whose parts are valid more often than not."""
    body = _body(chance)
    lines = [_line(chance), *chance.sample(_HEADERS, chance.randrange(4))]
    if chance.random() < 0.8:
        lines.append(b"Host: localhost")
    framing = chance.random()
    if framing < 0.15:
        lines.append(b"Content-Length: " + chance.choice(_LENGTHS))
    elif framing < 0.35:
        lines.append(b"Transfer-Encoding: chunked")
        body = _chunked(chance, body)
    elif body:
        lines.append(b"Content-Length: %d" % (len(body) + chance.choice((0, 0, 0, 0, 0, 0, -1, 1, 1000))))
    if body and chance.random() < 0.8:
        lines.append(b"Content-Type: application/json")
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    return [head + body] if chance.random() < 0.8 else [head, body]


def _line(chance: random.Random) -> bytes:
    path = chance.choice(_PATHS)
    while "{}" in path:
        path = path.replace("{}", chance.choice(_NAMES), 1)
    method = chance.choice(_METHODS) if chance.random() < 0.3 else chance.choice(_METHODS[:5])
    version = chance.choice(("HTTP/1.0", "HTTP/2.0", "HTTP/9", "http/1.1", "")) if chance.random() < 0.1 else "HTTP/1.1"
    return f"{method} {path} {version}".encode()


def _body(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.3:
        return b""
    if kind < 0.4:
        return chance.randbytes(chance.randrange(200))
    if kind < 0.45:
        return chance.choice((b"[", b'{"a":')) * chance.choice((10, 199, 201, 5000))
    return _json(chance, 4)


def _json(chance: random.Random, depth: int) -> bytes:
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(_SCALARS)
    values = [_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    if chance.random() < 0.3:
        return b"[" + b",".join(values) + b"]"
    return b"{" + b",".join(chance.choice(_KEYS) + b":" + value for value in values) + b"}"


def _chunked(chance: random.Random, body: bytes) -> bytes:
    size = chance.choice((b"%x" % len(body), b"-1", b"ffffffffffffffffff", b"0x5", b"%x;ext=1" % len(body), b"zz"))
    if chance.random() < 0.6:
        size = b"%x" % len(body)
    return size + b"\r\n" + body + b"\r\n" + chance.choice((b"0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n", b"", b"\r\n"))


def _mutated(chance: random.Random) -> Request:
    """A request with bytes changed, removed or repeated."""
    request = bytearray(b"".join(_request(chance)))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(request) or 1)
        match chance.randrange(4):
            case 0:
                request[at : at + 1] = chance.randbytes(1)
            case 1:
                del request[at : at + chance.randrange(1, 20)]
            case 2:
                request[at:at] = request[at : at + chance.randrange(50)]
            case _:
                request[at:at] = chance.choice((b"\0", b"\r", b"\n", b"\r\n\r\n", b" ", b"\xff"))
    return [bytes(request)]


def _pipelined(chance: random.Random) -> Request:
    return [b"".join(b"".join(_request(chance)) for _ in range(chance.randrange(2, 20)))]


def _tls_hello(chance: random.Random) -> Request:
    return [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(500)]


def _garbage(chance: random.Random) -> Request:
    return [chance.randbytes(chance.randrange(2000))]


def _http2(chance: random.Random) -> Request:
    return [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + chance.randbytes(100)]


def _many_headers(chance: random.Random) -> Request:
    count = chance.choice((100, 1000, 5000))
    return [b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(count)) + b"\r\n"]


def _endless_head(chance: random.Random) -> Request:
    return [b"GET /" + b"x" * chance.choice((5_000, 70_000, 200_000)), b" HTTP/1.1\r\nHost: localhost\r\n\r\n"]
