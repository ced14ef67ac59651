"""Variables of a path, and query parameters."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.requests import Request

from runtime.herder.errors import BadRequest, NotFound

_HALF_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")


def path_name(request: Request, key: str = "name") -> str:
    """A path variable, unescaped. Raises BadRequest for text that Apache's HTTP server refuses in a name."""
    escaped = request.path_params[key]
    if _HALF_ESCAPE.search(escaped):
        raise BadRequest(f"'{escaped}' in the path has a '%' without two hexadecimal digits; escape '%' as '%25'")
    try:
        name = unquote(escaped, errors="strict")
    except UnicodeDecodeError as e:
        raise BadRequest(f"'{escaped}' in the path is not UTF-8: {e.reason}") from None
    if _CONTROL.search(name):
        raise BadRequest(f"'{escaped}' in the path has a control character, which names cannot have")
    return name


def task_number(request: Request) -> int:
    """The task in the path. Other text is an unknown path, whose 404 has a Content-Type here (FACTS.md, 3)."""
    number = path_name(request, "task")
    if not _NUMBER.fullmatch(number) or not -(2**31) <= int(number) < 2**31:
        raise NotFound("HTTP 404 Not Found")
    return int(number)


def parameter(request: Request, key: str) -> str | None:
    """A query parameter; the first if it was given several times, as in Java. None if it is missing."""
    return next(iter(request.query_params.getlist(key)), None)


def flag(request: Request, key: str, default: bool) -> bool:
    """A boolean query parameter: any value but `true` is false, and an empty value means the default, as in Java."""
    value = parameter(request, key)
    return value.lower() == "true" if value else default


def whole_number(request: Request, key: str, default: int | None = None) -> int:
    """A query parameter that is a whole number. Raises BadRequest if it is missing and has no default."""
    value = parameter(request, key)
    if value is None and default is not None:
        return default
    if not value or not value.isascii() or not value.isdigit() or len(value) > 18:
        raise BadRequest(f"The query parameter '{key}' must be a whole number, not '{value or ''}'")
    return int(value)
