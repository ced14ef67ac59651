"""Requests to the token endpoint, with the retries of Kafka's clients. httpx is imported by the first request."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, unquote, urlencode, urlsplit

from runtime.config.stores.key_stores import load_keys, own_keys, trusted
from runtime.config.stores.pem import StoreError
from runtime.kafka.clients.oauth.assertion import assertion, read_token_file
from runtime.kafka.clients.oauth.oauth_settings import PREFIX, URL, OAuthSettings
from runtime.kafka.errors import ClientConfigError, EndpointUnavailable

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 10.0  # seconds, as Java has none
_MAX_BYTES = 1_000_000
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class TokenRefused(ClientConfigError):
    """The token endpoint, or the token, cannot be used with these properties. A later attempt may succeed."""


def fetch_token(settings: OAuthSettings) -> str:
    """A new access token. Raises TokenRefused or EndpointUnavailable, whose messages have no secrets. Blocks."""
    url = settings[URL]
    if url.startswith("file:"):
        return read_token_file(URL, unquote(urlsplit(url).path))
    delay, limit = (settings[f"sasl.login.retry.backoff.{name}"] / 1000 for name in ("ms", "max.ms"))
    end = time.monotonic() + limit
    while True:
        try:
            return _ask(settings, url)
        except EndpointUnavailable:
            left = end - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(delay, left))
        delay *= 2


def _ask(settings: OAuthSettings, url: str) -> str:
    import httpx

    form, headers = _request(settings)
    try:
        with (
            httpx.Client(verify=_context(settings), timeout=_timeout(settings), trust_env=False) as client,
            client.stream("POST", url, content=urlencode(form), headers=headers) as response,
        ):
            content = b""
            for part in response.iter_bytes():
                content += part
                if len(content) > _MAX_BYTES:
                    raise TokenRefused(f"{URL}={url} sent a response of more than {_MAX_BYTES} bytes")
    except httpx.InvalidURL as e:
        raise TokenRefused(f"{URL}={url} is invalid: {e}") from None
    except httpx.HTTPError as e:
        cause = "no response in time" if isinstance(e, httpx.TimeoutException) else str(e) or type(e).__name__
        raise EndpointUnavailable(f"{URL}={url} cannot be reached: {cause}") from None
    return _token(url, response, content)


def _request(settings: OAuthSettings) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers."""
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    scope = {"scope": settings[f"{PREFIX}scope"]} if settings[f"{PREFIX}scope"] else {}
    if settings.jwt_bearer:
        return {"grant_type": _JWT_BEARER, "assertion": assertion(settings), **scope}, headers
    pair = [settings[f"{PREFIX}client.credentials.client.{name}"] for name in ("id", "secret")]
    if settings[f"{PREFIX}header.urlencode"]:
        pair = [quote_plus(part) for part in pair]
    headers["Authorization"] = f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}"
    return {"grant_type": "client_credentials", **scope}, headers


def _context(settings: OAuthSettings) -> ssl.SSLContext:
    """With the stores in the options of the login module, as in Java."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if certificates := trusted(settings.tls):
            context.load_verify_locations(cadata=certificates)
        else:
            context.load_default_certs()
        if keys := own_keys(settings.tls):
            load_keys(context, keys)
    except (StoreError, OSError) as e:
        raise TokenRefused(f"the login module's {e}") from None
    return context


def _timeout(settings: OAuthSettings) -> httpx.Timeout:
    import httpx

    connect, read = (settings[f"sasl.login.{name}.timeout.ms"] for name in ("connect", "read"))
    limits = {"connect": connect / 1000 if connect else _TIMEOUT, "read": read / 1000 if read else _TIMEOUT}
    return httpx.Timeout(_TIMEOUT, **limits)


def _token(url: str, response: Any, content: bytes) -> str:
    import json

    try:
        document = json.loads(content)
    except ValueError:
        document = None
    fields: Mapping[str, Any] = document if isinstance(document, dict) else {}
    status = response.status_code
    if status not in (200, 201):
        reason = f"{status} {response.reason_phrase}".strip()
        details = ": ".join(str(fields[key])[:200] for key in ("error", "error_description") if fields.get(key))
        message = f"{URL}={url} refused the client: {reason}{f' ({details})' if details else ''}"
        raise EndpointUnavailable(message) if status >= 500 or status in (408, 429) else TokenRefused(message)
    token = fields.get("access_token") or fields.get("id_token")
    if not isinstance(token, str):
        raise TokenRefused(f"{URL}={url} sent neither access_token nor id_token")
    return token
