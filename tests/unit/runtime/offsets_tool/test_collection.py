"""Offset records: parsed in batches, and one by one if they are unusual."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from runtime.offsets_tool import document
from runtime.offsets_tool.codec import OffsetCodec
from runtime.offsets_tool.collection import Offsets, Record


def exported(*records: Record, connectors: set[str] | None = None, history: bool = False) -> str:
    offsets = Offsets(OffsetCodec(), connectors, history=history)
    offsets.take(records)
    written: list[bytes] = []
    document.write(offsets, written.append)
    return b"".join(written).decode()


def record(key: str, value: str | None, timestamp: int = 0, offset: int = 0) -> Record:
    return key.encode(), None if value is None else value.encode(), timestamp, offset


def test_the_last_record_of_a_key_counts() -> None:
    key = '["c",{"a":1}]'
    assert json.loads(exported(record(key, '{"n":1}'), record(key, '{"n":2}'))) == {
        "c": [{"partition": {"a": 1}, "offset": {"n": 2}}]
    }
    assert exported(record(key, '{"n":1}'), record(key, None)) == "{}\n"
    assert exported(record(key, '{"n":1}'), record(key, "null")) == "{}\n"


def test_connectors_with_a_common_prefix_are_separate() -> None:
    names = ["c", "c1", "c-1", "", "ü", 'c"', 'c",', "c\\", "c\n", "c,"]
    records = [record(json.dumps([n, {"a": n}], ensure_ascii=False, separators=(",", ":")), "{}") for n in names]
    found = json.loads(exported(*records))
    assert found == {n: [{"partition": {"a": n}, "offset": {}}] for n in names}
    assert list(json.loads(exported(*records, connectors={"c"}))) == ["c"]


def test_the_latest_spelling_of_a_partition_is_used_and_exported() -> None:
    keys = ['["c",{"a":1,"b":2}]', '["c",{"b":2,"a":1}]', '["c", {"b": 2, "a": 1}]', '["\\u0063",{"a":1,"b":2}]']
    for order in permutations(range(4)):
        records = [record(key, f'{{"n":{age}}}', age) for key, age in zip(keys, order, strict=True)]
        (entry,) = json.loads(exported(*records))["c"]
        assert entry == {"partition": {"a": 1, "b": 2}, "offset": {"n": 3}}
    removed = [record(keys[0], '{"n":1}', 1), record(keys[1], None, 2)]
    assert exported(*removed) == "{}\n"


def test_history_has_every_record_the_oldest_first() -> None:
    one, other = '["c",{"a":1,"b":2}]', '["c",{"b":2,"a":1}]'
    records = [record(one, '{"n":1}', 1), record(one, None, 3), record(other, '{"n":2}', 2)]
    entries = json.loads(exported(*records, history=True))["c"]
    assert [e["offset"] for e in entries] == [{"n": 1}, {"n": 2}, None]


@pytest.mark.parametrize(
    "key", ["", "x", '"c"', '["c"]', '["c","d",{}]', '["c",1]', '[1,{"a":1}]', '["c",{"a":1}', '["c",{"a":[{}', "{}]}]"]
)
def test_malformed_keys_are_reported_and_skipped(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(record('["c",{"a":0}]', "{}"), record(key, "{}"), record('["d",{"a":0}]', "{}"))
    assert list(json.loads(found)) == ["c", "d"]
    assert len(json.loads(found)["c"]) == 1
    assert capsys.readouterr().err.count("ignoring the record") == 1


def test_fragments_of_values_are_not_joined(capsys: pytest.CaptureFixture[str]) -> None:
    values = ['{"n":[{}', "{}]}", "{},{}", '{"n":1}', "[]", "1"]
    found = exported(*(record(f'["c",{{"a":{i}}}]', value) for i, value in enumerate(values)))
    assert json.loads(found) == {"c": [{"partition": {"a": 3}, "offset": {"n": 1}}]}
    assert capsys.readouterr().err.count("ignoring the record") == 5


def test_values_that_a_fast_parser_would_change_are_kept() -> None:
    long = 123456789012345678901234567890
    key, value = f'["c",{{"a":{long},"b":1.50,"c":1e2}}]', f'{{"n":{long},"f":1.50}}'
    assert exported(record(key, value)) == f'{{\n"c": [\n{{"partition":{key[5:-1]},"offset":{value}}}\n]\n}}\n'


def test_keys_and_values_with_schemas_are_read_among_plain_ones() -> None:
    wrapped = record('{"schema":null,"payload":["c",{"a":1}]}', '{"schema":null,"payload":{"n":2}}', 2)
    plain = record('["c",{"a":1}]', '{"n":1}', 1)
    assert json.loads(exported(plain, wrapped))["c"] == [{"partition": {"a": 1}, "offset": {"n": 2}}]
    assert json.loads(exported(record('["c",null]', '{"n":1}')))["c"] == [{"partition": None, "offset": {"n": 1}}]
