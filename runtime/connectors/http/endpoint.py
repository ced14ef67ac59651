"""Requests to the endpoint of a connector: credentials, TLS, redirects and limits."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from runtime.api.errors import ConfigError
from runtime.connectors.http.credentials import attempt, credentials_of
from runtime.connectors.http.failures import EndpointError, MessageScrubber, raise_for_status
from runtime.connectors.http.settings import EndpointSettings
from runtime.system.http_client import proxied_client, verifying_context

if TYPE_CHECKING:
    import httpx

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD = frozenset({307, 308})
_MOST_REDIRECTS = 5
_LARGEST_RESPONSE = 256 * 1024 * 1024  # bytes


class HttpReply(NamedTuple):
    """A response; `links` has the URLs of the Link header by relation."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    links: Mapping[str, str]


class HttpEndpoint:
    """Sends requests. Thread-safe. Credentials and configured headers are sent to the configured origin only."""

    def __init__(self, connection: EndpointSettings, connections: int) -> None:
        """`connections`: how many requests may be sent at the same time. Raises ConfigError for unusable TLS files."""
        import httpx

        logging.getLogger("httpx").addFilter(_hides_request_log)
        settings = connection.settings
        self._origin = origin_of(connection.url)
        self._headers = connection.headers
        self._scrub = MessageScrubber(connection.secrets)
        timeout = httpx.Timeout(
            settings["http.request.timeout.ms"] / 1000, connect=settings["http.connect.timeout.ms"] / 1000
        )
        self._client = proxied_client(
            verify=_tls(connection),
            timeout=timeout,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=connections + 1, max_keepalive_connections=connections + 1),
        )
        self._credentials = credentials_of(settings, self._client, self._scrub)

    def close(self) -> None:
        """Closes the connections; requests of other threads fail."""
        self._client.close()

    def send(
        self, method: str, url: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpReply:
        """The response to a request. Raises EndpointError for other responses than 2xx and 304."""
        where = first = f"{method} {self._scrub.url(url)}"
        renewed = False
        for _ in range(_MOST_REDIRECTS + 1):
            response = attempt(where, self._scrub, lambda: self._send(method, url, content, headers or {}))  # noqa: B023 - called at once
            status = response.status
            follows = status in (_SAME_METHOD if content is not None or method != "GET" else _REDIRECTS)
            if follows and (location := response.headers.get("location")):
                url = self._redirected(where, url, location)
                where = f"{first}, redirected to {self._scrub.url(url)},"
            elif status == 401 and not renewed and self._is_own(url) and self._credentials.renew():
                renewed = True
            else:
                return self._checked(where, response)
        raise EndpointError(f"{first} was redirected more than {_MOST_REDIRECTS} times")

    def without_secrets(self, url: str) -> str:
        """A URL without the query parameters that hold credentials."""
        parts = urlsplit(url)
        secret = self._credentials.parameters()
        kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in secret]
        return urlunsplit(parts._replace(query=urlencode(kept))) if secret else url

    def _is_own(self, url: str) -> bool:
        return origin_of(url) == self._origin

    def _send(self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        own: dict[str, str] = {}
        if self._is_own(url):
            own = {**self._headers, **self._credentials.headers()}
            url = with_parameters(self.without_secrets(url), self._credentials.parameters())
        request = self._client.build_request(method, url, content=content, headers={**headers, **own})
        response = self._client.send(request, stream=True)
        try:
            content = _limited(response)
        finally:
            response.close()
        links = {name: str(link["url"]) for name, link in response.links.items() if name and "url" in link}
        return HttpReply(response.status_code, response.headers, content, links)

    def _redirected(self, where: str, url: str, location: str) -> str:
        target = named_url(url, location, f"The Location of the response to {where}")
        scheme = urlsplit(target).scheme
        if scheme not in ("http", "https") or (scheme == "http" and urlsplit(url).scheme == "https"):
            raise EndpointError(f"{where} was redirected from https to {scheme or 'an invalid URL'}")
        return target if self._is_own(target) else self.without_secrets(target)

    def _checked(self, where: str, response: HttpReply) -> HttpReply:
        if response.status != 304:
            text = response.content[:10_000].decode("utf-8", "replace")
            text = MessageScrubber(self._credentials.secrets()).text(self._scrub.text(text))
            raise_for_status(where, response.status, response.headers, text)
        return response


def _limited(response: httpx.Response) -> bytes:
    size = 0
    pieces = []
    for piece in response.iter_bytes():
        size += len(piece)
        if size > _LARGEST_RESPONSE:
            raise EndpointError(f"The response is larger than {_LARGEST_RESPONSE >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def named_url(base: str, reference: str, place: str) -> str:
    """The URL that a response to a request to `base` names. EndpointError, which names its `place`, if it is invalid;
    its query, which may be secret, is not shown."""
    try:
        url = urljoin(base, reference)
        origin_of(url)
    except ValueError as error:
        shown = reference.partition("?")[0].rpartition("@")[2]
        raise EndpointError(f"{place} is not a valid URL: {shown} ({error})") from None
    return url


def with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """The URL with these query parameters, which replace those of the same name."""
    if not parameters:
        return url
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*kept, *parameters.items()])))


@cache
def _for_redirects() -> ssl.SSLContext:
    """For redirects from http to https. Shared: reading the authorities takes 30 ms of processor time."""
    import httpx

    return httpx.create_ssl_context()


def _tls(connection: EndpointSettings) -> ssl.SSLContext:
    settings = connection.settings
    if urlsplit(connection.url).scheme == "http" and not settings["http.oauth2.token.url"]:
        return _for_redirects()
    try:
        context = verifying_context(cafile=settings["http.ssl.ca.file"])
        if settings["http.ssl.certificate.file"]:
            password = settings["http.ssl.key.password"]
            context.load_cert_chain(
                settings["http.ssl.certificate.file"],
                settings["http.ssl.key.file"],
                "" if password is None else password.value,  # None would ask at the terminal
            )
    except (OSError, ValueError) as error:
        raise ConfigError(f"The files of http.ssl.* cannot be used: {error}") from error
    if not settings["http.ssl.verify"]:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _hides_request_log(record: logging.LogRecord) -> bool:
    """httpx logs the URL of each request at INFO; its query may hold secrets."""
    return record.levelno > logging.INFO
