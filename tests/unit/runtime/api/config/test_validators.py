"""Validators of configuration values."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.config import validators
from runtime.api.errors import ConfigError


@pytest.mark.parametrize(
    ("validator", "value", "reason"),
    [
        (validators.between(1, 5), 6, "Value must be no more than 5"),
        (validators.between(1, 5), 0, "Value must be at least 1"),
        (validators.one_of("none", "all"), "some", "String must be one of: none, all"),
        (validators.one_of("none", "all"), None, "String must be one of: none, all"),
        (validators.one_of_ignoring_case("poll"), "moon", "String must be one of (case insensitive): POLL"),
        (validators.non_empty, "", "String must be non-empty"),
        (validators.name_without_control_characters, "", "String may not be empty"),
        (
            validators.name_without_control_characters,
            "a\x07b\x1f",
            "String may not contain control sequences but had the following ASCII chars: 7, 31",
        ),
        (validators.distinct_aliases, ["a", "a"], "Duplicate alias provided."),
        (validators.satisfies(lambda v: v % 2 == 0, "Only even numbers"), 3, "Only even numbers"),
    ],
)
def test_validators_refuse(validator: validators.Validator, value: Any, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validator("k", value)
    assert str(raised.value).startswith("Invalid value ")
    assert str(raised.value).endswith(f" for configuration k: {reason}")


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (validators.at_least(1), 1),
        (validators.optional(validators.at_least(1)), None),
        (validators.one_of_ignoring_case("poll"), "Poll"),
        (validators.non_empty, None),
        (validators.name_without_control_characters, None),
        (validators.regex, "a.*"),
        (validators.distinct_entries, ["a", "b"]),
    ],
)
def test_validators_accept(validator: validators.Validator, value: Any) -> None:
    validator("k", value)
