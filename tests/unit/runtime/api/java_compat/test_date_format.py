"""DatePattern against recorded results of Java's SimpleDateFormat (java_dates.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.data.logical import datetime_of, millis
from runtime.api.errors import ConfigError
from runtime.api.java_compat.date_format import DatePattern

ANSWERS = json.loads(Path(__file__).with_name("java_dates.json").read_text("utf-8"))


@pytest.mark.parametrize(("pattern", "ms", "text"), ANSWERS["formatted"])
def test_dates_are_formatted_as_in_java(pattern: str, ms: int, text: str) -> None:
    assert DatePattern(pattern).format(datetime_of(ms)) == text


@pytest.mark.parametrize(("pattern", "text", "ms"), ANSWERS["parsed"])
def test_dates_are_parsed_as_in_java(pattern: str, text: str, ms: int | None) -> None:
    if ms is None:
        with pytest.raises(ValueError):
            DatePattern(pattern).parse(text)
    else:
        assert millis(DatePattern(pattern).parse(text)) == ms


@pytest.mark.parametrize("pattern", ["bogus", "yyyy'x", "XXXX"])
def test_invalid_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError):
        DatePattern(pattern)


_FIELDS = ["yyyy", "MM", "dd", "HH", "mm", "ss", "SSS", "X", "XXX", "Z", "MMM", "S", "h", "a", "yy", "d"]
_BETWEEN = ["-", "", " ", ":", "'T'", ".", "'5'", "/", "%", "'+'"]
PATTERNS = st.lists(
    st.tuples(st.sampled_from(_FIELDS[:10]) | st.sampled_from(_FIELDS), st.sampled_from(_BETWEEN)),
    min_size=1,
    max_size=8,
)
TIMES = st.integers(-62_135_596_800_000, 253_402_300_799_999) | st.integers(1_600_000_000_000, 1_800_000_000_000)
ODD = [
    ("2", "99"),
    ("0", "0"),
    ("1", "12"),
    ("-", "--"),
    (":", ""),
    ("T", " T"),
    ("+0000", "+00:00"),
    ("Z", "+01:00"),
    ("2", "٢"),
]


@settings(max_examples=400)
@given(PATTERNS, TIMES, st.lists(st.sampled_from(ODD), max_size=2), st.sampled_from(["", "7", "x"]))
def test_the_fast_path_agrees_with_parsing_field_by_field(
    parts: list[tuple[str, str]], ms: int, odd: list[tuple[str, str]], tail: str
) -> None:
    pattern = "".join(field + (between or "-" * ("X" in field)) for field, between in parts)
    quick, slow = (DatePattern(pattern) for _ in range(2))
    slow._fixed_width_writer = slow._fixed_width_reader = None
    text = slow.format(datetime_of(ms))
    assert quick.format(datetime_of(ms)) == text
    for old, new in odd:
        text = text.replace(old, new, 1)
    assert _read(quick, text + tail) == _read(slow, text + tail), (pattern, text + tail)


@pytest.mark.parametrize(("pattern", "text"), [("mm", "51\u0662"), ("mm", "12E2"), ("yyyy", "9954\u0662x")])
def test_numbers_with_more_digits_or_an_exponent_leave_the_fast_path(pattern: str, text: str) -> None:
    fixed = DatePattern(pattern)._fixed_width_reader
    assert fixed is not None and fixed(text) is None


def _read(pattern: DatePattern, text: str) -> Any:
    try:
        return repr(pattern.parse(text))
    except (ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyyMMdd HHmmss", "dd/MM/yyyy", "HH:mm"])
def test_fixed_width_patterns_take_the_fast_path(pattern: str) -> None:
    found = DatePattern(pattern)
    assert found._fixed_width_writer is not None and found._fixed_width_reader is not None
    assert found._fixed_width_reader(found.format(datetime_of(0))) == datetime_of(0)
