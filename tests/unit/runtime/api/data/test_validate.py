"""Validation of values against their schemas."""

from __future__ import annotations

import datetime as dt

import pytest

from runtime.api.data.logical import DATE_SCHEMA, TIMESTAMP_SCHEMA
from runtime.api.data.schema import (
    INT8_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from runtime.api.data.validate import validate_value
from runtime.api.errors import DataError
from tests.support.tasks.schemas import PERSON


def test_validation_of_values() -> None:
    validate_value(Schema(Type.ARRAY, values=OPTIONAL_STRING_SCHEMA), ["a", None])
    validate_value(Schema(Type.MAP, keys=STRING_SCHEMA, values=INT8_SCHEMA), {"a": 1})
    validate_value(DATE_SCHEMA, dt.date(2020, 1, 1))
    for schema, value in (
        (INT8_SCHEMA, 128), (INT8_SCHEMA, True), (INT8_SCHEMA, None), (STRING_SCHEMA, 1), (DATE_SCHEMA, 5),
        (DATE_SCHEMA, dt.datetime(2020, 1, 1)), (TIMESTAMP_SCHEMA, dt.date(2020, 1, 1)), (PERSON, {"name": 1}),
    ):  # fmt: skip
        with pytest.raises(DataError):
            validate_value(schema, value)
