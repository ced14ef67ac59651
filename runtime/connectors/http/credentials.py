"""Credentials of requests: basic, bearer token, API key, and OAuth 2.0 client credentials."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote_plus

from runtime.connectors.http.failures import (
    EndpointError,
    MessageScrubber,
    RejectedError,
    TemporaryError,
    raise_for_status,
)

if TYPE_CHECKING:
    import httpx

ResultT = TypeVar("ResultT")

_EARLY = 30.0  # seconds before its end at which a token is replaced
_DEFAULT_LIFE = 300.0  # seconds of a token whose response does not give its life


class RequestCredentials:
    """Adds nothing: the base class, and requests without authentication."""

    def headers(self) -> Mapping[str, str]:
        """Headers for the next request. Thread-safe; may request a token."""
        return {}

    def parameters(self) -> Mapping[str, str]:
        """Query parameters for the next request."""
        return {}

    def renew(self) -> bool:
        """Called after a 401; whether the request should be repeated with new credentials."""
        return False

    def secrets(self) -> list[str]:
        """Secrets that were received from a server."""
        return []


class FixedCredentials(RequestCredentials):
    """Headers and parameters that never change."""

    def __init__(self, headers: Mapping[str, str], parameters: Mapping[str, str]) -> None:
        self._headers, self._parameters = headers, parameters

    def headers(self) -> Mapping[str, str]:
        return self._headers

    def parameters(self) -> Mapping[str, str]:
        return self._parameters


class ClientCredentials(RequestCredentials):
    """Tokens of an OAuth 2.0 server (RFC 6749, section 4.4), kept until shortly before they expire."""

    def __init__(self, settings: Mapping[str, Any], client: httpx.Client, scrub: MessageScrubber) -> None:
        self._url: str = settings["http.oauth2.token.url"]
        self._id: str = settings["http.oauth2.client.id"]
        self._secret: str = settings["http.oauth2.client.secret"].value
        self._scope: str | None = settings["http.oauth2.scope"]
        self._in_body = settings["http.oauth2.client.auth"] == "body"
        self._client, self._scrub = client, scrub
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def headers(self) -> Mapping[str, str]:
        with self._lock:
            if time.monotonic() >= self._until:
                self._request_token()
            return {"Authorization": f"Bearer {self._token}"}

    def renew(self) -> bool:
        with self._lock:
            self._until = 0.0
        return True

    def secrets(self) -> list[str]:
        return [self._token] if self._token else []

    def _request_token(self) -> None:
        form = {"grant_type": "client_credentials"}
        if self._scope:
            form["scope"] = self._scope
        headers = {"Accept": "application/json"}
        if self._in_body:
            form |= {"client_id": self._id, "client_secret": self._secret}
        else:
            headers["Authorization"] = basic(quote_plus(self._id), quote_plus(self._secret))
        where = f"The token request to {self._scrub.url(self._url)}"
        response = attempt(where, self._scrub, lambda: self._client.post(self._url, data=form, headers=headers))
        try:
            raise_for_status(where, response.status_code, response.headers, self._scrub.text(response.text))
        except RejectedError as error:  # which would be the fault of a record
            raise EndpointError(str(error)) from None
        try:
            document = response.json()
            self._token = str(document["access_token"])
            life = float(document.get("expires_in", _DEFAULT_LIFE))
        except (ValueError, TypeError, KeyError) as error:
            raise EndpointError(f"{where} returned no access_token") from error
        self._until = time.monotonic() + max(life - _EARLY, life / 2)


def basic(user: str, password: str) -> str:
    """The value of an Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def attempt(what: str, scrub: MessageScrubber, call: Callable[[], ResultT]) -> ResultT:
    """The response of a request; TemporaryError, without secrets, for errors of the network."""
    import httpx

    try:
        return call()
    except httpx.TransportError as error:
        reason = scrub.text(str(error)) or type(error).__name__
        raise TemporaryError(f"{what} failed: {reason}") from None  # its cause may show the URL
    except (httpx.InvalidURL, httpx.HTTPError, UnicodeError) as error:
        raise EndpointError(f"{what} failed: {scrub.text(str(error))}") from None


def credentials_of(settings: Mapping[str, Any], client: httpx.Client, scrub: MessageScrubber) -> RequestCredentials:
    """The credentials of a valid configuration."""
    kind = settings["http.auth.type"]
    if kind == "basic":
        user, password = settings["http.auth.username"], settings["http.auth.password"].value
        return FixedCredentials({"Authorization": basic(user, password)}, {})
    if kind == "bearer":
        return FixedCredentials({"Authorization": f"Bearer {settings['http.auth.token'].value}"}, {})
    if kind == "api-key":
        pair = {settings["http.auth.api.key.name"]: settings["http.auth.api.key"].value}
        return FixedCredentials({}, pair) if settings["http.auth.api.key.in"] == "query" else FixedCredentials(pair, {})
    return ClientCredentials(settings, client, scrub) if kind == "oauth2" else RequestCredentials()
