"""Concurrent requests are batched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from runtime.kafka.request_batcher import RequestBatcher


class RecordingRequest:
    """Answers when the test releases it."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.started, self.go = asyncio.Event(), asyncio.Semaphore(0)

    async def __call__(self, questions: Sequence[str]) -> Mapping[str, str | Exception]:
        self.asked.append(questions)
        self.started.set()
        await self.go.acquire()
        if "broken" in questions:
            raise OSError("broken")
        return {q: ValueError(q) if q == "bad" else q.upper() for q in questions}


async def test_requests_made_while_one_is_in_flight_are_sent_together() -> None:
    ask = RecordingRequest()
    together = RequestBatcher(ask)
    first = asyncio.create_task(together.get("a"))
    await ask.started.wait()
    later = [asyncio.create_task(together.get(q)) for q in ("b", "c", "b", "a")]
    await asyncio.sleep(0)
    ask.go.release()
    assert await first == "A"
    ask.go.release()
    assert await asyncio.gather(*later) == ["B", "C", "B", "A"]
    assert ask.asked == [["a"], ["b", "c", "a"]], "an answer to an earlier request is not used"


async def test_an_error_is_raised_to_the_callers_of_its_key() -> None:
    ask = RecordingRequest()
    ask.go.release()
    together = RequestBatcher(ask)
    good, bad = await asyncio.gather(together.get("good"), together.get("bad"), return_exceptions=True)
    assert good == "GOOD"
    assert isinstance(bad, ValueError)
    ask.go.release()
    with pytest.raises(OSError, match="broken"):
        await together.get("broken")
    ask.go.release()
    assert await together.get("again") == "AGAIN"


async def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    ask = RecordingRequest()
    together = RequestBatcher(ask)
    impatient, patient = asyncio.create_task(together.get("a")), asyncio.create_task(together.get("b"))
    await ask.started.wait()
    impatient.cancel()
    ask.go.release()
    assert await patient == "B"
