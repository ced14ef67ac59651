"""JsonConverter with 32-bit floats."""

from __future__ import annotations

import pytest

from runtime.converters.json.json import JsonConverter


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("0.1", "0.1"),
        ("0.1234567891", "0.12345679"),
        ("16777217", "1.6777216E7"),
        ("1e-46", "0.0"),
        ("1e10", "1.0E10"),
        ("123456789", "1.23456792E8"),
        ("1700000000123", "1.70000004E12"),
        ("2147483648.5", "2.14748365E9"),
        ("1e-45", "1.4E-45"),
        ("1e39", '"Infinity"'),
    ],
)
def test_floats_of_32_bits_are_rounded_as_java_does(given: str, written: str) -> None:
    """Recorded from Apache's JsonConverter 4.3."""
    typed, plain = JsonConverter(), JsonConverter()
    typed.configure({}, False)
    plain.configure({"schemas.enable": "false"}, False)
    schema, value = typed.to_connect("t", b'{"schema":{"type":"float"},"payload":%s}' % given.encode())
    assert plain.from_connect("t", schema, value) == written.encode()
