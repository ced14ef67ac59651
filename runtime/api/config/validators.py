"""Validators of configuration values, with Connect's messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex import PatternError, compiled

Validator = Callable[[str, Any], None]
"""A function of the key's name and its typed value that raises ConfigError for an invalid value.

The value is None if it is missing or could not be parsed."""


def at_least(lowest: float) -> Validator:
    """A required number that is not less than `lowest`."""
    return between(lowest, None)


def between(lowest: float | None, highest: float | None) -> Validator:
    """A required number within these bounds, both included; None for no bound."""

    def check(name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, None, "Value must be non-null")
        if lowest is not None and value < lowest:
            raise invalid(name, value, f"Value must be at least {lowest}")
        if highest is not None and value > highest:
            raise invalid(name, value, f"Value must be no more than {highest}")

    return check


def optional(validator: Validator) -> Validator:
    """Like `validator`, but accepts a missing value."""

    def check(name: str, value: Any) -> None:
        if value is not None:
            validator(name, value)

    return check


def one_of(*allowed: str) -> Validator:
    """One of these strings; case-sensitive."""

    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise invalid(name, value, f"String must be one of: {', '.join(allowed)}")

    return check


def one_of_ignoring_case(*allowed: str) -> Validator:
    """One of these strings; case-insensitive."""
    upper = [a.upper() for a in allowed]

    def check(name: str, value: Any) -> None:
        if value is None or value.upper() not in upper:
            raise invalid(name, value, f"String must be one of (case insensitive): {', '.join(upper)}")

    return check


def non_null(name: str, value: Any) -> None:
    """A value that is not null."""
    if value is None:
        raise invalid(name, None, "entry must be non null")


def non_empty(name: str, value: Any) -> None:
    """A string that is not empty; it may be missing."""
    if value == "":
        raise invalid(name, value, "String must be non-empty")


def name_without_control_characters(name: str, value: Any) -> None:
    """A name that is not empty and has no control characters; it may be missing."""
    if value is None:
        return
    if value == "":
        raise invalid(name, value, "String may not be empty")
    if codes := [str(ord(c)) for c in value if ord(c) < 32 or 127 <= ord(c) < 160]:
        reason = "String may not contain control sequences but had the following ASCII chars: " + ", ".join(codes)
        raise invalid(name, value, reason)


def distinct_aliases(name: str, value: Any) -> None:
    """A required list of aliases without duplicates."""
    non_null(name, value)
    if len(set(value)) != len(value):
        raise invalid(name, value, "Duplicate alias provided.")


def distinct_entries(name: str, value: Any) -> None:
    """A list without empty or duplicate entries."""
    if value is None:
        raise ConfigError(f"Configuration '{name}' values must not be null.")
    if len(set(value)) != len(value):
        raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
    if "" in value:
        raise ConfigError(f"Configuration '{name}' values must not be empty.")


def regex(name: str, value: Any) -> None:
    """A regular expression in Java's syntax."""
    if value is None:
        raise invalid(name, value, 'Invalid regex: Cannot invoke "String.isEmpty()" because "this.pattern" is null')
    try:
        compiled(value)
    except PatternError as error:
        raise invalid(name, value, f"Invalid regex: {error}") from None


def satisfies(check: Callable[[Any], bool], reason: str) -> Validator:
    """A value that satisfies `check`; otherwise the error gives `reason`."""

    def validator(name: str, value: Any) -> None:
        if not check(value):
            raise invalid(name, value, reason)

    return validator
