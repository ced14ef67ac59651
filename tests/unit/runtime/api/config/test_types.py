"""Parsing and formatting of configuration values."""

from __future__ import annotations

import pytest

from runtime.api.config.types import ConfigType, Password, java_trim, parse, shown, to_text
from runtime.api.errors import ConfigError


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.STRING, " a b\u0007", "a b"),
        (ConfigType.STRING, "\u00a0a", "\u00a0a"),
        (ConfigType.INT, " +5 ", 5),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.DOUBLE, "1.5e3", 1500.0),
        (ConfigType.DOUBLE, "2.5f", 2.5),
        (ConfigType.DOUBLE, "Infinity", float("inf")),
        (ConfigType.LIST, " a , b ,", ["a", "b", ""]),
        (ConfigType.LIST, " ", []),
        (ConfigType.CLASS, " StringConverter", "StringConverter"),
        (ConfigType.PASSWORD, "s3cret", Password("s3cret")),
        (ConfigType.INT, None, None),
        (ConfigType.INT, 7, 7),
    ],
)
def test_valid_values_are_parsed(type_: ConfigType, text: object, value: object) -> None:
    assert parse("k", text, type_) == value


@pytest.mark.parametrize(
    ("type_", "text", "message"),
    [
        (
            ConfigType.BOOLEAN,
            "maybe",
            "Invalid value maybe for configuration k: Expected value to be either true or false",
        ),
        (ConfigType.INT, "abc", "Invalid value abc for configuration k: Not a number of type INT"),
        (ConfigType.INT, "1.5", "Invalid value 1.5 for configuration k: Not a number of type INT"),
        (ConfigType.INT, "1_000", "Invalid value 1_000 for configuration k: Not a number of type INT"),
        (ConfigType.INT, "2147483648", "Invalid value 2147483648 for configuration k: Not a number of type INT"),
        (ConfigType.SHORT, "32768", "Invalid value 32768 for configuration k: Not a number of type SHORT"),
        (ConfigType.LONG, "9" * 20, f"Invalid value {'9' * 20} for configuration k: Not a number of type LONG"),
        (ConfigType.LONG, "9" * 5000, f"Invalid value {'9' * 5000} for configuration k: Not a number of type LONG"),
        (ConfigType.DOUBLE, "nan", "Invalid value nan for configuration k: Not a number of type DOUBLE"),
    ],
)
def test_invalid_values_are_refused(type_: ConfigType, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse("k", text, type_)
    assert str(raised.value) == message


def test_values_are_formatted_as_text() -> None:
    assert to_text(["a", "b"]) == "a,b"
    assert to_text(True) == "true"
    assert to_text(None) is None
    assert to_text(float("inf")) == "Infinity"
    assert to_text(Password("s3cret")) == shown(Password("s3cret")) == "[hidden]"
    assert "s3cret" not in repr(Password("s3cret"))
    assert shown(["a", None]) == "[a, null]"


def test_trim_works_as_in_java() -> None:
    assert java_trim("\x00\t a \x07") == "a"
    assert java_trim("\u2003a") == "\u2003a"
