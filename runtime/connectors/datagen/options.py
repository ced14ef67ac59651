"""The options of one field of DatagenSource, checked as they are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from runtime.api.data.logical import millis
from runtime.api.errors import ConfigError

NumberT = TypeVar("NumberT", int, float)


class FieldOptions:
    """Typed access to the options of a field. Every method raises ConfigError for an invalid value."""

    def __init__(self, path: str, options: Mapping[str, Any]) -> None:
        self.path = path
        self._options = options
        self._read = {"generator", "null"}

    def check(self, valid: bool, option: str, reason: str) -> None:
        """Raises ConfigError with the field, the option and the reason unless `valid`."""
        if not valid:
            raise ConfigError(f"Invalid value for configuration fields: field {self.path}: {option} {reason}")

    def finish(self) -> None:
        """Refuses options that the generator does not have."""
        unknown = sorted(set(self._options) - self._read)
        self.check(not unknown, ", ".join(unknown), "is not an option of this generator")

    def integer(self, option: str, default: int) -> int:
        """A whole number."""
        value = self._value(option, default)
        self.check(isinstance(value, int) and not isinstance(value, bool), option, "must be a whole number")
        self.check(-(1 << 62) <= value <= 1 << 62, option, "is too large")
        return int(value)

    def number(self, option: str, default: float) -> float:
        value = self._value(option, default)
        self.check(isinstance(value, int | float) and not isinstance(value, bool), option, "must be a number")
        return float(value)

    def decimal(self, option: str, default: int) -> Decimal:
        """A number, exact if it is written as text."""
        try:
            value = Decimal(str(self._value(option, default)))
        except InvalidOperation:
            value = Decimal("NaN")
        self.check(value.is_finite(), option, "must be a number")
        return value

    def probability(self, option: str, default: float) -> float:
        """A number from 0 to 1."""
        value = self.number(option, default)
        self.check(0.0 <= value <= 1.0, option, "must be from 0 to 1")
        return value

    def text(self, option: str, default: str) -> str:
        value = self._value(option, default)
        self.check(isinstance(value, str), option, "must be a string")
        return str(value)

    def instant(self, option: str, default: str) -> int:
        """A time in ISO 8601, as milliseconds since 1970."""
        try:
            return millis(dt.datetime.fromisoformat(self.text(option, default)))
        except ValueError:
            self.check(False, option, "must be a time such as 2026-01-01T00:00:00Z")
            raise

    def values(self, option: str) -> list[Any]:
        """A list that is not empty."""
        value = self._value(option, None)
        self.check(isinstance(value, list) and len(value) > 0, option, "must be a list with at least one value")
        return list(value)

    def weights(self, option: str, count: int) -> list[float] | None:
        """One weight for each of `count` values; None if not set."""
        value = self._value(option, None)
        if value is None:
            return None
        numbers = isinstance(value, list) and all(isinstance(w, int | float) and w >= 0 for w in value)
        self.check(numbers and len(value) == count and sum(value) > 0, option, f"must be {count} numbers")
        return [float(weight) for weight in value]

    def bounds(self, low: NumberT, high: NumberT) -> tuple[NumberT, NumberT]:
        """Both bounds; `min` must not be greater than `max`."""
        self.check(low <= high, "min", "is greater than max")
        return low, high

    def _value(self, option: str, default: Any) -> Any:
        self._read.add(option)
        return self._options.get(option, default)
