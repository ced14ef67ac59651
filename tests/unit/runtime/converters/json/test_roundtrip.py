"""JsonConverter with schemas returns every schema and value unchanged."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.converters.json.json import JsonConverter
from tests.support.tasks.schema_strategies import TYPED


@settings(max_examples=400)
@given(st.data(), st.sampled_from(("BASE64", "NUMERIC")))
def test_every_value_round_trips(data: st.DataObject, decimals: str) -> None:
    schema, values = data.draw(TYPED)
    first, second = data.draw(values), data.draw(values)
    writer, reader = JsonConverter(), JsonConverter()
    for converter in (writer, reader):
        converter.configure({"decimal.format": decimals}, False)
    for value in (first, second, first):  # the second time the envelope is cached
        written = writer.from_connect("t", schema, value)
        assert written is not None
        found_schema, found = reader.to_connect("t", written)
        assert found_schema == schema
        assert _same(found, value)


def _same(found: Any, value: Any) -> bool:
    """Whether two values are equal and of the same types: 1 is not 1.0."""
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(_same(found[k], v) for k, v in value.items())
    if isinstance(value, list):
        return len(found) == len(value) and all(map(_same, found, value))
    return type(found) is type(value) and found == value
