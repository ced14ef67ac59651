"""A bare HTTP client for Connect's REST API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any


def request(
    url: str, method: str = "GET", body: Any = None, timeout: float = 30.0, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Status and decoded body (None if empty). Raises URLError or OSError without an answer."""
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if data is not None else {}
    ask = urllib.request.Request(url, data=data, headers={**kind, **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(ask, timeout=timeout) as answer:
            return answer.status, _decode(answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, _decode(refusal.read())


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
