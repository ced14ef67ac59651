"""Quarantines a connector that ends the worker each time it starts.

A plugin may kill the worker. The worker's supervisor then starts the worker again, which starts the connector again.
Therefore the names of connectors are written to Headrace's own topic before they start:

a worker finds names there ─ the last worker died during these starts: counted; the connectors become suspects
suspects start one after another ─ the worker survives: no longer a suspect
                                 └ the worker dies again: counted; after LIMIT deaths the connector is FAILED
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from runtime.host.port import REFUSED, HostError
from runtime.kafka.errors import KafkaProblem
from runtime.storage.documents import Documents

_T = TypeVar("_T")

LIMIT = 3
"""Deaths of the worker during the start of one connector."""

TRIAL = 10.0
"""Seconds after which a start that has not returned is no longer suspected."""

_KEY = "starts"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds."""

    linger: float = 1.0  # after the start of a suspect, during which a death of the worker still counts
    quiet: float = 5.0  # without starts, after which the worker counts as stable
    write: float = 2.0  # for writing the names; starts never wait longer for Kafka


@dataclass(frozen=True, slots=True)
class Suspect:
    """A connector during whose start the worker has died."""

    digest: str  # of its configuration
    deaths: int


class CrashLoopGuard:
    """The starts of all connectors of a worker. Event loop only."""

    def __init__(self, documents: Documents | None = None, timing: Timing | None = None, worker_id: str = "") -> None:
        """Without `documents`, nothing is stored and no connector is quarantined."""
        self._documents, self._timing = documents, timing or Timing()
        self._key = f"{_KEY}:{worker_id}"  # the workers of a group share the topic
        self._suspects: dict[str, Suspect] = {}
        self._starting: dict[str, str] = {}  # digests of configurations by connector
        self._records_ends = False  # the end of each start is written too, after a death of the worker
        self._written: dict[str, Any] = {}  # as stored in the topic
        self._waiting = 0  # number of suspects that wait for their turn
        self._turn, self._write_lock = asyncio.Lock(), asyncio.Lock()
        self._writes: set[asyncio.Task[None]] = set()
        self._requested = self._done = 0  # numbers of writes
        self._quiet: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Count the connectors that were starting when the previous worker died. Call before any connector starts."""
        if self._documents is None:
            return
        try:
            await self._documents.read_to_end()
        except KafkaProblem as e:
            _log.warning("Cannot read which connectors were starting when the previous worker ended: %s", e)
        document = self._written = self._documents.get(self._key) or {}
        self._suspects = {name: Suspect(**suspect) for name, suspect in document.get("suspects", {}).items()}
        for name, digest in document.get("starting", {}).items():
            known = self._suspects.get(name)
            deaths = known.deaths if known is not None and known.digest == digest else 0
            self._suspects[name] = Suspect(digest, deaths + 1)
            self._records_ends = True
        if self._records_ends:
            _log.warning("The previous worker died while connectors were starting: %s", ", ".join(document["starting"]))
            await self._record()
        for name, suspect in self._suspects.items():
            if suspect.deaths >= LIMIT:
                _log.error(
                    "Connector %s is quarantined and will not start: the worker died %d times in a row during its "
                    "start; fix its plugin, then restart the connector", name, suspect.deaths,
                )  # fmt: skip

    async def close(self) -> None:
        """The worker stops normally, so connectors that are starting are not suspects."""
        if self._quiet is not None:
            self._quiet.cancel()
        self._starting.clear()
        await self._record()

    def quarantined(self, name: str, config: Mapping[str, str]) -> HostError | None:
        """The error that keeps the connector from starting with this configuration; None if it is not quarantined."""
        suspect = self._suspects.get(name)
        if suspect is None or suspect.deaths < LIMIT or suspect.digest != _digest(config):
            return None
        message = (
            f"Quarantined: the worker died {suspect.deaths} times in a row while this connector was starting. Fix or "
            "replace its plugin, then restart the connector or update its configuration to start it again"
        )
        return HostError(REFUSED, message, f"org.apache.kafka.connect.errors.ConnectException: {message}\n")

    def release(self, name: str) -> None:
        """A restart was requested. One more death of the worker is enough to quarantine the connector again."""
        suspect = self._suspects.get(name)
        if suspect is not None and suspect.deaths >= LIMIT:
            self._suspects[name] = Suspect(suspect.digest, LIMIT - 1)
            self._records_ends = True

    def forget(self, name: str) -> None:
        """The connector has been deleted."""
        if self._suspects.pop(name, None) is not None:
            self._record_later()

    async def run(
        self, name: str, config: Mapping[str, str], start: Callable[[], Coroutine[Any, Any, _T]], *, last: bool
    ) -> _T:
        """The result of `start`, which runs the connector's code; with `last`, the connector is no longer a suspect
        afterwards. Raises HostError if the connector is quarantined."""
        if (refusal := self.quarantined(name, config)) is not None:
            raise refusal
        digest, suspect = _digest(config), self._suspects.get(name)
        if suspect is not None and suspect.digest == digest:
            return await self._in_turn(name, digest, start, last)
        self._suspects.pop(name, None)  # its configuration has changed
        return await self._recorded(name, digest, start)

    async def _recorded(self, name: str, digest: str, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        self._starting[name] = digest
        over = asyncio.get_running_loop().call_later(TRIAL, self._survived, name)
        try:
            await self._record()
            return await start()
        finally:
            over.cancel()
            self._survived(name)

    def _survived(self, name: str) -> None:
        if self._starting.pop(name, None) is not None and self._records_ends:
            self._record_later()
        self._plan_quiet()

    async def _in_turn(self, name: str, digest: str, start: Callable[[], Coroutine[Any, Any, _T]], last: bool) -> _T:
        """Start a suspect while no other suspect starts. If one more death would quarantine the connector, no other
        suspect starts until this start can no longer end the worker."""
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        turn, watch, loop = contextlib.ExitStack(), contextlib.ExitStack(), asyncio.get_running_loop()
        turn.callback(self._turn.release)
        watch.callback(turn.close)
        watch.callback(self._survived, name)
        loop.call_later(TRIAL, watch.close)
        self._starting[name] = digest
        try:
            await self._record()
            result = await start()
        except BaseException:
            watch.close()
            raise
        if not last:
            watch.close()
            return result
        watch.callback(self._suspects.pop, name, None)
        suspect = self._suspects.get(name)
        if suspect is None or suspect.deaths < LIMIT - 1:
            turn.close()
        loop.call_later(self._timing.linger, watch.close)
        return result

    def _plan_quiet(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = asyncio.get_running_loop().call_later(self._timing.quiet, self._calm_down)

    def _calm_down(self) -> None:
        """No connector has started for a while: the worker has survived all starts."""
        if self._starting or self._waiting:
            return  # planned again when they have started
        self._suspects = {name: suspect for name, suspect in self._suspects.items() if suspect.deaths >= LIMIT}
        self._records_ends = False
        self._record_later()

    async def _record(self) -> None:
        """Write the current state. Without Kafka, starts continue and are not recorded."""
        await asyncio.wait({self._record_later()}, timeout=self._timing.write)

    def _record_later(self) -> asyncio.Task[None]:
        """Write the current state, without waiting."""
        self._requested += 1
        write = asyncio.get_running_loop().create_task(self._write(self._requested))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        return write

    async def _write(self, number: int) -> None:
        async with self._write_lock:
            if self._documents is None or self._done >= number:
                return  # a later request was written
            requested, starting = self._requested, dict(self._starting)
            suspects = {name: asdict(suspect) for name, suspect in self._suspects.items()}
            state = {"starting": starting, "suspects": suspects} if starting or suspects else {}
            if state != self._written:
                before, self._written = self._written, state
                try:
                    await (self._documents.put(self._key, state) if state else self._documents.remove(self._key))
                except KafkaProblem as e:
                    self._written = before
                    _log.warning("Cannot record which connectors are starting: %s", e)
                    return
            self._done = requested


def _digest(config: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode()).hexdigest()
