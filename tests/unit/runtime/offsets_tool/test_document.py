"""Documents: parsed in batches with the same result as entry by entry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.offsets_tool import document
from runtime.offsets_tool.errors import BadInput

ENTRIES: list[Any] = [
    {"partition": {"file": f"f{i}", "n": i}, "offset": None if i % 7 == 0 else {"position": i, "ü": ["x", 1.5, None]}}
    for i in range(9_000)
]


def lines(*entries: str) -> str:
    return '{\n"c": [\n' + ",\n".join(entries) + "\n]\n}\n"


def text(entry: Any) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def read(given: str) -> dict[bytes, bytes]:
    return document.read(given.encode(), "given")["c"].offsets


def test_batches_are_parsed_like_single_entries() -> None:
    together = read(lines(*map(text, ENTRIES)))
    assert together == read(json.dumps({"c": ENTRIES}, indent=1))
    assert len(together) == len(ENTRIES)
    assert list(together.items())[1] == (b'{"file":"f1","n":1}', '{"position":1,"ü":["x",1.5,null]}'.encode())


def test_the_last_entry_for_a_partition_counts() -> None:
    given = [*ENTRIES, {"partition": {"n": 3, "file": "f3"}, "offset": {"position": -1}}, *ENTRIES[:2]]
    found = read(lines(*map(text, given)))
    assert len(found) == len(ENTRIES)
    assert found[b'{"file":"f3","n":3}'] == b'{"position":-1}'


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ('{"partition":{"a":1},"offset":{"n":9223372036854775808}}', "64 bits"),
        ('{"partition":{"a":1},"offset":{"n":1,"n":2}}', "twice"),
        ('{"partition":{"a":1},"offset":1}', "expected an object or null"),
        ('{"partition":{"a":1}}', "nothing else"),
        ('{"partition":{"a":1},"offset":null,"more":1}', "nothing else"),
        ('{"partition":{"a":1},"offset":{"n":"a\nb"}}', "not JSON"),
        ('{"partition":{"a":1},"offset":{"n":' + "[" * 120 + "]" * 120 + "}}", "levels deep"),
        ("", "not JSON"),
    ],
)
def test_one_invalid_entry_among_many_is_reported(odd: str, why: str) -> None:
    given = [text(entry) for entry in ENTRIES[:5_000]]
    given[4_000] = odd
    with pytest.raises(BadInput, match=why) as refused:
        read(lines(*given))
    if "not JSON" not in str(refused.value):
        assert "c[4000]" in str(refused.value) or "offsets[4000]" in str(refused.value)


def test_numbers_of_any_kind_are_unchanged() -> None:
    values = ["9223372036854775807", "-9223372036854775808", "1.50", "1e5", "-0.0", "0.1", "100000000000000000000.5"]
    found = read(lines(*(f'{{"partition":{{"a":{i}}},"offset":{{"n":{v}}}}}' for i, v in enumerate(values))))
    assert [json.loads(offset)["n"] for offset in found.values()] == [json.loads(v) for v in values]
