"""JSON of records, whose numbers keep their digits: a float rounds 1234567890.12345678901, and writes 1.10 as 1.1."""

from __future__ import annotations

import json
import os
import re
from decimal import Decimal, DecimalException
from typing import Any


class ExactNumber(Decimal):
    """A number with a fraction or an exponent. `text` is how the record writes it; 1.10 and 1.1 are equal."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactNumber:
        """Raises ValueError for an exponent that is too large."""
        try:
            number = super().__new__(cls, text)
        except DecimalException as error:
            raise ValueError(f"{text[:40]} is too large") from error
        number.text = text
        return number


def loads(text: str | bytes) -> Any:
    """The value of JSON. Raises ValueError, also if it is nested too deeply."""
    try:
        return json.loads(text, parse_float=ExactNumber)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def dumps(value: Any, **options: Any) -> str:
    """`json.dumps` for values with exact numbers."""
    numbers: list[str] = []
    mark = os.urandom(16).hex()  # the encoder writes strings only, which are then replaced

    def marked(number: Any) -> str:
        if not isinstance(number, ExactNumber):
            raise TypeError(f"{type(number).__name__} is not JSON")
        numbers.append(number.text)
        return mark

    text = json.dumps(value, default=marked, **options)
    if not numbers:
        return text
    written = iter(numbers)
    return re.sub(f'"{mark}"', lambda _: next(written), text)
