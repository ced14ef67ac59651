"""The requests that a trial sends to the embedded worker."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from urllib.parse import quote, urlsplit

from runtime.plugin_kit.errors import KitError

_TIMEOUT = 90.0
_CONFLICT = 409
_RETRIES = 20.0  # seconds; 409 is the response during a rebalance


class EmbeddedRest:
    """The REST API of one worker."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80

    def reload_plugins(self) -> None:
        """Makes the worker read plugin.path again."""
        self._ask("POST", "/connector-plugins/reload")

    def create(self, name: str, config: dict[str, str]) -> None:
        """Creates a connector. KitError with the worker's reason if it refuses the configuration."""
        self._ask("POST", "/connectors", {"name": name, "config": {**config, "name": name}})

    def status(self, name: str) -> dict[str, Any]:
        """State of connector and tasks; empty if there is no status yet."""
        code, response = self._request("GET", f"/connectors/{quote(name, '')}/status")
        return response if code == 200 else {}

    def topics(self, name: str) -> list[str]:
        """The topics to which a connector has written so far."""
        code, response = self._request("GET", f"/connectors/{quote(name, '')}/topics")
        return list(response[name]["topics"]) if code == 200 else []

    def stop(self, name: str) -> None:
        """Stops a connector, so that its offsets can be reset."""
        self._ask("PUT", f"/connectors/{quote(name, '')}/stop")

    def reset_offsets(self, name: str) -> None:
        """Removes the offsets of a stopped connector. KitError if the connector refuses."""
        self._ask("DELETE", f"/connectors/{quote(name, '')}/offsets")

    def delete(self, name: str) -> bool:
        """Deletes a connector; False if it does not exist."""
        code, _ = self._request("DELETE", f"/connectors/{quote(name, '')}")
        return code != 404

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        until = time.monotonic() + _RETRIES
        while True:
            code, response = self._request(method, path, body)
            if code < 400:
                return response
            if code != _CONFLICT or time.monotonic() > until:
                reason = response.get("message", response) if isinstance(response, dict) else response
                raise KitError(f"the embedded worker refuses {method} {path}: {reason}")
            time.sleep(0.3)

    def _request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise KitError(f"the embedded worker does not answer {method} {path}: {error}") from None
        finally:
            connection.close()
