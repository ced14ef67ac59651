"""Background loops."""

from __future__ import annotations

import asyncio

import pytest

from runtime.system.repeating import repeat


async def test_an_unexpected_error_does_not_end_a_loop(caplog: pytest.LogCaptureFixture) -> None:
    third, count = asyncio.Event(), 0

    async def step() -> None:
        nonlocal count
        count += 1
        if count == 3:
            third.set()
        raise ValueError(f"number {count}")

    loop = asyncio.create_task(repeat(step, 0.001, "read the news"))
    await asyncio.wait_for(third.wait(), 30)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
    assert "Could not read the news, retrying in 0.001 s" in caplog.text
    assert "ValueError: number 2" in caplog.text
