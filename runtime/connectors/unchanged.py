"""What Debezium writes in place of a large value that an update has not changed, and that the database does not send
(`unavailable.value.placeholder`): the text, or a form of it that fits the type."""

from __future__ import annotations

import base64
import hashlib
import uuid
from functools import cached_property

import orjson

DEFAULT = "__debezium_unavailable_value"


class Placeholder:
    """The forms of a placeholder."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = text.encode()

    @cached_property
    def uuid(self) -> str:
        """In an array of UUIDs, as text."""
        return str(uuid.UUID(bytes=hashlib.md5(self.bytes, usedforsecurity=False).digest(), version=3))

    @property
    def numbers(self) -> list[int]:
        """An array of numbers."""
        return list(self.bytes)

    @property
    def pairs(self) -> dict[str, str]:
        """A map, such as hstore."""
        return {self.text: self.text}

    @cached_property
    def json_pairs(self) -> str:
        """A map as JSON."""
        return orjson.dumps(self.pairs).decode()

    @cached_property
    def texts(self) -> list[str]:
        """All forms that are texts; bytes are Base64 in JSON."""
        return [self.text, self.uuid, self.json_pairs, base64.b64encode(self.bytes).decode()]
