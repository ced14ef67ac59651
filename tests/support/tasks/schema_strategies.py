"""Hypothesis strategies for schemas with values that JsonConverter returns unchanged."""

from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import strategies as st

from runtime.api.data.java_text import single_value
from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_of, decimal_schema
from runtime.api.data.schema import Field, Schema, Type

Typed = tuple[Schema, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.text("abcxyz.ü ", min_size=1, max_size=6)
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=dt.UTC)
)


def _integers(kind: Type, bits: int) -> Typed:
    return Schema(kind), st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _decimal(scale: int) -> Typed:
    return decimal_schema(scale), st.integers(-(10**30), 10**30).map(lambda number: decimal_of(number, scale))


def _positive_zero(number: float) -> float:
    """Without -0.0, which JSON with schemas does not preserve, as in Java."""
    return number + 0.0


SCALARS: list[Typed] = [
    _integers(Type.INT8, 8),
    _integers(Type.INT16, 16),
    _integers(Type.INT32, 32),
    _integers(Type.INT64, 64),
    (
        Schema(Type.FLOAT32),
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(_positive_zero).map(single_value),
    ),
    (Schema(Type.FLOAT64), st.floats(allow_nan=False, allow_infinity=False).map(_positive_zero)),
    (Schema(Type.BOOLEAN), st.booleans()),
    (Schema(Type.STRING), TEXT),
    (Schema(Type.BYTES), st.binary(max_size=12)),
    (DATE_SCHEMA, st.dates()),
    (TIME_SCHEMA, MOMENTS.map(lambda t: t.time())),
    (TIMESTAMP_SCHEMA, MOMENTS),
    _decimal(0),
    _decimal(7),
]


@st.composite
def _nullable(draw: st.DrawFn, typed: st.SearchStrategy[Typed]) -> Typed:
    """A schema that may be optional, documented, or have a default; the last excludes nulls, which would return as the
    default."""
    schema, values = draw(typed)
    if schema.name is None:
        schema = schema.replace(
            name=draw(st.none() | NAMES), version=draw(st.none() | st.integers(0, 99)), doc=draw(st.none() | TEXT),
            parameters=tuple(draw(st.dictionaries(NAMES, TEXT, max_size=2)).items()),
        )  # fmt: skip
    kind = draw(st.sampled_from(("required", "optional", "default")))
    if kind == "optional":
        return schema.replace(optional=True), st.none() | values
    if kind == "default" and schema.type.primitive:
        return schema.replace(default=draw(values)), values
    return schema, values


def _arrays(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return inner.map(lambda t: (Schema(Type.ARRAY, values=t[0]), st.lists(t[1], max_size=4)))


@st.composite
def _maps(draw: st.DrawFn, inner: st.SearchStrategy[Typed]) -> Typed:
    keys, key_values = draw(st.sampled_from([typed for typed in SCALARS if typed[0].type is not Type.BOOLEAN]))
    schema, values = draw(inner)
    return Schema(Type.MAP, keys=keys, values=schema), st.dictionaries(key_values, values, max_size=4)


@st.composite
def _structs(draw: st.DrawFn, inner: st.SearchStrategy[Typed]) -> Typed:
    fields = draw(st.dictionaries(NAMES, inner, max_size=4))
    schema = Schema(Type.STRUCT, fields=tuple(Field(name, typed[0]) for name, typed in fields.items()))
    return schema, st.fixed_dictionaries({name: typed[1] for name, typed in fields.items()})


TYPED: st.SearchStrategy[Typed] = st.recursive(
    _nullable(st.sampled_from(SCALARS)),
    lambda inner: _nullable(_arrays(inner) | _maps(inner) | _structs(inner)),
    max_leaves=8,
)
