"""A source task: poll, convert, send, commit."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError, RetriableError
from runtime.api.task import Offset, OffsetReader, Partition, SourceTask, TransactionContext
from runtime.kafka.formats import canonical
from runtime.model.states import State
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_converters, load_steps
from runtime.pipeline.metrics_owners import metrics_owners
from runtime.pipeline.source.commit_requests import CommitRequests
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.tolerance import Policy, Tolerance
from runtime.system import frames

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord
    from runtime.model.task_spec import SourceOffset, TaskSpec
    from runtime.pipeline.port import OffsetsHost, OffsetsRead, SlotHost, StartResponse
    from runtime.pipeline.source.delivery import SourceDelivery
    from runtime.pipeline.source.source_offsets import CommittedOffsets
    from runtime.pipeline.task.control import TaskControl


def confirm_start(spec: TaskSpec, host: SlotHost, control: TaskControl) -> Sequence[SourceOffset]:
    """The committed offsets, when the worker has confirmed the start. The worker responds when it has read the config
    topic to its end; while it is suspended, the task waits, at most until the slot's lease expires.

    TaskLostError if the task must not start, ConnectError if it never can."""
    responses: queue.SimpleQueue[StartResponse] = queue.SimpleQueue()
    host.confirm_start(spec, responses.put)
    while True:
        control.check()
        if control.stopping:
            raise StoppedError
        try:
            response = responses.get(timeout=_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if isinstance(response, Exception):
            raise response
        return response


_REQUEST = 1000  # partitions in a request to the worker
_CHECK_INTERVAL = 0.1  # seconds between two checks whether the task is being stopped
_MAX_WAIT = 900.0  # seconds: Kafka's limit for the duration of a transaction, for whose end the worker waits


class LiveOffsets:
    """The OffsetReader of a task. Thread-safe.

    The worker has read the offsets immediately before it has started the task, after everything that earlier runs may
    have left behind had been fenced, so that start() needs no further request. Later reads are answered by the worker,
    which reads the offsets topic."""

    def __init__(self, spec: TaskSpec, host: OffsetsHost, control: TaskControl, at_start: CommittedOffsets) -> None:
        self._spec, self._host, self._control, self._at_start = spec, host, control, at_start
        self.live = False
        """Whether start() has returned."""

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The committed offset of a partition; None without one."""
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """The committed offsets of several partitions. ConnectError if they cannot be read, DataError if a partition is
        not JSON."""
        if not self.live:
            return [self._at_start.offset(partition) for partition in partitions]
        names = [canonical(partition) for partition in partitions]
        offsets: list[Mapping[str, Any] | None] = []
        try:
            for part in frames.parts(names, lambda name: (name,), _REQUEST):
                offsets += self._read(part)
        except frames.FrameError as e:
            raise ConnectError(f"The committed offsets could not be read: {e}") from None
        return offsets

    def _read(self, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        responses: queue.SimpleQueue[OffsetsRead] = queue.SimpleQueue()
        self._host.read_offsets(self._spec, partitions, responses.put)
        offsets = self._response(responses)
        if isinstance(offsets, str):
            raise ConnectError(f"The committed offsets could not be read: {offsets}")
        return offsets

    def _response(self, responses: queue.SimpleQueue[OffsetsRead]) -> OffsetsRead:
        give_up = time.monotonic() + _MAX_WAIT
        while True:
            try:
                return responses.get(timeout=_CHECK_INTERVAL)
            except queue.Empty:
                pass
            if self._control.stopping:
                give_up = min(give_up, time.monotonic() + self._spec.flush_timeout)
            if self._control.revoked or time.monotonic() > give_up:
                return "the worker has not answered" if not self._control.stopping else "the task is being stopped"


_log = logging.getLogger(__name__)

_IDLE_FIRST = 0.005  # seconds after a first empty poll; doubles up to the task's idle_poll
_PAUSED = 0.2  # seconds between two checks while paused


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The SourceTaskContext of a task."""

    configs: Mapping[str, str]
    offsets: OffsetReader
    wake: Callable[[], None]
    add_offsets: Callable[[Sequence[tuple[Partition, Offset]]], None]
    request_commit: Callable[[], None]
    transactions: TransactionContext | None = None


class SourceWorker:
    """Runs a source task on the calling thread until it is stopped."""

    def __init__(self, spec: TaskSpec, task: SourceTask, host: SlotHost, control: TaskControl) -> None:
        self._spec, self._task, self._host, self._control = spec, task, host, control
        self._committed = committed = CommittedOffsets(spec.connector, spec.offsets)
        tolerance = Tolerance(Policy.of(spec.settings), str(spec.id), control)
        self._chain = Chain(load_steps(spec), tolerance, source_place)
        self._converters = load_converters(spec)
        conversion = SourceConversion(self._chain, self._converters, committed, tolerance, task)
        self._requests = requests = CommitRequests(committed, control.wake)
        transactions: TransactionContext | None = None
        self._delivery: SourceDelivery
        if spec.transactional_id:
            from runtime.pipeline.source.exactly_once import ExactlyOnceDelivery

            self._delivery = exactly_once = ExactlyOnceDelivery(spec, host, control, conversion, requests, task)
            transactions = exactly_once.boundaries
        else:
            from runtime.pipeline.source.at_least_once import AtLeastOnceDelivery

            self._delivery = AtLeastOnceDelivery(spec, host, control, conversion, tolerance, requests, task)
        self._offsets = LiveOffsets(spec, host, control, committed)
        task.context = SourceContext(
            spec.config, self._offsets, control.wake, requests.add_offsets, requests.request_commit, transactions
        )
        self._meter = control.meter
        self._meter.watch(metrics_owners(task, self._converters, self._chain.steps))
        self._started = False
        self._idle = _IDLE_FIRST
        self._rest: Sequence[SourceRecord] = ()  # polled, and held back by the rate limit
        self._divides = not spec.transactional_id  # a transaction has whole polls

    def run(self) -> None:
        """Returns after a graceful stop. Raises the error that fails the task."""
        failed = True
        try:
            self._prepare()
            self._start()
            self._loop()
            failed = False
        finally:
            try:
                self._delivery.finish(failed)
            finally:
                if self._started:  # as in Connect, stop() follows only a call of start()
                    with self._control.calling("stop"):
                        self._task.stop()
                self._chain.close()
                self._converters.close()

    def _prepare(self) -> None:
        """Prepare an exactly-once task in the order of KIP-618:

        1. Register the producer. This aborts what an earlier run of the task has not committed, and every later round
           of fencing stops this run.
        2. Check that the task may still start. An earlier round of fencing did not stop this run, but its reason is in
           the config topic by now. The worker has checked that before, but loading plugins takes seconds, and worker or
           slot may have been suspended.
        3. Take the offsets. After step 1 no earlier run can commit others.

        A task that was stopped meanwhile does not register its producer, which would fence its successor."""
        if self._control.stopping:
            raise StoppedError
        self._delivery.start()
        if self._spec.transactional_id:
            self._committed.load(confirm_start(self._spec, self._host, self._control))

    def _start(self) -> None:
        self._started = True
        with self._control.calling("start"):
            self._task.start(self._spec.config)
        self._offsets.live = True
        self._delivery.started()
        self._host.state(self._spec, State.RUNNING)

    def _loop(self) -> None:
        control, delivery = self._control, self._delivery
        paused = False
        while not control.stopping:
            if control.paused is not paused:
                paused = control.paused
                if paused:
                    delivery.pause()
                self._host.state(self._spec, State.PAUSED if paused else State.RUNNING)
            if paused:
                delivery.wait(_PAUSED)
            elif self._is_throttled():
                pass
            elif records := self._next():
                self._idle = _IDLE_FIRST
                try:
                    delivery.process(records)
                except StoppedError:
                    return
            else:
                delivery.wait(self._idle)
                self._idle = min(self._idle * 2, self._task.idle_poll)
            delivery.tend()

    def _is_throttled(self) -> bool:
        """Whether the rate limit does not allow another record yet; waits until it does, or a request arrives."""
        throttle = self._control.throttle
        if throttle is None or (left := self._delivery.possible_delay(throttle.wait())) <= 0:
            return False
        started = time.monotonic()
        self._delivery.wait(left)
        self._meter.throttled(time.monotonic() - started)
        return True

    def _next(self) -> Sequence[SourceRecord] | None:
        """The records of a poll, or as many of them as the rate limit allows now."""
        records, self._rest = self._rest or self._poll(), ()
        throttle = self._control.throttle
        if throttle is not None and records:
            count = len(records)
            if self._divides and (most := throttle.allowed(count)) < count:
                records, self._rest, count = records[:most], records[most:], most
            throttle.count(count)
        self._requests.held = len(self._rest) > 0
        return records

    def _poll(self) -> Sequence[SourceRecord] | None:
        self._control.check()
        started = time.monotonic()
        try:
            with self._control.calling("poll"):
                records = self._task.poll()
        except RetriableError as error:
            _log.warning("poll() failed and is retried: %s", error)
            return None
        if records is not None and len(records) > 0:
            self._meter.polled(len(records), time.monotonic() - started)
        return records
