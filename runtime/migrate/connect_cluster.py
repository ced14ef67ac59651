"""A running Connect cluster as its REST API describes it."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

_TIMEOUT = 30.0  # seconds for a response

_CONFLUENT = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
"""By major version of Confluent Platform, the Kafka release of its first minor version; each later one adds one."""

Json = Any


class ClusterError(Exception):
    """The cluster cannot be read; the message names the URL."""


@dataclass(frozen=True, slots=True)
class RunningConnector:
    """A connector with its config; `type` is source, sink or unknown."""

    name: str
    type: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConnectCluster:
    """The version of the worker that responded, and all connectors by name."""

    version: str
    connectors: tuple[RunningConnector, ...]

    @property
    def release(self) -> tuple[int, int]:
        """The release of Kafka, such as (3, 6), also for Confluent's `7.6.0-ccs`; (0, 0) for another form."""
        numbers = re.match(r"(\d+)\.(\d+)", self.version)
        if numbers is None:
            return 0, 0
        major, minor = int(numbers[1]), int(numbers[2])
        if re.search(r"-c(cs|e)\b", self.version) and major in _CONFLUENT:
            first = _CONFLUENT[major]
            return first[0], first[1] + minor
        return major, minor


def read(url: str) -> ConnectCluster:
    """Raises ClusterError."""
    version = str(_get(url, "/").get("version") or "")
    response = _get(url, "/connectors?expand=info")
    if isinstance(response, list):  # before Connect 2.3
        response = {name: {"info": _get(url, f"/connectors/{quote(name, safe='')}")} for name in response}
    try:
        return ConnectCluster(version, tuple(_connector(name, response[name]["info"]) for name in sorted(response)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ClusterError(f"{_shown(url)} gave a malformed response to GET /connectors: {error!r}") from None


def states(url: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The state of each connector, and those of its tasks by id. Raises ClusterError."""
    response = _get(url, "/connectors?expand=status")
    if isinstance(response, list):  # before Connect 2.3
        response = {name: {"status": _get(url, f"/connectors/{quote(name, safe='')}/status")} for name in response}
    try:
        return {name: _states(entry["status"]) for name, entry in response.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ClusterError(f"{_shown(url)} gave a malformed response to GET /connectors: {error!r}") from None


def _states(status: Json) -> tuple[str, tuple[str, ...]]:
    tasks = sorted(status["tasks"], key=lambda task: int(task["id"]))
    return str(status["connector"]["state"]), tuple(str(task["state"]) for task in tasks)


def _connector(name: str, info: Json) -> RunningConnector:
    config = {key: str(value) for key, value in info["config"].items() if value is not None}
    return RunningConnector(name, str(info.get("type") or "unknown"), config)


def _get(url: str, path: str) -> Json:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    ask = urllib.request.Request(urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")) + path)
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        ask.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with urllib.request.urlopen(ask, timeout=_TIMEOUT) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ClusterError(f"{_shown(url)} responded with {error.code} to GET {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ClusterError(f"{_shown(url)} is not a Connect worker that can be read: {reason}") from None


def _shown(url: str) -> str:
    """The URL without user and password."""
    return urlunsplit(urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]))
