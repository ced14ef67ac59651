"""A bare HTTP client for Connect's REST API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.support.waiting import allowed, poll

REBALANCING = "because of a conflicting operation"
"""In responses of a worker, ours or Apache's, whose group rebalances."""


def request(
    url: str,
    method: str = "GET",
    body: Any = None,
    timeout: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Any]:
    """Status and decoded body (None if empty). Raises URLError or OSError without an answer, by default after the time
    limit that 30 s are on an idle machine."""
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if data is not None else {}
    ask = urllib.request.Request(url, data=data, headers={**kind, **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(ask, timeout=allowed(30.0) if timeout is None else timeout) as answer:
            return answer.status, _decode(answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, _decode(refusal.read())


def settled_request(url: str, method: str, body: Any = None) -> tuple[int, Any]:
    """As request(), but repeated while the worker's group rebalances, as clients of Connect do: a worker that was too
    busy to send heartbeats has to join its group again."""
    return poll(lambda: request(url, method, body), lambda response: not is_rebalancing(*response), 60.0)


def is_rebalancing(status: int, body: Any) -> bool:
    """Whether a worker refuses a request because its group rebalances."""
    return status == 409 and REBALANCING in message_of(body)


def message_of(body: Any) -> str:
    """The message of an error; empty if the response has none."""
    return str(body.get("message", "")) if isinstance(body, dict) else ""


def answers(url: str) -> bool:
    """Whether a GET is answered with 200."""
    try:
        return request(url, timeout=5.0)[0] == 200
    except OSError:
        return False


def _decode(content: bytes) -> Any:
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
