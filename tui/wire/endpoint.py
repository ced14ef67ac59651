"""Endpoints of workers, and the decoding of responses; shared by both transports, without an HTTP library."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from tui.client.shapes import parsed
from tui.errors import MalformedResponse, TimedOut, Unreachable, UsageError, refusal
from tui.formatting import one_line
from tui.wire.limits import SizeLimits

if TYPE_CHECKING:
    from tui.client.calls import ApiCall

# Servers close idle connections (Jetty after 30 s, uvicorn after 5); the console closes its own earlier.
IDLE_SECONDS = 3.0
SILENCE_TIMEOUT = (
    25.0  # seconds without a byte on the event stream before it counts as dead (the worker sends a comment every 10 s)
)
CONNECT_TIMEOUT = 5.0
RESPONSE_TIMEOUT = 95.0  # Connect itself gives up after 90 s, with a message worth reading


class Endpoint(NamedTuple):
    """A worker's URL with credentials, TLS files, proxy and timeouts (seconds)."""

    url: str
    username: str = ""
    password: str = ""
    ca: str = ""  # a file of trusted certificates instead of the system's
    connect_timeout: float = CONNECT_TIMEOUT
    response_timeout: float = RESPONSE_TIMEOUT
    token: str = ""
    certificate: str = ""  # files, for mutual TLS
    key: str = ""
    key_password: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""  # a URL; `none` ignores the environment's proxy
    sizes: SizeLimits = SizeLimits()

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"  # other fields may be secrets

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def is_local(self) -> bool:
        """Whether the worker is on this machine, and so not behind the environment's proxy."""
        return self.parts.hostname in ("127.0.0.1", "localhost", "::1")

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        from tui.scrubbing import without_user

        return without_user(self.url)

    def identification(self) -> dict[str, str]:
        """Credentials and the context's own headers."""
        headers = {"Accept": "application/json", **dict(self.headers)}
        user, password = self.username, self.password
        if not user:
            user, password = unquote(self.parts.username or ""), unquote(self.parts.password or "")
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif user:
            headers["Authorization"] = basic_credentials(user, password)
        return headers

    def unreachable(self, cause: str, *, sent: bool = False) -> Unreachable:
        """The error of a failed connection; `sent` if the request may have arrived."""
        error = Unreachable(f"cannot reach {self.shown}: {cause}")
        error.sent = sent
        return error

    def no_connection(self) -> Unreachable:
        return self.unreachable(f"no connection within {self.connect_timeout:g} s")

    def too_large(self, error: OSError) -> MalformedResponse:
        return MalformedResponse(f"{self.shown}: {error}")

    def no_response(self, within: float = 0.0) -> TimedOut:
        return TimedOut(f"{self.shown} gave no response within {within or self.response_timeout:g} s")


def stream_patience(lasting: float | None) -> float:
    """Seconds for the beginning of an event stream that is read for `lasting` seconds, or until it closes."""
    return SILENCE_TIMEOUT if lasting is None else min(lasting, SILENCE_TIMEOUT)


def basic_credentials(user: str, password: str) -> str:
    from base64 import b64encode

    return "Basic " + b64encode(f"{user}:{password}".encode("utf-8", "surrogateescape")).decode()


def tls_context(endpoint: Endpoint) -> Any:
    """The TLS context of an https endpoint: trusted certificates and the client's own. Raises UsageError."""
    import ssl

    from tui.wire.tls_client import verifying_context

    try:
        context = verifying_context(endpoint.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"cannot read the certificates of {endpoint.ca}: {error}") from error
    if endpoint.certificate:
        try:
            # With this callback an encrypted key without a password is an error instead of a prompt.
            context.load_cert_chain(endpoint.certificate, endpoint.key or None, lambda: endpoint.key_password)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"cannot use the certificate {endpoint.certificate}: {error}") from error
    return context


def tls_failure(error: BaseException) -> str:
    """The words for an `ssl.SSLError`, without OpenSSL's file and line; empty for another error."""
    ssl = sys.modules.get("ssl")  # loaded for TLS only
    if ssl is None or not isinstance(error, ssl.SSLError):
        return ""
    reason = str(getattr(error, "reason", None) or "")
    if verification := getattr(error, "verify_message", ""):
        return f"the certificate is refused: {verification}"
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return "the port does not speak TLS; is its URL http://…?"
    return f"TLS: {reason.lower().replace('_', ' ') or str(error.strerror).partition(' (_ssl.c')[0]}"


def encode(call: ApiCall) -> bytes | None:
    # ASCII only: text with stray surrogates (bytes that were never UTF-8) survives as escapes.
    return None if call.body is None else json.dumps(call.body).encode()


def body_decoder(call: ApiCall, loads: Callable[[bytes], Any] = json.loads) -> Callable[[bytes], Any]:
    """The function that decodes the body of a response."""
    return _text if call.is_text else loads


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def decode(status: int, body: bytes, loads: Callable[[bytes], Any] = json.loads) -> Any:
    """The decoded response; None for an empty body. Raises Refused for an error status, and MalformedResponse if
    `loads` raises ValueError."""
    if not 200 <= status < 300:
        raise refusal(status, _message(status, body))
    if not body:
        return None
    try:
        return parsed(body, loads)
    except ValueError as error:
        raise _not_json(status, body, error) from None


def _not_json(status: int, body: bytes, error: ValueError) -> MalformedResponse:
    start = body[:100].lstrip()[:1]
    if "nested too deeply" in str(error):
        return MalformedResponse("the response is JSON nested too deeply", status)
    if start in (b"{", b"["):  # cut off, for example by a proxy
        return MalformedResponse("the response is incomplete or invalid JSON", status, "")
    if start == b"<":
        title = _reason(body[:2000].decode("utf-8", "replace"))
        return MalformedResponse(f"the response is an HTML page{title and f': {title}'}", status)
    return MalformedResponse("the response is not JSON", status)


def _message(status: int, body: bytes) -> str:
    """The server's error message, taken from JSON or from an HTML page of a proxy or of Jetty."""
    try:
        message = parsed(body).get("message")
    except (ValueError, AttributeError):
        message = None
    if isinstance(message, str) and message:
        return message
    text = body[:2000].decode("utf-8", "replace").strip()
    if text.startswith("<"):
        text = _reason(text)
    if 300 <= status < 400:
        text = text or "a redirect"
    return f"HTTP {status}" + (f": {text[:200]}" if text else "")


def _reason(page: str) -> str:
    """The message of an HTML error page: from Jetty's table, or else from the heading or title."""
    import re
    from html import unescape

    for pattern in (r"MESSAGE:</th>\s*<td>([^<]+)", r"<h1>([^<]+)", r"<title>([^<]+)"):
        if match := re.search(pattern, page, re.IGNORECASE):
            return one_line(unescape(match[1]))
    return ""
