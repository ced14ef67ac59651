"""Requests for one connector run one after another, even if the connector does not exist."""

from __future__ import annotations

import asyncio

from runtime.herder.control.connector_locks import ConnectorLocks


async def test_requests_for_a_new_name_run_one_after_another() -> None:
    locks = ConnectorLocks()
    inside, most = 0, 0
    may_end = [asyncio.Event() for _ in range(3)]

    async def request(number: int) -> None:
        nonlocal inside, most
        async with locks.hold("x"):
            inside += 1
            most = max(most, inside)
            await may_end[number].wait()
            inside -= 1

    first, second = asyncio.create_task(request(0)), asyncio.create_task(request(1))
    await asyncio.sleep(0)
    may_end[0].set()
    await first
    third = asyncio.create_task(request(2))
    for event in may_end:
        await asyncio.sleep(0)
        event.set()
    await asyncio.gather(second, third)
    assert most == 1
    del first, second, third
    await asyncio.sleep(0)
    assert not len(locks), "nothing is kept for names without requests"
