"""Where a cluster is, and what its answers mean: shared by both transports, without any HTTP library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from tui.client.shapes import parsed
from tui.errors import MalformedAnswer, TimedOut, Unreachable, UsageError, refusal
from tui.formatting import one_line

if TYPE_CHECKING:
    from tui.client.client import ApiCall

# Servers close connections that have been idle (Jetty after 30 s, uvicorn after 5): ours are not kept that long.
IDLE_SECONDS = 3.0
SILENCE_TIMEOUT = (
    25.0  # seconds without a byte on the event stream before it counts as dead (a comment comes each 10 s)
)
CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 95.0  # Connect itself gives up after 90 s, with a message worth reading


class Endpoint(NamedTuple):
    """A worker's URL and how it wants to be spoken to; times in seconds."""

    url: str
    username: str = ""
    password: str = ""
    ca: str = ""  # a file of certificates to trust instead of the system's
    connect_timeout: float = CONNECT_TIMEOUT
    answer_timeout: float = ANSWER_TIMEOUT
    token: str = ""
    certificate: str = ""  # files, for mutual TLS
    key: str = ""
    key_password: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""  # a URL; `none` for no proxy whatever the environment says

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"  # nothing else: some are secrets

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def is_local(self) -> bool:
        """On this machine: a proxy for the world must not catch it."""
        return self.parts.hostname in ("127.0.0.1", "localhost", "::1")

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        from tui.scrubbing import without_user

        return without_user(self.url)

    def identification(self) -> dict[str, str]:
        """The headers that say who we are, and those the context wants sent."""
        found = {"Accept": "application/json", **dict(self.headers)}
        user, password = self.username, self.password
        if not user:
            user, password = unquote(self.parts.username or ""), unquote(self.parts.password or "")
        if self.token:
            found["Authorization"] = f"Bearer {self.token}"
        elif user:
            found["Authorization"] = basic_credentials(user, password)
        return found

    def unreachable(self, cause: str, *, sent: bool = False) -> Unreachable:
        """`sent`: the request may have arrived all the same."""
        error = Unreachable(f"cannot reach {self.shown}: {cause}")
        error.sent = sent
        return error

    def no_connection(self) -> Unreachable:
        return self.unreachable(f"no connection within {self.connect_timeout:g} s")

    def no_answer(self, within: float = 0.0) -> TimedOut:
        return TimedOut(f"{self.shown} gave no answer within {within or self.answer_timeout:g} s")


def basic_credentials(user: str, password: str) -> str:
    from base64 import b64encode

    return "Basic " + b64encode(f"{user}:{password}".encode("utf-8", "surrogateescape")).decode()


def tls_context(endpoint: Endpoint) -> Any:
    """The TLS context of an https endpoint: whom it trusts, and who we are."""
    import ssl

    try:
        context = ssl.create_default_context(cafile=endpoint.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"cannot read the certificates of {endpoint.ca}: {error}") from error
    if endpoint.certificate:
        try:
            # Without a password an encrypted key is an error, not a question on the terminal.
            context.load_cert_chain(endpoint.certificate, endpoint.key or None, lambda: endpoint.key_password)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"cannot use the certificate {endpoint.certificate}: {error}") from error
    return context


def encode(call: ApiCall) -> bytes | None:
    # ASCII only: text with stray surrogates (bytes that were never UTF-8) survives as escapes.
    return None if call.body is None else json.dumps(call.body).encode()


def body_decoder(call: ApiCall, loads: Callable[[bytes], Any] = json.loads) -> Callable[[bytes], Any]:
    """What makes the answer of its bytes."""
    return _text if call.is_text else loads


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def decode(status: int, body: bytes, loads: Callable[[bytes], Any] = json.loads) -> Any:
    """The JSON of an answer, or the error it stands for. `loads` raises ValueError for what is no JSON."""
    if not 200 <= status < 300:
        raise refusal(status, _message(status, body))
    if not body:
        return None
    try:
        return parsed(body, loads)
    except ValueError as error:
        deep = "nested too deeply" in str(error)
        raise MalformedAnswer(f"the answer is {'JSON nested too deeply' if deep else 'not JSON'}", status) from None


def _message(status: int, body: bytes) -> str:
    """The server's own words; HTML pages of proxies and of Jetty are not worth a line."""
    try:
        message = parsed(body).get("message")
    except (ValueError, AttributeError):
        message = None
    if isinstance(message, str) and message:
        return message
    text = body[:2000].decode("utf-8", "replace").strip()
    if text.startswith("<"):
        text = _reason(text)
    return f"HTTP {status}" + (f": {text[:200]}" if text else "")


def _reason(page: str) -> str:
    """What a page of an error says: Jetty repeats it in a table, others in their heading or title."""
    import re
    from html import unescape

    for pattern in (r"MESSAGE:</th>\s*<td>([^<]+)", r"<h1>([^<]+)", r"<title>([^<]+)"):
        if found := re.search(pattern, page, re.IGNORECASE):
            return one_line(unescape(found[1]))
    return ""
