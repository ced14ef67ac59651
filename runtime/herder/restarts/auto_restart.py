"""Restarts failed connectors and tasks that this worker owns, as their policies say (docs/auto-restart.md).

FAILED ─ policy covers the error, attempts left ─► stored, waits with growing delays ─► budget of the worker ─► restart
       └ configuration error, other error, none left ─► stays FAILED
RUNNING for `headrace.restart.reset.ms`, a new configuration, or a restart by hand ─► all attempts again
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from runtime.api.errors import ConfigError
from runtime.config.providers import Providers
from runtime.config.restart_policy import PREFIX, RestartPolicy, policy_of
from runtime.herder.responses import RestartsResponse
from runtime.herder.restarts.restart_record import RestartRecord, RestartRecords, digest
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import reason_of
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import State, TargetState
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.system.token_bucket import TokenBucket

log = logging.getLogger(__name__)

BURST_SECONDS = 10.0
"""The restarts of this many seconds may be carried out at once."""

Restart = Callable[[str, int], bool]
"""Restarts a failed connector (protocol.CONNECTOR) or task. False if this worker no longer runs it."""

Owns = Callable[[str, int], bool]
"""Whether this worker owns a connector (protocol.CONNECTOR) or task."""


class _Wait(NamedTuple):
    """A restart that waits, or the time in which a unit proves stable. In the order of the queue."""

    due: float  # time.monotonic(), which no change of the wall clock prolongs
    number: int
    name: str
    unit: int
    restart: int | None  # the `due` of its record; None: not a restart


@dataclass(slots=True)
class _Owned:
    """A connector or task of this worker that has failed at least once."""

    record: RestartRecord
    queued: bool = False  # its restart waits in this process
    held: bool = False  # due while the connector was paused
    running_since: float | None = None  # time.monotonic()
    writing: asyncio.Task[None] | None = None


@dataclass(slots=True)
class RestartCounts:
    """Counts for the metrics, since the worker's start."""

    restarts: dict[str, Counter[int]] = field(default_factory=dict)  # by connector and unit
    delayed: int = 0  # restarts that waited for the budget of the worker


class AutoRestarts:
    """Event loop only."""

    def __init__(
        self, worker: Mapping[str, str], providers: Providers, configs: ConfigStore, records: RestartRecords,
        events: EventLog, budget: int, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """`worker`: the worker's properties. `budget`: restarts per minute. `clock` returns seconds since 1970."""
        self._worker, self._providers, self._configs, self._records = worker, providers, configs, records
        self._events, self._clock = events, clock
        self._budget = TokenBucket(budget / 60, max(1.0, budget / 60 * BURST_SECONDS))
        self._owned: dict[str, dict[int, _Owned]] = {}  # by connector and unit
        self._queue: list[_Wait] = []
        self._numbers, self._news = itertools.count(), asyncio.Event()
        self._restart: Restart = lambda name, unit: False
        self._owns: Owns = lambda name, unit: False
        self._running: asyncio.Task[None] | None = None
        self._removing: set[asyncio.Task[None]] = set()
        self.counts = RestartCounts()

    def start(self, restart: Restart, owns: Owns) -> None:
        """Carry out restarts from now on."""
        self._restart, self._owns = restart, owns
        self._running = asyncio.create_task(self._run(), name="automatic restarts")

    def close(self) -> None:
        """Carry out no further restarts."""
        if self._running is not None:
            self._running.cancel()

    # reports

    def state(self, name: str, unit: int, state: State, trace: str | None, restartable: bool) -> None:
        """This worker reports the state of a connector or task. `restartable`: another start may succeed. A unit that
        fails after it was assigned to another worker is started, and counted, by that worker."""
        if not self._owns(name, unit):
            return
        if state is State.FAILED:
            if restartable and (stored := self._configs.connector(name)) is not None:
                self._failed(stored, unit, trace or "")
        elif state in (State.RUNNING, State.PAUSED) and (owned := self._known(name, unit)) is not None:
            self._runs(name, unit, owned)

    def requested(self, name: str, units: set[int]) -> None:
        """A user restarts these units, which resets their counts."""
        for unit in units:
            if (owned := self._known(name, unit)) is not None and (owned.record.attempts or owned.record.ended):
                self._store(name, unit, owned, owned.record.again(owned.record.config))

    def changed(self, name: str) -> None:
        """The connector's records in the config topic have changed, or the units that this worker owns."""
        stored, known = self._configs.connector(name), self._owned.get(name, {})
        if stored is None:
            writes = [owned.writing for owned in self._owned.pop(name, {}).values() if owned.writing is not None]
            self.counts.restarts.pop(name, None)
            if self._running is not None and (writes or self._records.has(name)):
                self._removing.add(removal := asyncio.create_task(self._remove(name, writes)))
                removal.add_done_callback(self._removing.discard)
            return
        for unit in [unit for unit in known if not self._owns(name, unit)]:
            del known[unit]  # the next owner starts the unit, and reads the record
        if stored.target is TargetState.STARTED:
            for unit, owned in known.items():
                if owned.held:
                    owned.held = False
                    self._push(0, name, unit, owned.record.due)

    async def _remove(self, name: str, writes: Collection[asyncio.Task[None]]) -> None:
        """`writes`: the last ones of its units, which may be under way."""
        await asyncio.gather(*writes, return_exceptions=True)
        try:
            await self._records.remove(name)
        except KafkaProblem as e:
            log.warning("The history of restarts of the deleted connector %s cannot be removed: %s", name, e)

    # views

    def response(self, name: str) -> RestartsResponse:
        """GET /connectors/{name}/restarts."""
        stored = self._configs.connector(name)
        policy = RestartPolicy() if stored is None else self._policy(stored)
        return {
            "name": name,
            "policy": {
                "attempts": policy.attempts,
                "delay_ms": int(policy.delay * 1000),
                "delay_max_ms": int(policy.max_delay * 1000),
                "errors": list(policy.errors),
                "reset_ms": int(policy.reset * 1000),
            },
            "units": [
                {
                    "task": None if unit == CONNECTOR else unit,
                    "attempts": record.attempts,
                    "due": record.due,
                    "ended": record.ended,
                    "history": [
                        {"time": past.time, "attempt": past.attempt, "restarted": past.restarted, "error": past.error}
                        for past in record.history
                    ],
                }
                for unit, record in self._records.of(name)
            ],
        }

    @property
    def waiting(self) -> int:
        """The number of restarts that wait for their delay, the budget, or the end of a pause."""
        return sum(owned.queued or owned.held for units in self._owned.values() for owned in units.values())

    # failures

    def _failed(self, stored: StoredConnector, unit: int, trace: str) -> None:
        policy, name = self._policy(stored), stored.name
        if policy.attempts == 0 or stored.target is TargetState.STOPPED:
            return
        config = digest(stored.start_config)
        owned = self._known(name, unit) or self._keep(name, unit, RestartRecord(config))
        since, owned.running_since = owned.running_since, None
        record = owned.record
        if owned.queued and record.due is not None:
            return  # reported again
        if record.config != config or _is_stable(since, policy):
            record = record.again(config)
        error, attempt = reason_of(trace), record.attempts + 1
        if not policy.covers(trace):
            self._end(name, unit, owned, record, error, "is not restarted automatically after this error")
        elif 0 <= policy.attempts < attempt:
            why = f"is no longer restarted automatically: {_times(record.attempts)} did not help"
            self._end(name, unit, owned, record, error, why)
        else:
            delay, now = policy.delay_before(attempt), self._now()
            self._store(name, unit, owned, record.failed(now, error, now + int(delay * 1000)))
            of = "" if policy.attempts < 0 else f" of {policy.attempts}"
            self._notice("WARN", name, unit, f"has failed; automatic restart {attempt}{of} in {delay:.1f} s")
            owned.queued = True
            self._push(delay, name, unit, owned.record.due)

    def _end(self, name: str, unit: int, owned: _Owned, record: RestartRecord, error: str, why: str) -> None:
        if not record.ended:
            self._notice("ERROR", name, unit, f"{why}. Fix the cause, then restart it")
        self._store(name, unit, owned, record.failed(self._now(), error, None))

    def _runs(self, name: str, unit: int, owned: _Owned) -> None:
        if owned.running_since is None:
            owned.running_since = time.monotonic()
            stored = self._configs.connector(name)
            if owned.record.attempts and stored is not None:
                self._push(self._policy(stored).reset, name, unit)
        if owned.record.due is not None:  # started for another reason, maybe by another worker
            self._store(name, unit, owned, owned.record.restarted(self._now()))

    def _known(self, name: str, unit: int) -> _Owned | None:
        """What is known of a unit, also from workers that ran it before; None if it has never failed."""
        owned = self._owned.get(name, {}).get(unit)
        if owned is None and (record := self._records.get(name, unit)) is not None:
            owned = self._keep(name, unit, record)
        return owned

    def _keep(self, name: str, unit: int, record: RestartRecord) -> _Owned:
        return self._owned.setdefault(name, {}).setdefault(unit, _Owned(record))

    def _policy(self, stored: StoredConnector) -> RestartPolicy:
        """No automatic restarts if the policy is invalid, which validation refuses."""
        own = {key: text for key, text in stored.config.items() if key.startswith(PREFIX)}
        try:
            return policy_of(self._worker, self._providers.resolve(own).config if own else own)
        except ConfigError as e:
            log.warning("%s is not restarted automatically: %s", stored.name, e)
            return RestartPolicy()

    # restarts

    def _push(self, delay: float, name: str, unit: int, restart: int | None = None) -> None:
        heapq.heappush(self._queue, _Wait(time.monotonic() + delay, next(self._numbers), name, unit, restart))
        self._news.set()

    async def _run(self) -> None:
        """One at a time, each when it is due and the budget of the worker allows it."""
        while True:
            self._news.clear()
            left = self._queue[0].due - time.monotonic() if self._queue else None
            if left is not None and left <= 0:
                wait = heapq.heappop(self._queue)
                try:
                    await self._due(wait)
                except Exception:  # others are restarted all the same
                    log.exception("The automatic restart of %s has failed", _subject(wait.name, wait.unit))
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    async def _due(self, wait: _Wait) -> None:
        """A restart is due, or a unit may have run long enough for its count to be reset."""
        name, unit = wait.name, wait.unit
        owned, stored = self._owned.get(name, {}).get(unit), self._configs.connector(name)
        if owned is None or stored is None:  # moved or deleted
            return
        if not owned.queued or owned.record.due is None:
            owned.queued = False
            if owned.record.attempts and _is_stable(owned.running_since, self._policy(stored)):
                self._store(name, unit, owned, owned.record.again(owned.record.config))
            return
        if owned.record.due != wait.restart:
            return  # an earlier restart, which was replaced by this one
        if stored.target is not TargetState.PAUSED and (pause := self._budget.wait(1)) > 0:
            self.counts.delayed += 1
            await asyncio.sleep(pause)
        self._carry_out(name, unit, owned)

    def _carry_out(self, name: str, unit: int, owned: _Owned) -> None:
        stored = self._configs.connector(name)
        if self._owned.get(name, {}).get(unit) is not owned or owned.record.due is None or stored is None:
            owned.queued = False
            return  # restarted by hand, moved or deleted while it waited for the budget
        owned.held = stored.target is TargetState.PAUSED
        if owned.held:
            return
        owned.queued = False
        if stored.target is TargetState.STARTED and self._policy(stored).attempts and self._restart(name, unit):
            self._store(name, unit, owned, owned.record.restarted(self._now()))
            self._budget.take(1)
            self.counts.restarts.setdefault(name, Counter())[unit] += 1
            self._notice("INFO", name, unit, f"is restarted automatically, attempt {owned.record.attempts}")
        else:
            self._store(name, unit, owned, owned.record.cancelled())

    # shared

    def _store(self, name: str, unit: int, owned: _Owned, record: RestartRecord) -> None:
        """Writes of a unit run one after another; nothing waits for them."""
        owned.record = record
        if owned.writing is None or owned.writing.done():
            owned.writing = asyncio.create_task(self._write(name, unit, owned))

    async def _write(self, name: str, unit: int, owned: _Owned) -> None:
        written = None
        while owned.record is not written:
            written = owned.record
            try:
                await self._records.put(name, unit, written)
            except KafkaProblem as e:
                log.warning("The restart of %s cannot be recorded: %s", _subject(name, unit), e)

    def _notice(self, level: str, name: str, unit: int, message: str) -> None:
        text = f"{_subject(name, unit)} {message}"
        log.log(logging.getLevelNamesMapping()[level], "%s", text)
        self._events.notice(level, text, name, None if unit == CONNECTOR else unit)

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _is_stable(since: float | None, policy: RestartPolicy) -> bool:
    """Whether the count of a unit running since this time (time.monotonic()) is reset."""
    return since is not None and time.monotonic() - since >= policy.reset


def _subject(name: str, unit: int) -> str:
    return name if unit == CONNECTOR else f"{name}-{unit}"


def _times(attempts: int) -> str:
    return "1 restart" if attempts == 1 else f"{attempts} restarts in a row"
