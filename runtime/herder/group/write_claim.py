"""The leader's claim to the config topic: with exactly-once support, only the worker that took it last can write
there as the leader (KIP-618)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from runtime.kafka.errors import KafkaProblem
from runtime.kafka.log.transactional_writer import TransactionalWriter

log = logging.getLogger(__name__)

CLAIM_WAIT = 5.0
"""Seconds for which a worker that becomes the leader waits for the claim before it continues without it."""

RETRY_DELAY = 1.0
"""Seconds between two attempts."""


class WriteClaim:
    """Event loop only. Without a writer there is nothing to claim, and the claim is always held."""

    def __init__(self, writer: TransactionalWriter | None = None, topic: str = "") -> None:
        """`topic`: the config topic."""
        self._writer, self._topic = writer, topic
        self._wanted = False
        self._taking: asyncio.Task[None] | None = None
        self._attempted = asyncio.Event()
        self._on_change: Callable[[bool], None] = lambda held: None
        self.trouble = ""
        """The reason why the leader does not have the claim; empty while it has, or does not need it."""
        if writer is not None:
            writer.subscribe(self._lost)

    @property
    def held(self) -> bool:
        """Whether this worker may write as the leader."""
        return self._writer is None or self._writer.started

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        """Call this function when the claim has been taken, and when it was lost to another worker or in a failed
        write."""
        self._on_change = on_change

    async def take(self) -> None:
        """Take the claim, which ends that of any other worker. Returns after the first attempt, or after CLAIM_WAIT;
        further attempts follow until drop()."""
        if self.held:
            return
        self._wanted = True
        if self._taking is None or self._taking.done():
            self._attempted.clear()
            self._taking = asyncio.create_task(self._take(), name="claim the config topic")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLAIM_WAIT):
                await self._attempted.wait()

    def drop(self) -> None:
        """Stop writing as the leader: this worker no longer leads."""
        self._wanted, self.trouble = False, ""
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        if self._writer is not None:
            self._writer.revoke()

    async def _take(self) -> None:
        while True:
            await self._attempt()
            if self.held:
                break
            await asyncio.sleep(RETRY_DELAY)
        log.info(
            "This worker now writes to topic %s as the leader; earlier leaders can no longer write to it", self._topic
        )
        self._on_change(True)

    async def _attempt(self) -> None:
        assert self._writer is not None
        try:
            await self._writer.start(self._topic)
        except KafkaProblem as e:
            before, self.trouble = self.trouble, f"This worker cannot write to topic {self._topic} as the leader: {e}"
            if self.trouble != before:
                log.warning("%s; retrying", self.trouble)
        else:
            self.trouble = ""
        finally:
            self._attempted.set()

    def _lost(self) -> None:
        if self._wanted:
            log.warning(
                "This worker can no longer write to topic %s as the leader: another worker leads, or Kafka did not "
                "confirm a transaction. Joining the group again",
                self._topic,
            )
            self._on_change(False)
