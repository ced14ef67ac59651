"""Bodies of requests as JSON with placeholders, such as `{"variables": {"after": "${page}"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from runtime.api.errors import ConfigError
from runtime.connectors.http.templates import TextTemplate, as_text


class JsonBody:
    """A JSON document in whose strings placeholders are replaced. A string that is a placeholder alone becomes the
    value itself: a number, a text or null."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError if `text` is not JSON."""
        try:
            self._document = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ConfigError(f"not valid JSON: {error}") from None
        self.names = frozenset(TextTemplate(orjson.dumps(self._document).decode()).names)

    @property
    def is_graphql(self) -> bool:
        """Whether it is a request of GraphQL, whose errors arrive with status 200."""
        return isinstance(self._document, dict) and isinstance(self._document.get("query"), str)

    def fill(self, values: Mapping[str, Any]) -> bytes:
        """The body with the value of each placeholder; None is null, or nothing within a longer text."""
        return orjson.dumps(_filled(self._document, values))


def _filled(node: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(node, dict):
        return {name: _filled(item, values) for name, item in node.items()}
    if isinstance(node, list):
        return [_filled(item, values) for item in node]
    if not isinstance(node, str):
        return node
    for name, value in values.items():
        if node == f"${{{name}}}":
            return value

    def text_of(name: str) -> str:
        return "" if values[name] is None else as_text(values[name])

    return TextTemplate(node, encoded=False).fill(text_of)


_RATE_LIMITS = frozenset({"RATE_LIMIT", "RATE_LIMITED", "THROTTLED", "TOO_MANY_REQUESTS"})


def is_rate_limit(errors: Any) -> bool:
    """Whether errors of a GraphQL response are a rate limit, by the type or code of one of them."""
    for error in errors if isinstance(errors, list) else ():
        more = error.get("extensions") if isinstance(error, dict) else None
        codes = {str(part.get(key)) for part in (error, more) if isinstance(part, dict) for key in ("type", "code")}
        if codes & _RATE_LIMITS:
            return True
    return False
