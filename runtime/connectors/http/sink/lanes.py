"""Sends the records of each partition in order, and those of several partitions at the same time.

A lane is the queue of one partition. At most one thread works on a lane, with a few records at a time; the number of
threads limits the requests in flight.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from runtime.api.data.record import SinkRecord, TopicPartition


class DeliveryStoppedError(Exception):
    """The task is being stopped, or a partition has been revoked, while its records are delivered."""


class PartitionLane:
    """The records of one partition that have not been delivered yet."""

    def __init__(self) -> None:
        self.records: deque[SinkRecord] = deque()
        self.busy = False
        self.revoked = threading.Event()


Deliver = Callable[[Sequence[SinkRecord], threading.Event], None]
"""Delivers records and returns when the endpoint has accepted them or they have been reported. Raises
DeliveryStoppedError if the event is set meanwhile, or the error that fails the task."""


class PartitionLanes:
    """The lanes of a task. Methods are called on the task's thread."""

    def __init__(self, deliver: Deliver, threads: int, batch: int) -> None:
        self._deliver, self._batch = deliver, batch
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="http-sink")
        self._lanes: dict[TopicPartition, PartitionLane] = {}
        self._changed = threading.Condition()
        self._pending = 0
        self._failure: BaseException | None = None

    @property
    def pending(self) -> int:
        """Records that have not been delivered."""
        return self._pending

    @property
    def failure(self) -> BaseException | None:
        """The error that fails the task; the lane in which it occurred does not continue."""
        return self._failure

    def add(self, records: Iterable[SinkRecord]) -> None:
        """Queues records, in order."""
        with self._changed:
            for record in records:
                tp = TopicPartition(record.original_topic, record.original_kafka_partition)
                lane = self._lanes.get(tp)
                if lane is None:
                    lane = self._lanes[tp] = PartitionLane()
                lane.records.append(record)
                self._pending += 1
            for lane in self._lanes.values():
                self._schedule(lane)

    def wait_below(self, limit: int, seconds: float) -> None:
        """Waits until fewer than `limit` records are pending, the task has failed or this time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending < limit or self._failure is not None, seconds)

    def first_pending(self, tp: TopicPartition) -> int | None:
        """The offset of the first record of a partition that has not been delivered; None if all have been."""
        with self._changed:
            lane = self._lanes.get(tp)
            return lane.records[0].original_kafka_offset if lane is not None and lane.records else None

    def drop(self, partitions: Iterable[TopicPartition], seconds: float) -> None:
        """Forgets revoked partitions; waits for requests in flight, so that they precede those of the next task."""
        with self._changed:
            dropped = [lane for tp in partitions if (lane := self._lanes.pop(tp, None)) is not None]
            for lane in dropped:
                self._pending -= len(lane.records)
                lane.revoked.set()
            self._changed.wait_for(lambda: not any(lane.busy for lane in dropped), seconds)

    def close(self) -> None:
        """Ends the threads without waiting for them."""
        self.drop(list(self._lanes), 0.0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _schedule(self, lane: PartitionLane) -> None:
        if lane.records and not lane.busy and not lane.revoked.is_set() and self._failure is None:
            lane.busy = True
            self._pool.submit(self._run, lane)

    def _run(self, lane: PartitionLane) -> None:
        with self._changed:
            records = [lane.records[n] for n in range(min(self._batch, len(lane.records)))]
        failure: BaseException | None = None
        try:
            if not lane.revoked.is_set():
                self._deliver(records, lane.revoked)
        except DeliveryStoppedError:
            pass
        except BaseException as error:  # raised again on the task's thread
            failure = error
        with self._changed:
            lane.busy = False
            if failure is not None:
                self._failure = self._failure or failure
            elif not lane.revoked.is_set():
                for _ in records:
                    lane.records.popleft()
                self._pending -= len(records)
                self._schedule(lane)
            self._changed.notify_all()
