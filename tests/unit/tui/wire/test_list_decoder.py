"""Lists of connectors of which only changed ones are decoded again."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from tui.wire.list_decoder import SLICE_SIZE, ListDecoder


def written(some: dict[str, Any], style: int) -> bytes:
    """The list as different servers write it."""
    if style == 2:
        return json.dumps(some, indent=2, ensure_ascii=False).encode()
    return json.dumps(some, separators=(",", ":") if style == 0 else None).encode()


@pytest.mark.parametrize("style", [0, 1, 2])
async def test_any_sequence_of_lists_is_decoded_as_a_whole_list_would_be(style: int) -> None:
    chance, decoder, some = random.Random(style), ListDecoder(json.loads), dict[str, Any]()
    for number in range(60):
        name = f'c "{number % 17}" é'
        match chance.randrange(5):
            case 0:
                some.pop(name, None)
            case 1:
                some = dict(chance.sample(list(some.items()), len(some)))
            case 2:
                some[name] = number
            case _:
                some[name] = {"status": {"state": chance.choice("AB")}, "info": [1, {"a": "}{,:"}]}
        assert await decoder.decoded(written(some, style)) == some


async def test_unchanged_connectors_are_the_same_objects() -> None:
    decoder = ListDecoder(json.loads)
    await decoder.decoded(b'{"a":{"n":0},"b":{"n":1},"c":{"n":1}}')
    before = await decoder.decoded(b'{"a":{"n":1},"b":{"n":1},"c":{"n":1}}')
    after = await decoder.decoded(b'{"new":{},"a":{"n":1},"b":{"n":2},"c":{"n":1}}')
    assert after["a"] is before["a"] and after["c"] is before["c"] and after["b"] == {"n": 2} and after["new"] == {}
    assert await decoder.decoded(b'{"new":{},"a":{"n":1},"b":{"n":2},"c":{"n":1}}') is after
    shorter = await decoder.decoded(b'{"c":{"n":1}}')
    assert shorter["c"] is before["c"] and len(shorter) == 1


OTHERS = (b"[]", b"{}", b"3", b'{"a":1}x', b'{"a":1', b'{"a" 1}', b"{1:2}", b"{[]:2}", b'["a":1}', b"\xff", b"")


@pytest.mark.parametrize("body", OTHERS)
async def test_other_bodies_are_decoded_as_a_whole(body: bytes) -> None:
    decoder = ListDecoder(lambda body: ("whole", body))
    await decoder.decoded(b'{"a":1}')
    assert await decoder.decoded(body) == ("whole", body)
    assert await decoder.decoded(b'{"a":2}') == {"a": 2}


async def test_other_tasks_run_while_a_long_list_is_compared() -> None:
    some = {f"c{number}": {"n": number} for number in range(10 * SLICE_SIZE)}
    decoder, turns = ListDecoder(json.loads), list[int]()

    async def other() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    await decoder.decoded(written(some, 0))
    await decoder.decoded(written(some | {"c1": "changed"}, 0))
    task = asyncio.create_task(other())
    await decoder.decoded(written(some, 0))
    task.cancel()
    assert len(turns) >= 10
