"""Validators of configuration values; each raises ConfigError for a bad (name, value)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex import PatternError, compiled

Validator = Callable[[str, Any], None]
"""Raises ConfigError for a bad (name, parsed value). A value that failed to parse, or is missing, comes as None."""


def at_least(lowest: float) -> Validator:
    """A number that must be given, and not below `lowest`."""
    return between(lowest, None)


def between(lowest: float | None, highest: float | None) -> Validator:
    """A number that must be given, within these bounds (None: open)."""

    def check(name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, None, "Value must be non-null")
        if lowest is not None and value < lowest:
            raise invalid(name, value, f"Value must be at least {lowest}")
        if highest is not None and value > highest:
            raise invalid(name, value, f"Value must be no more than {highest}")

    return check


def optional(validator: Validator) -> Validator:
    """The same check for values that may be missing."""

    def check(name: str, value: Any) -> None:
        if value is not None:
            validator(name, value)

    return check


def one_of(*allowed: str) -> Validator:
    """One of these strings, spelled exactly so."""

    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise invalid(name, value, f"String must be one of: {', '.join(allowed)}")

    return check


def one_of_ignoring_case(*allowed: str) -> Validator:
    """One of these strings, in any case."""
    upper = [a.upper() for a in allowed]

    def check(name: str, value: Any) -> None:
        if value is None or value.upper() not in upper:
            raise invalid(name, value, f"String must be one of (case insensitive): {', '.join(upper)}")

    return check


def non_null(name: str, value: Any) -> None:
    if value is None:
        raise invalid(name, None, "entry must be non null")


def non_empty(name: str, value: Any) -> None:
    """A string that may be missing but not empty."""
    if value == "":
        raise invalid(name, value, "String must be non-empty")


def name_without_control_characters(name: str, value: Any) -> None:
    """A name: not empty, no control characters. A missing one is the business of the key's definition."""
    if value is None:
        return
    if value == "":
        raise invalid(name, value, "String may not be empty")
    if codes := [str(ord(c)) for c in value if ord(c) < 32 or 127 <= ord(c) < 160]:
        reason = "String may not contain control sequences but had the following ASCII chars: " + ", ".join(codes)
        raise invalid(name, value, reason)


def distinct_aliases(name: str, value: Any) -> None:
    """A list of aliases: given, and none of them twice."""
    non_null(name, value)
    if len(set(value)) != len(value):
        raise invalid(name, value, "Duplicate alias provided.")


def distinct_entries(name: str, value: Any) -> None:
    """A list whose entries are neither empty nor repeated."""
    if value is None:
        raise ConfigError(f"Configuration '{name}' values must not be null.")
    if len(set(value)) != len(value):
        raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
    if "" in value:
        raise ConfigError(f"Configuration '{name}' values must not be empty.")


def regex(name: str, value: Any) -> None:
    """A regular expression as Java reads it."""
    if value is None:
        raise invalid(name, value, 'Invalid regex: Cannot invoke "String.isEmpty()" because "this.pattern" is null')
    try:
        compiled(value)
    except PatternError as error:
        raise invalid(name, value, f"Invalid regex: {error}") from None


def satisfies(check: Callable[[Any], bool], reason: str) -> Validator:
    """Any other condition on the value, with the reason to give when it does not hold."""

    def validator(name: str, value: Any) -> None:
        if not check(value):
            raise invalid(name, value, reason)

    return validator
