"""Date patterns against what Java's SimpleDateFormat made of them (java_dates.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.api.errors import ConfigError
from runtime.api.java_date import DatePattern
from runtime.api.logical import datetime_of, millis

ANSWERS = json.loads(Path(__file__).with_name("java_dates.json").read_text("utf-8"))


@pytest.mark.parametrize(("pattern", "ms", "text"), ANSWERS["formatted"])
def test_format(pattern: str, ms: int, text: str) -> None:
    assert DatePattern(pattern).format(datetime_of(ms)) == text


@pytest.mark.parametrize(("pattern", "text", "ms"), ANSWERS["parsed"])
def test_parse(pattern: str, text: str, ms: int | None) -> None:
    if ms is None:
        with pytest.raises(ValueError):
            DatePattern(pattern).parse(text)
    else:
        assert millis(DatePattern(pattern).parse(text)) == ms


@pytest.mark.parametrize("pattern", ["bogus", "yyyy'x", "XXXX"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ConfigError):
        DatePattern(pattern)
