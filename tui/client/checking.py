"""Checks responses against the types of `tui.client.responses`, so that code which uses a response need not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from tui.client.responses import EVENTS, ListedResponse
from tui.client.shapes import parsed, shape_of
from tui.errors import MalformedResponse

Json = Any
Response = TypeVar("Response")


def fitting(response: Json, expected: type[Response], request: str) -> Response:
    """The response; raises MalformedResponse, which names the request and the place of the error."""
    if misfit := shape_of(expected).misfit(response):
        place, error = misfit
        raise MalformedResponse(f"malformed {request}: {place.removeprefix('.') or 'the whole response'}: {error}")
    return response  # type: ignore[no-any-return]


def listed(response: Json) -> dict[str, ListedResponse]:
    """Connectors with status and info. There may be thousands, so they are checked quickly first."""
    if isinstance(response, dict) and all(type(part) is dict for part in response.values()):
        return response
    return fitting(response, dict[str, ListedResponse], "response to GET /connectors")


def event(name: str, data: str, loads: Callable[[Any], Json] = json.loads) -> Json:
    """The data of an event, decoded by `loads` and checked for its kind of event; raises MalformedResponse."""
    try:
        value = parsed(data.encode(), loads)
    except ValueError as error:
        raise MalformedResponse(f"malformed {name} event: {error}") from None
    return fitting(value, EVENTS.get(name, dict[str, Any]), f"{name} event")
