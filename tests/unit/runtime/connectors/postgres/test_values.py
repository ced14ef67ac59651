"""Texts of PostgreSQL as values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from runtime.connectors.postgres.catalog import PgType
from runtime.connectors.postgres.definition import ValueModes
from runtime.connectors.postgres.modes import Binary, Decimals, Intervals, TimePrecision
from runtime.connectors.postgres.snapshot import copied_row
from runtime.connectors.postgres.values import nested, temporal
from runtime.connectors.postgres.values.defaults import default_of
from runtime.connectors.postgres.values.mapping import mapped, numeric_scale


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0), ("2024-02-29", 19782), ("1969-12-31", -1), ("0001-01-01", -719162),
        ("0001-12-31 BC", -719163), ("0044-03-15 BC", -735160), ("4714-11-24 BC", -2440588), ("10000-01-01", 2932897),
        ("infinity", 2**31 - 1), ("-infinity", -(2**31)),
    ],
)  # fmt: skip
def test_dates(text: str, days: int) -> None:
    assert temporal.days(text) == days


@pytest.mark.parametrize(
    ("text", "digits", "expected"),
    [
        ("2024-02-29 10:34:56.789012+00", 6, "2024-02-29T10:34:56.789012Z"),
        ("2024-02-29 10:34:56.7+00", 3, "2024-02-29T10:34:56.700Z"),
        ("2024-02-29 10:34:56+00", 0, "2024-02-29T10:34:56Z"),
        ("2024-02-29 10:34:56+05:30", 6, "2024-02-29T05:04:56.000000Z"),
        ("0044-03-15 01:02:03.4+00 BC", 6, "-0043-03-15T01:02:03.400000Z"),
        ("10000-01-01 00:00:00+00", 3, "+10000-01-01T00:00:00.000Z"),
        ("infinity", 6, "infinity"),
    ],
)
def test_timestamps_with_a_zone(text: str, digits: int, expected: str) -> None:
    assert temporal.zoned_timestamp(text, digits) == expected


def test_other_times() -> None:
    assert temporal.timestamp_micros("1969-12-31 23:59:59.999") == -1000
    assert temporal.time_micros("24:00:00") == 86_400_000_000
    assert temporal.zoned_time("10:00:00.12+05:30") == "04:30:00.12Z"
    assert temporal.zoned_time("23:59:59-12") == "11:59:59Z"
    with pytest.raises(ValueError, match="64 bits"):
        temporal.timestamp_micros("294276-12-31 23:59:59.999999")


@pytest.mark.parametrize(
    ("text", "micros", "iso"),
    [
        ("1 year 2 mons 3 days 04:05:06.789", 37091106789000, "P1Y2M3DT4H5M6.789S"),
        ("-1 mons -2 days", -2802600000000, "P0Y-1M-2DT0H0M0S"),
        ("-00:00:00.5", -500000, "P0Y0M0DT0H0M-0.5S"),
        ("00:00:00", 0, "P0Y0M0DT0H0M0S"),
    ],
)
def test_intervals(text: str, micros: int, iso: str) -> None:
    assert (temporal.interval_micros(text), temporal.interval_text(text)) == (micros, iso)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{}", []),
        ("{1,NULL,3}", ["1", None, "3"]),
        ('{a,"b c",NULL,"NULL","q\\"u\\\\o","x,y{}"}', ["a", "b c", None, "NULL", 'q"u\\o', "x,y{}"]),
        ("{{1,2},{3,NULL}}", [["1", "2"], ["3", None]]),
        ("[0:1]={1,2}", ["1", "2"]),
        ('{""}', [""]),
    ],
)
def test_arrays(text: str, items: list[Any]) -> None:
    assert nested.elements(text) == items


def test_hstore() -> None:
    assert nested.pairs('"a"=>"1", "b"=>NULL, "c\\"d"=>"=>", ""=>""') == {"a": "1", "b": None, 'c"d': "=>", "": ""}


def test_lines_of_copy() -> None:
    assert copied_row(b"1\t\\N\ta\\tb\\\\c\\n\t\n") == [b"1", None, b"a\tb\\c\n", b""]


_DEFAULT = ValueModes()


def _value(name: str, text: bytes, modes: ValueModes = _DEFAULT, modifier: int = -1) -> Any:
    kind = mapped(PgType(0, name, "b"), modifier, modes)
    assert kind is not None
    return kind.convert(text)


def test_numbers() -> None:
    """numeric(5,2) has the modifier 327686; a negative scale takes 11 bits."""
    assert numeric_scale(327686) == (5, 2)
    assert numeric_scale((5 << 16 | (-2 & 0x7FF)) + 4) == (5, -2)
    assert _value("numeric", b"123.45", modifier=327686) == Decimal("123.45")
    assert _value("numeric", b"12300", modifier=(5 << 16 | (-2 & 0x7FF)) + 4).as_tuple() == Decimal("123E2").as_tuple()
    assert _value("numeric", b"0.10") == {"scale": 1, "value": b"\x01"}
    assert _value("numeric", b"-100") == {"scale": 0, "value": b"\x9c"}
    assert _value("numeric", b"NaN", ValueModes(decimals=Decimals.STRING)) == "NaN"
    assert _value("numeric", b"1e3", ValueModes(decimals=Decimals.DOUBLE)) == 1000.0
    assert _value("money", b"-$1,234.50") == Decimal("-1234.50")


def test_numbers_with_many_digits_are_exact() -> None:
    """numeric has up to 131,072 digits; Python's default context rounds to 28."""
    number = 7**8000  # 6,761 digits, more than int() accepts as text
    assert _value("numeric", f"{Decimal(number):f}".encode()) == {
        "scale": 0, "value": number.to_bytes(number.bit_length() // 8 + 1, "big")
    }  # fmt: skip
    hundreds = (40 << 16 | (-2 & 0x7FF)) + 4
    assert int(_value("numeric", b"1" * 40 + b"00", modifier=hundreds)) == int("1" * 40) * 100
    largest = b"$92,233,720,368,547,758.07"
    assert str(_value("money", largest, ValueModes(money_digits=18))) == "92233720368547758.070000000000000000"
    scale_10 = (38 << 16 | 10) + 4
    kind = PgType(0, "numeric", "b")
    schema = mapped(kind, scale_10, _DEFAULT)
    assert schema is not None
    digits = "1234567890123456789012345678"
    assert default_of(f"{digits}.5", kind, scale_10, schema) == Decimal(f"{digits}.5000000000")


def test_bytes_and_bits() -> None:
    assert _value("bytea", b"\\x00ff10") == b"\x00\xff\x10"
    assert _value("bytea", b"\\x00ff10", ValueModes(binary=Binary.HEX)) == "00ff10"
    assert _value("bytea", b"\\xfbef", ValueModes(binary=Binary.BASE64_URL)) == "--8="
    assert _value("bit", b"1", modifier=1) is True
    assert _value("bit", b"10110", modifier=5) == b"\x16"
    assert _value("varbit", b"0000000000000001") == b"\x01"


def test_modes_of_times() -> None:
    adaptive, micros = ValueModes(), ValueModes(times=TimePrecision.ADAPTIVE_MICROS)
    assert _value("time", b"23:59:59.999", adaptive, 3) == 86_399_999
    assert _value("time", b"23:59:59.999", micros, 3) == 86_399_999_000
    assert _value("timestamp", b"2024-02-29 12:34:56", micros, 0) == 1_709_210_096_000
    assert _value("interval", b"1 day", ValueModes(intervals=Intervals.STRING)) == "P0Y0M1DT0H0M0S"


@pytest.mark.parametrize(
    ("expression", "kind", "default"),
    [
        ("7", "int4", 7), ("'-5'::integer", "int4", -5), ("(1 + 2)", "int4", None),
        ("nextval('x'::regclass)", "int8", 0),
        ("true", "bool", True), ("'it''s'::text", "text", "it's"), ("md5('a'::text)", "text", ""),
        ("'2020-01-02'::date", "date", 18263), ("CURRENT_DATE", "date", 0), ("now()", "timestamp", 0),
        ("now()", "timestamptz", "1970-01-01T00:00:00.000000Z"), ("'today'::date", "date", None),
        ("NULL::character varying", "varchar", None),
    ],
)  # fmt: skip
def test_defaults(expression: str, kind: str, default: Any) -> None:
    database_type = PgType(0, kind, "b")
    of = mapped(database_type, -1, ValueModes())
    assert of is not None
    assert default_of(expression, database_type, -1, of) == default
