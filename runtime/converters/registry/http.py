"""Requests to the URLs of a registry, tried in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.errors import DataError, RetriableError
from runtime.system.http_client import proxied_client

_TIMEOUT = 10.0  # seconds for a response
_NOT_FOUND = 404
_LATER = (408, 429)  # the request took too long, or there were too many: no refusal


class MissingError(DataError):
    """The registry does not have the schema or subject."""


class HttpClient:
    """Raises DataError if a registry refuses a request, MissingError if it does not have what was asked for,
    RetriableError if none is available."""

    def __init__(
        self,
        urls: Sequence[str],
        credentials: tuple[str, str] | None = None,
        token: str = "",
        tls: Any = True,
        transport: Any = None,
    ) -> None:
        """`credentials` are user and password, `tls` is a context; True: the default one."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._urls = [url.strip().rstrip("/") for url in urls]
        self._client = proxied_client(
            auth=credentials, headers=headers, timeout=_TIMEOUT, verify=tls, transport=transport
        )

    def ask(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """The response, parsed as JSON."""
        return self.response(method, path, headers, json=body).json()

    def response(self, method: str, path: str, headers: Mapping[str, str], **body: Any) -> Any:
        """The response of the first registry that is available; `body`: arguments of httpx."""
        import httpx

        failure = ""
        for url in self._urls:
            try:
                response = self._client.request(method, url + path, headers=dict(headers), **body)
            except httpx.HTTPError as error:
                failure = f"{_without_user(url)}: {error or type(error).__name__}"
                continue
            if response.status_code < 300:
                return response
            failure = f"{_without_user(url)}{path}: {response.status_code} {_message(response)}"
            if response.status_code < 500 and response.status_code not in _LATER:
                refused = MissingError if response.status_code == _NOT_FOUND else DataError
                raise refused(f"The schema registry refused the request: {failure}")
        raise RetriableError(f"No schema registry is available: {failure}")

    def close(self) -> None:
        self._client.close()


def _message(response: Any) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return str(response.text)[:200]


def _without_user(url: str) -> str:
    """The URL without credentials, for error messages."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
