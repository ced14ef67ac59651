"""A cache of objects derived from schemas, looked up by identity first, since records share schema objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from runtime.api.data.schema import Schema

T = TypeVar("T")

_MAX_SCHEMAS = 64  # a stream seldom mixes more schemas


class SchemaCache(Generic[T]):
    """Caches the results of `make`, a function of a schema. Not thread-safe."""

    __slots__ = ("_by_id", "_last", "_made", "_make")

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._by_id: dict[int, tuple[Schema, T]] = {}
        self._last: Schema | None = None
        self._made: T

    def get(self, schema: Schema) -> T:
        """The result for this schema or for an equal one."""
        if schema is self._last:
            return self._made
        cached = self._by_id.get(id(schema))
        if cached is None:
            if len(self._by_id) >= _MAX_SCHEMAS:
                self._by_id.clear()
            equal = next((entry for entry in self._by_id.values() if entry[0] == schema), None)
            cached = self._by_id[id(schema)] = (schema, equal[1] if equal is not None else self._make(schema))
        self._last, self._made = cached
        return self._made
