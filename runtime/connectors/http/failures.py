"""Failed requests: what they were, whether they may be repeated and when; messages without secrets.

EndpointError
├── TemporaryError     the same request may succeed later: network, 408, 425, 429, 5xx, 403 of a rate limit
└── RejectedError      the endpoint refuses the content: other 4xx
"""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

from runtime.api.errors import ConnectError

_SNIPPET = 300  # characters of a response in a message
_LONGEST_WAIT = 3600.0  # seconds of a Retry-After, or until a rate limit ends
_UNIX_TIME = 1e9  # larger numbers in X-RateLimit-Reset are seconds since 1970, others seconds from now
TEMPORARY = frozenset({408, 425, 429})
_FATAL = frozenset({401, 407})


class EndpointError(ConnectError):
    """A request failed and cannot be repeated."""


class TemporaryError(EndpointError):
    """A request failed and may be repeated; `retry_after`: seconds that the endpoint asks to wait, or None."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RejectedError(EndpointError):
    """The endpoint refused the content of a request. `status`: that of the response."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after which delays in seconds, requests are repeated."""

    retries: int
    backoff: float
    longest: float

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> RetryPolicy:
        """From the typed values of the connection keys."""
        return cls(
            settings["http.retries"],
            settings["http.retry.backoff.ms"] / 1000,
            settings["http.retry.backoff.max.ms"] / 1000,
        )

    def exhausted(self, attempts: int) -> bool:
        """Whether a request that has failed this often is not repeated."""
        return 0 <= self.retries < attempts

    def delay(self, attempts: int, error: TemporaryError) -> float:
        """Seconds until the next attempt after `attempts` failed ones: with jitter, never less than Retry-After."""
        backoff: float = min(self.backoff * 2 ** min(attempts - 1, 30), self.longest)
        return max(backoff * random.uniform(0.5, 1.0), error.retry_after or 0.0)


class MessageScrubber:
    """Removes secrets from texts of the endpoint and of the HTTP client."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {form for secret in secrets for form in (secret, quote(secret, safe=""), quote_plus(secret))}
        self._secrets = sorted(filter(None, spellings), key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        return text

    def url(self, url: str) -> str:
        """A URL without its query and credentials, which may be secret."""
        parts = urlsplit(url)
        return self.text(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))


def raise_for_status(request: str, status: int, headers: Mapping[str, str], text: str) -> None:
    """Raises the EndpointError of a status that is not 2xx. `request` and `text` (of the response) hold no secrets."""
    if 200 <= status < 300:
        return
    snippet = " ".join(text.split())[:_SNIPPET]
    message = f"{request} returned status {status}" + (f": {snippet}" if snippet else "")
    exhausted = _is_exhausted(headers)
    limited = exhausted or "retry-after" in headers
    if status in TEMPORARY or status >= 500 or (status == 403 and limited):
        raise TemporaryError(message, wait_of(headers, exhausted or status == 429))
    if status in _FATAL:
        raise EndpointError(f"{message}. Check http.auth.type and the credentials")
    if status < 400:
        raise EndpointError(f"{message}: the redirect is not followed. Check http.url")
    raise RejectedError(message, status)


def wait_of(headers: Mapping[str, str], limited: bool) -> float | None:
    """Seconds after which a request may be repeated, by Retry-After, or else, if it was `limited`, by the reset of the
    rate limit; None if the response does not say."""
    wait = seconds_of(headers.get("retry-after"))
    return _seconds_until_reset(headers) if wait is None and limited else wait


def _is_exhausted(headers: Mapping[str, str]) -> bool:
    """Whether the rate limit allows no further request: X-RateLimit-Remaining, or RateLimit-Remaining, is 0."""
    return "0" in (headers.get("x-ratelimit-remaining"), headers.get("ratelimit-remaining"))


def _seconds_until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until X-RateLimit-Reset, or RateLimit-Reset; None if both are missing or invalid."""
    text = headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset") or ""
    if not (text.isascii() and text.isdigit()):
        return None
    seconds = float(text)
    return min(max(seconds - time.time(), 0.0) if seconds > _UNIX_TIME else seconds, _LONGEST_WAIT)


def seconds_of(retry_after: str | None) -> float | None:
    """The value of Retry-After, a number of seconds or a date, in seconds from now; None if missing or invalid."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():  # Shopify's have a fraction
        return min(float(text), _LONGEST_WAIT)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=dt.UTC)
    return min(max((when - dt.datetime.now(dt.UTC)).total_seconds(), 0.0), _LONGEST_WAIT)
