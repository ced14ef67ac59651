"""Texts and times through TimestampConverter: patterns of lenient SimpleDateFormats."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import Chance, integer, schema
from tests.contract.differential.cases.transforms import record, transformed

Json = Any
_K = "TimestampConverter$Value"


def parsed(pattern: str, text: str) -> Json:
    given = record(text, schema("STRING"))
    return transformed(_K, {"target.type": "Timestamp", "format": pattern}, given)


def formatted(pattern: str, ms: int) -> Json:
    return transformed(_K, {"target.type": "string", "format": pattern}, record(integer(ms), schema("INT64")))


_PARSED = [
    ("yyyy-MM-dd hh:mm:ss", "2020-01-02 13:05:00"), ("yyyy-MM-dd KK:mm", "2020-01-02 13:05"), ("kk", "24"), ("hh",
    "12"),
    ("YYYY-'W'ww-u", "2020-W01-1"), ("YYYY-'W'ww-u", "2020-W53-9"), ("YYYY-'W'ww-u", "2020-W05-0"), ("yyyy ww",
    "2020 7"),
    ("yyyy F E", "2020 2 Mon"), ("yyyy-MM W u", "2020-03 2 3"), ("a", "PM"), ("yyyy G", "5 AD"), ("HH:mmX",
    "10:00-0830"),
    ("HH:mmX", "10:00-08"), ("HH:mmXX", "10:00-0830"), ("HH:mmXXX", "10:00-08:30"), ("HH:mmX", "10:00z"),
    ("yyyyMMdd", "1970 01 02"), ("yyyyMMdd", "19700102"), ("yyyyMMddHHmmss", "20200102030405"), ("yyyy z", "2020 JST"),
    ("yyyy z", "2020 IST"), ("yyyy z", "2020 BST"), ("yyyy z", "2020 CEST"), ("yyyy-MM z", "2020-07 CET"),
    ("yyyy Z", "2020 +00:00"), ("yyyy Z", "2020 -0330"), ("yyyyX", "2020+00:00"), ("yyyy z", "2020 Z"), ("MMM", " Jan"),
    ("d", "1E1"), ("d", "NaN"), ("d", "99999999999"), ("d", "٣"), ("d", "x"), ("yyyy-MM-dd", "2020-01-02x"),
    ("D", "366"), ("yyyy", ""), ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2020-01-02T03:04:05.006Z"), ("yy", "46"), ("yy", "99"),
    ("EEEE, d MMMM yyyy", "Monday, 6 January 2020"), ("yyyy''MM", "2020'02"), ("yyyy", "-5"), ("yyyy", "10000"),
    ("b", "1"), ("yyyy'", "1"), ("XXXX", "Z"), ("yyyy zzzz", "2020 Pacific Standard Time"), ("z", "GMT+1:00"),
]  # fmt: skip
_LETTERS = [
    "yyyy", "yyyy", "YYYY", "M", "MM", "MMM", "MMMM", "LL", "LLL", "w", "ww", "W", "D", "DDD", "d", "dd", "F", "E",
    "EEEE", "u", "a", "H", "HH", "k", "kk", "K", "h", "hh", "m", "mm", "s", "ss", "S", "SSS", "z", "Z", "X", "XX",
    "XXX",
    "G",
]  # fmt: skip
_BETWEEN = ["", "", "-", " ", ":", "/", "'T'", ".", "  "]
_ZONES = ["UTC", "EST", "PDT", "JST", "IST", "BST", "CET", "CEST", "GMT", "GMT+1:00", "gmt-03:30", "+0100", "-0830",
           "+08",
          "Z", "Pacific Standard Time", "AEDT", "MSK", "foo", ""]  # fmt: skip
_WORDS = {
    "M": ["Jan", "september", "Dec", "May "], "L": ["Jan", "JUNE"], "E": ["Mon", "Tuesday", "sun", "x"],
    "a": ["AM", "pm", "P"], "G": ["AD", "ad", "Anno Domini"], "z": _ZONES, "Z": _ZONES,
    "X": ["Z", "z", "+01", "-0830", "+05:30", "+1", "-00", "+2400", "+0060"],
}  # fmt: skip
_NUMBERS = {
    "y": [1999, 2024, 1970, 2100], "Y": [2019, 2020, 2021], "M": [1, 12, 6], "L": [3], "w": [1, 53, 20], "W": [1, 5],
    "D": [1, 366, 100], "d": [1, 31, 29], "F": [1, 5, 2], "u": [1, 7, 3], "H": [0, 23, 13], "k": [24, 1, 13],
    "K": [0, 11, 13], "h": [12, 1, 13], "m": [59, 0], "s": [59, 0], "S": [999, 0, 5],
}  # fmt: skip

TABLE: list[Json] = [
    *(parsed(pattern, text) for pattern, text in _PARSED),
    *(formatted(letter * width, ms) for letter in "GyYMLwWDdFEuaHkKhmsSzZX" for width in (1, 2, 3, 4)
      for ms in (0, 1_566_570_894_346, 1_609_459_199_999)),
]  # fmt: skip


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [_generated(chance) for _ in range(count)]


def _generated(chance: Chance) -> Json:
    pattern = text = ""
    for number in range(chance.random.randint(1, 6)):
        letters = chance.one(_LETTERS)
        between = chance.one(_BETWEEN) if number else ""
        if pattern.endswith(letters[0]) and not between:
            between = "-"
        pattern += between + letters
        text += between.replace("'", "") + _field(chance, letters)
    if chance.random.random() < 0.15:
        return formatted(pattern, chance.random.randrange(-(10**12), 4 * 10**12))
    return parsed(pattern, text[: -1 if chance.random.random() < 0.05 else None])


def _field(chance: Chance, letters: str) -> str:
    letter = letters[0]
    if letter in _WORDS and not (letter in "ML" and len(letters) < 3):
        return str(chance.one(_WORDS[letter]))
    roll = chance.random.random()
    if roll > 0.95:
        return str(chance.one([" 1", "+1", "x", "1E1", "NaN", "٣", "1.5"]))
    small = letter not in "yY" and roll < 0.1
    number = chance.one([0, -1, 100, 8, 366]) if small else chance.one(_NUMBERS[letter])
    return str(number).zfill(len(letters)) if roll < 0.75 else str(number)
