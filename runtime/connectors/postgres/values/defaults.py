"""The defaults of columns as values of their schemas, as far as they are constants.

Like Debezium, functions give the zero of their type: 0 for nextval(), 1970 for now(), an empty text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import EXACT
from runtime.api.data.schema import Type
from runtime.connectors.postgres.catalog import PgType
from runtime.connectors.postgres.values.mapping import Mapped, numeric_scale

_LITERAL = re.compile(r"\(?'((?:[^']|'')*)'(?:::.+)?\Z", re.DOTALL)
_NUMBER = re.compile(r"\(?'?(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)'?\)?(?:::[\w \"(),]+)?\Z")
_BITS = re.compile(r"B?'([01]*)'")
_FUNCTION = re.compile(r"\(?(?:[\w.\"]+\(.*\)\)?|CURRENT_\w+|LOCALTIME\w*|SESSION_USER|USER)(?:::.+)?\Z", re.DOTALL)
_WITHOUT = frozenset({"bytea", "money"})  # for which Debezium has no defaults
_ZEROS = {"timestamptz": b"1970-01-01 00:00:00+00", "uuid": b"00000000-0000-0000-0000-000000000000"}
_NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric", "oid"})


def default_of(expression: str, kind: PgType, modifier: int, mapped: Mapped) -> Any:
    """The value of a default expression, as pg_get_expr() prints it; None if it is no constant. `modifier` has the
    precision and scale of the column."""
    if kind.element is not None or kind.is_domain or kind.name in _WITHOUT or mapped.schema.type is Type.STRUCT:
        return None
    text = _text(expression, kind)
    if text is None:
        if not _FUNCTION.match(expression):
            return None
        zero = _ZEROS.get(kind.name)
        return mapped.missing if zero is None else mapped.convert(zero)
    try:
        if kind.name == "numeric" and modifier >= 0:
            unit = Decimal(1).scaleb(-max(numeric_scale(modifier)[1], 0))
            text = str(Decimal(text).quantize(unit, context=EXACT))
        return mapped.convert(text.encode())
    except Exception:  # a text that is no output of the type, such as 'today'
        return None


def _text(expression: str, kind: PgType) -> str | None:
    if kind.name in _NUMBERS:
        number = _NUMBER.match(expression)
        return None if number is None else number[1]
    if kind.name == "bool":
        return {"true": "t", "false": "f"}.get(expression)
    if kind.name in ("bit", "varbit"):
        bits = _BITS.match(expression)
        return None if bits is None else bits[1]
    literal = _LITERAL.match(expression)
    return None if literal is None else literal[1].replace("''", "'")
