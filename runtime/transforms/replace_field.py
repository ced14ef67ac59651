"""ReplaceField: leaves fields out, keeps only some, renames them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.columns import Made, Mixed, Origins, Values
from runtime.api.config import ConfigDef, Type
from runtime.api.errors import DataError, SchemaBuilderError
from runtime.api.java_text import JavaMap, map_order
from runtime.api.schema import Schema, struct
from runtime.api.schema_cache import SchemaCache
from runtime.api.transformation import Part, PartTransformation, Record, each_map
from runtime.api.values import invalid
from runtime.transforms.definitions import MEDIUM, REPLACE_NULL, distinct_values, key
from runtime.transforms.requirements import require_map, require_struct

_PURPOSE = "field replacement"


def _renames(name: str, value: Any) -> None:
    distinct_values(name, value)
    _mapping(name, value or [])


def _mapping(name: str, pairs: list[str]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for pair in pairs:
        old, colon, new = pair.partition(":")
        if not colon or not new or ":" in new:
            raise invalid(name, pairs, f"Invalid rename mapping: {pair}")
        mapping[old] = new
    return mapping


class ReplaceFieldValue(PartTransformation):
    """What is left out wins over what is kept. A null is left alone."""

    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Value"
    config_def = ConfigDef(
        key(
            "exclude",
            "The fields to leave out, even if they are to be kept too.",
            Type.LIST,
            "",
            MEDIUM,
            distinct_values,
        ),
        key("include", "The only fields to keep; empty means all.", Type.LIST, "", MEDIUM, distinct_values),
        key("renames", "New names of fields, as old:new.", Type.LIST, "", MEDIUM, _renames),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._exclude = frozenset(parsed["exclude"])
        self._include = frozenset(parsed["include"])
        self._all = not self._exclude and not self._include
        self._names = _mapping("renames", parsed["renames"])
        self._origins = {self._names[old]: old for old in map_order(self._names)}
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._replaced)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            old = require_map(value, _PURPOSE)
            new_name = self._names.get
            names = list(old) if self._all else list(filter(self._kept, old))
            kept = JavaMap({new_name(name, name): old[name] for name in names})
            if len(kept) < len(names):  # the last of two of the same name wins: the last in Java's order
                ordered = [name for name in map_order(old) if self._kept(name)]
                kept = JavaMap({new_name(name, name): old[name] for name in ordered})
            kept.taken, kept.room = 0, len(old)
            return None, kept
        replaced, plan, befores, names, defaults = self._schemas.get(schema)
        old = require_struct(schema, value, _PURPOSE)
        get = old.get
        if defaults:
            return replaced, {
                name: default if (item := get(before)) is None else item for before, name, default in plan
            }
        return replaced, dict(zip(names, map(get, befores), strict=True))

    def update_together(self, values: Values, origins: Origins) -> Values | None:
        schema = values.schema
        if values.null:
            return values
        if schema is None:
            return self._maps(values)
        replaced, plan, _, _, defaults = self._schemas.get(schema)
        columns = values.columns
        if defaults and any(default is not None and None in columns[before] for before, _, default in plan):
            raise Mixed
        return Values.struct(replaced, {name: columns[before] for before, name, _ in plan}, values.count)

    def _maps(self, values: Values) -> Values:
        try:
            columns = values.columns
        except Mixed:
            return each_map(self.update, values)
        names = list(filter(self._kept, columns))
        new = {self._names.get(name, name): columns[name] for name in names}
        if len(new) < len(names):
            return each_map(self.update, values)
        return Values.maps(new, values.count, Made(0, len(columns)))

    def _kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _before(self, schema: Schema, name: str, wanted: Schema) -> tuple[str, Any]:
        """The field that a field of the new name takes its value from, and its default. As in Apache's that is what is
        renamed so, even where another field has the name already."""
        before = self._origins.get(name, name)
        found = schema.field(before)
        if found is None:
            raise DataError(f"{before} is not a valid field name")
        if found.type is not wanted.type:
            raise DataError(f'Invalid object for schema with type {wanted.type.name}: a {found.type.name} for "{name}"')
        return before, found.default

    def _replaced(self, schema: Schema) -> tuple[Schema, list[tuple[str, str, Any]], list[str], list[str], bool]:
        """The new schema; for each of its fields the old name, the new one, and what a null becomes; the old and the
        new names alone; whether a null becomes anything else than null."""
        fields: dict[str, Schema] = {}
        plan: list[tuple[str, str, Any]] = []
        for field in schema.fields:
            if not self._kept(field.name):
                continue
            name = self._names.get(field.name, field.name)
            if name in fields:
                raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
            fields[name] = field.schema
        for name, wanted in fields.items():
            before, default = self._before(schema, name, wanted)
            plan.append((before, name, default if self._fill else None))
        befores, names = [before for before, _, _ in plan], list(fields)
        return struct(fields, schema), plan, befores, names, any(default is not None for _, _, default in plan)


class ReplaceFieldKey(ReplaceFieldValue):
    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Key"
    part = Part.KEY
