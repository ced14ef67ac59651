"""POST …/preview runs sample records through a chain without side effects; GET …/errors shows failed records."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import BadRequest
from runtime.herder.herder import Herder
from runtime.herder.previews import MAX_SAMPLES, PreviewRequest, Previews
from runtime.herder.status.error_board import ErrorBoard, merged
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http import bodies
from runtime.rest.http.parameters import path_name
from runtime.rest.http.receiving import LARGE_BODY_LIMIT, parsed
from runtime.rest.http.responses import json_response

_FIELDS = ("config", "records", "last", "topics")
_RECORD = (
    "topic", "partition", "offset", "timestamp", "key", "key_base64", "value", "value_base64", "headers",
    "source_partition", "source_offset",
)  # fmt: skip
_DEFAULT_LAST = 10


class RecordHandlers:
    """Handlers of previews, and of failed records of all workers."""

    def __init__(self, herder: Herder, previews: Previews, errors: ErrorBoard, peers: Peers) -> None:
        self._herder, self._previews, self._errors, self._peers = herder, previews, errors, peers

    async def preview_connector(self, r: Request) -> Response:
        self._herder.stored(path_name(r))
        return json_response(await self._previews.of_connector(path_name(r), await parsed(r, wanted, LARGE_BODY_LIMIT)))

    async def preview_plugin(self, r: Request) -> Response:
        return json_response(await self._previews.of_plugin(path_name(r), await parsed(r, wanted, LARGE_BODY_LIMIT)))

    async def failed(self, r: Request) -> Response:
        self._herder.stored(path_name(r))
        return json_response(all_errors(self._errors.view(path_name(r)), await self._peers.collect(r, "RecordErrors")))


def all_errors(here: dict[str, Any], elsewhere: Mapping[str, Any]) -> dict[str, Any]:
    """The errors of all workers; `missing` names those without a usable response."""
    preview = merged([here, *(view for view in elsewhere.values() if view is not None)])
    missing = sorted(worker for worker, view in elsewhere.items() if view is None)
    return {**preview, "missing": missing} if missing else preview


def wanted(body: bytes) -> PreviewRequest:
    """The body of a preview: `{"config", "records" or "last", "topics"}`, all optional. Raises BadRequest."""
    document = bodies.parse(body) if body.strip() else {}
    d = bodies.known_object(document, "The request body", _FIELDS)
    config = bodies.config_map(bodies.parse(body, exact_numbers=True)["config"], "'config'") if d.get("config") else {}
    topics = d.get("topics") or []
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        raise BadRequest("'topics' must be an array of strings")
    if d.get("records") is not None and d.get("last") is not None:
        raise BadRequest("'records' and 'last' exclude each other: give samples, or take them from the topics")
    if d.get("records") is None:
        return PreviewRequest(config, None, _last(d.get("last")), tuple(topics))
    records = d["records"]
    if not isinstance(records, list) or not records:
        raise BadRequest("'records' must be an array of at least one record")
    if len(records) > MAX_SAMPLES:
        raise BadRequest(f"'records' has {len(records)} records; a preview takes at most {MAX_SAMPLES}")
    return PreviewRequest(
        config, [_record(record, f"records[{i}]") for i, record in enumerate(records)], 0, tuple(topics)
    )


def _last(value: Any) -> int:
    if value is None:
        return _DEFAULT_LAST
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SAMPLES:
        raise BadRequest(f"'last' must be a whole number from 1 to {MAX_SAMPLES}, not {json.dumps(value)}")
    return value


def _record(given: Any, where: str) -> dict[str, Any]:
    """One sample record. A sample that is not a JSON object is the value of a record."""
    d = bodies.known_object(given if isinstance(given, dict) else {"value": given}, where, _RECORD)
    for part in ("key", "value"):
        if part in d and f"{part}_base64" in d:
            raise BadRequest(f"{where} has both '{part}' and '{part}_base64'")
    record = {
        "topic": _typed(d, "topic", str, "a string", where),
        "partition": _typed(d, "partition", int, "a whole number", where),
        "offset": _typed(d, "offset", int, "a whole number", where),
        "timestamp": _typed(d, "timestamp", int, "milliseconds since 1970", where),
        "source_partition": _typed(d, "source_partition", dict, "an object", where),
        "source_offset": _typed(d, "source_offset", dict, "an object", where),
        "headers": _headers(d.get("headers"), where),
    }
    return {**record, **{part: _content(d, part, where) for part in ("key", "value")}}


def _typed(d: dict[str, Any], name: str, kind: type, words: str, where: str) -> Any:
    value = d.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise BadRequest(f"{where}.{name} must be {words}")
    return value


def _content(d: dict[str, Any], part: str, where: str) -> Any:
    """The key or value: JSON, or bytes if it was given as base64."""
    if f"{part}_base64" not in d:
        return d.get(part)
    try:
        return base64.b64decode(d[f"{part}_base64"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise BadRequest(f"{where}.{part}_base64 is not base64") from None


def _headers(given: Any, where: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if isinstance(given, dict):
        return list(given.items())
    pairs = isinstance(given, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in given
    )
    if not pairs:
        raise BadRequest(f"{where}.headers must be an object, or an array of [name, value]")
    return [(name, value) for name, value in given]
