"""A sink task: consume, convert, put, flush, commit.

A commit names all partitions of the task as soon as one offset has changed, as Connect's commits do. After a failed
flush the task rewinds to the committed offsets, or to the position at which reading started. While put() is retried,
earlier offsets are committed, and the task's seeks, pauses and commit requests take effect; records of a partition in
which the task seeks are dropped from the batch. A stop during retries leaves the batch as if it had not been read.

If put() is executed elsewhere, in a JVM or on a second thread, the next batch is fetched and converted during a put
(see put_ahead.py). The worker does nothing else with it before that put has succeeded: no failed record is reported,
and the requests that the task has made in its put take effect first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from runtime.api.data.batch import SinkBatch
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.model.states import State
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_converters, load_steps
from runtime.pipeline.metrics_owners import metrics_owners
from runtime.pipeline.sink.assignment import PartitionAssignment
from runtime.pipeline.sink.consumer import CONSUMER, Events, close, fetch, make_consumer, prefetch_within, slot_budget
from runtime.pipeline.sink.consumer_group import ConsumerGroup
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.sink.dead_letters import DeadLetters, dead_letter_topic
from runtime.pipeline.sink.errant import ErrantRecords
from runtime.pipeline.sink.put_ahead import EmptyPuts, FetchedBatch, PutAhead
from runtime.pipeline.sink.sink_context import SinkContext
from runtime.pipeline.sink.subscription import Subscription
from runtime.pipeline.task.broker_wait import BrokerWait
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.failure import Stage
from runtime.pipeline.task.meter import LAG_INTERVAL
from runtime.pipeline.tolerance import Policy, Tolerance

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from runtime.api.task import SinkTask
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_DEFAULT_POLL_RECORDS = 5000  # messages per batch, unless the connector sets max.poll.records
_POLL_TIMEOUT, _IDLE_POLL_TIMEOUT = 0.1, 0.4  # seconds of one poll, and of polls without messages; delays a stop
_PAUSE_COMMIT = 2.0  # seconds for which a pause waits for its commit
_ENDS_INTERVAL = 5.0  # seconds between two requests of a throttled task for the ends of its partitions
_SHORT_WAIT = 0.5  # seconds for which a throttled task does not poll its consumer
_FIRST_RETRY_DELAY, _MAX_RETRY_DELAY = 0.1, 5.0  # seconds between two attempts of a put


class SinkWorker:
    """Runs a sink task on the calling thread until it is stopped."""

    def __init__(self, spec: TaskSpec, task: SinkTask, host: SlotHost, control: TaskControl) -> None:
        self._spec, self._task, self._host, self._control = spec, task, host, control
        self._context = task.context = SinkContext(spec.config)
        self._empty_puts = EmptyPuts(task, self._context)
        self._letters = self._dead_letters()
        self._tolerance = Tolerance(Policy.of(spec.settings), str(spec.id), control, self._letters)
        if self._letters is not None:
            self._letters.counts = self._tolerance.counts
        self._context.settle = self._settle
        self._context.ownership = control.check
        self._errant = ErrantRecords(self._tolerance)
        if self._letters is not None or self._tolerance.policy.log:
            self._context.errant_record_reporter = self._errant
        self._chain = Chain(load_steps(spec), self._tolerance, sink_place)
        self._converters = load_converters(spec)
        self._conversion = SinkConversion(self._converters, self._chain, self._tolerance)
        self._events = Events(spec.consumer)
        self._share = slot_budget.take()
        try:
            self._consumer = self._make_consumer()
        except BaseException:
            slot_budget.give_back(self._share)
            raise
        self._group = self._context.group = ConsumerGroup(self._consumer, spec.consumer, self._context.position)
        self._puts = PutAhead(task, self._put_once, self._was_put)
        self._context.collect_put = self._puts.collect
        self._assignment = PartitionAssignment(spec, task, host, control, self._consumer, self._context)
        self._subscription = Subscription(
            self._consumer,
            spec.consumer,
            spec.topics,
            spec.topics_regex,
            self._assignment.callbacks,
            self._assignment.checked,
        )
        self._max_records = spec.max_poll_records or _DEFAULT_POLL_RECORDS
        self._topics, self._meter = control.topics, control.meter
        self._meter.watch(metrics_owners(task, self._converters, self._chain.steps))
        self._next_measure = self._next_ends = 0.0
        self._paused = self._holds_back = self._is_reported = False
        self._wait = BrokerWait(
            control, CONSUMER, spec.consumer, lambda reason: host.state(spec, State.UNASSIGNED, reason)
        )
        self._next_commit = time.monotonic() + spec.flush_interval

    def _make_consumer(self) -> Consumer:
        alone = self._spec.settings.get("tasks.max", "1").strip() == "1"
        return make_consumer(
            {**prefetch_within(self._spec.limit), **self._spec.consumer},
            lambda error, done: self._assignment.on_commit(error, done), self._share, alone, self._events.log,
        )  # fmt: skip

    def _dead_letters(self) -> DeadLetters | None:
        if not dead_letter_topic(self._spec.settings):
            return None
        return DeadLetters(self._spec, self._host.producers.take(self._spec.producer), self._control)

    def _check_errors(self) -> None:
        """Checks reported records: raises the error that ends the task if errors are not tolerated or a letter was
        refused."""
        self._errant.check()
        if self._letters is not None:
            self._letters.check()

    def _settle(self, timeout: float) -> bool:
        self._check_errors()
        return self._letters is None or self._letters.settle(timeout)

    def run(self) -> None:
        """Returns after a graceful stop. Raises the error that fails the task, after committing the put records."""
        try:
            if self._letters is not None:
                self._letters.ensure_topic()
            with self._control.calling("start"):
                self._task.start(self._spec.config)
            self._loop()
        finally:
            try:
                self._assignment.finish()
            finally:
                self._end()

    def _end(self) -> None:
        """Other tasks get the partitions after stop(), as in Connect."""
        try:
            self._puts.close()
            with self._control.calling("stop"):
                self._task.stop()
        finally:
            close(self._consumer, self._spec.flush_timeout)
            slot_budget.give_back(self._share)
            self._chain.close()
            self._converters.close()

    def _loop(self) -> None:
        wait = _POLL_TIMEOUT
        while not self._control.stopping:
            self._follow_pause()
            self._subscription.update()
            self._report_start()
            self._group.follow()
            if self._context.requested:
                self._finish_put()
                self._assignment.apply_requests()
            if not self._puts.pending:
                self._check_errors()
            messages = [] if self._is_throttled() else self._fetch(wait)
            messages = self._assignment.without_sought(messages)
            wait = _POLL_TIMEOUT if messages else min(wait * 1.5, _IDLE_POLL_TIMEOUT)
            try:
                if messages:
                    self._deliver(messages)
                elif self._puts.pending:
                    self._finish_put()
                elif self._empty_puts.due(self._next_commit, self._paused):
                    self._put([], self._assignment.moment)
            except StoppedError:
                break
            self._measure_when_due()
            self._commit_when_due()
        self._finish_put()

    def _report_start(self) -> None:
        """The task is RUNNING as soon as a broker has responded."""
        if self._is_reported:
            return
        self._is_reported = self._subscription.responded
        if self._paused:  # and reported as such
            return
        if self._is_reported:
            self._host.state(self._spec, State.RUNNING)
        else:
            self._wait.silent(self._events.log)

    def _fetch(self, wait: float) -> list[Message]:
        """Wait at most `wait` seconds for messages, during a put not at all."""
        throttle, most = self._control.throttle, self._max_records
        if throttle is not None:
            most = throttle.allowed(most)
        longest = 0 if self._puts.pending else self._empty_puts.wait(wait, self._next_commit)
        messages = fetch(self._consumer, most, longest)
        if not messages:
            self._events.check()
        return messages

    def _is_throttled(self) -> bool:
        """Whether the rate limit does not allow another record yet; waits for a while if so. During longer waits the
        task polls its paused consumer, so that it stays in the group and takes part in rebalances. A pause discards
        what the client has fetched, so that short waits are without one."""
        throttle = self._control.throttle
        left = 0.0 if throttle is None or self._paused else throttle.wait()
        if left > 0:
            self._finish_put()
        if self._holds_back is not (left > _SHORT_WAIT or (self._holds_back and left > 0)):
            self._holds_back = not self._holds_back
            self._assignment.hold(self._holds_back)
        if left <= 0:
            return False
        started = time.monotonic()
        left = self._empty_puts.wait(min(left, _SHORT_WAIT), self._next_commit)
        if self._holds_back:
            self._serve(left)
        else:
            self._control.wait(left)
        self._meter.throttled(time.monotonic() - started)
        return True

    def _count(self, messages: Sequence[Message]) -> None:
        if (throttle := self._control.throttle) is not None:
            throttle.count(len(messages))
            if throttle.limits_bytes:
                throttle.count_bytes(len(messages), sum(len(m) + len(m.key() or b"") for m in messages))

    def _follow_pause(self) -> bool:
        """Whether the task is paused now."""
        if self._control.paused is not self._paused:
            self._finish_put()  # which also follows a pause, while it repeats the put
        if self._control.paused is not self._paused:
            self._paused = self._control.paused
            self._assignment.pause_all(self._paused)
            if self._paused:
                self._commit_before_pause()
            if self._paused or self._is_reported:
                self._host.state(self._spec, State.PAUSED if self._paused else State.RUNNING)
            else:
                self._wait.repeat()
        return self._paused

    def _commit_before_pause(self) -> None:
        """Commit before reporting PAUSED, so that offsets shown with it are final."""
        self._assignment.commit()
        until = time.monotonic() + _PAUSE_COMMIT
        while self._assignment.committing and time.monotonic() < until:
            self._serve(_POLL_TIMEOUT)

    def _deliver(self, messages: list[Message]) -> None:
        messages = self._events.without(messages)
        self._assignment.reset(self._events.take_out_of_range())
        batch = FetchedBatch(messages, self._events.ends, self._assignment.moment)
        if not messages:
            self._finish_put()
            self._assignment.advance({}, batch.moment, batch.ends)
            return
        error = self._convert(batch)
        if self._puts.pending:
            if not self._finish_put():
                return
            self._commit_when_due()
            if not self._is_current(batch):
                self._assignment.unread(messages, batch.moment)
                self._puts.given_back()
                self._tolerance.forget()
                return
        self._tolerance.release(messages)
        if error is not None:
            raise error
        if self._spec.track_topics:
            for topic in {tp.topic for tp in batch.positions}:
                if self._topics.use(topic):
                    self._host.topic(self._spec, topic)
        self._meter.fetched(len(messages))
        self._count(messages)
        if not len(batch.records) and not self._task.empty_puts:
            batch.started = time.monotonic()
            self._was_put(batch)  # all records were filtered out or skipped
        elif self._puts.enabled:
            self._control.check()
            self._puts.begin(batch)
        else:
            batch.started = time.monotonic()
            if self._put(batch.records, batch.moment):
                self._was_put(batch)
            self._puts.put_alone()

    def _convert(self, batch: FetchedBatch) -> Exception | None:
        """Sets the records and positions of a batch; returns the error that fails the task. Nothing is reported yet."""
        try:
            batch.records, batch.positions = self._conversion.convert_ahead(batch.messages, self._context.positions)
            if self._puts.enabled:
                self._puts.prepare(batch)
        except Exception as error:
            return error
        return None

    def _is_current(self, batch: FetchedBatch) -> bool:
        """Whether a batch that was fetched during a put may be put after it."""
        moved = self._context.requested or self._control.stopping or self._control.paused is not self._paused
        return not moved and batch.moment == self._assignment.moment

    def _finish_put(self) -> bool:
        """Wait for the put under way, and repeat it if it has failed. False if the task was stopped before it
        succeeded. Raises the error that fails the task."""
        failed = self._puts.take_failed()
        if failed is None:
            return True
        batch, error = failed
        if not isinstance(error, RetriableError):
            raise error
        is_put = self._put_again(batch.records, batch.moment, error)
        if is_put:
            self._was_put(batch)
        return is_put

    def _was_put(self, batch: FetchedBatch) -> None:
        self._assignment.advance(batch.positions, batch.moment, batch.ends)
        newest = batch.messages[-1].timestamp()[1]
        self._meter.put(len(batch.messages), time.monotonic() - batch.started, newest)

    def _put(self, records: Sequence[SinkRecord], moment: int) -> bool:
        """Whether the batch was put; False if the task was stopped before."""
        if not self._task.takes_batches and isinstance(records, SinkBatch):
            records = records.records
        self._control.check()
        try:
            self._put_once(partial(self._task.put, records))
            return True
        except RetriableError as error:
            return self._put_again(records, moment, error)

    def _put_once(self, call: Callable[[], None]) -> None:
        try:
            with self._control.calling("put", self._puts.stack):
                call()
        except RetriableError:
            self._check_errors()
            raise
        finally:
            self._empty_puts.called()
            if self._errant.gave_up:
                raise StoppedError  # otherwise the task would be FAILED because it is being stopped
        self._check_errors()

    def _put_again(self, records: Sequence[SinkRecord], moment: int, error: RetriableError) -> bool:
        """Retry put() with the same batch until it succeeds, after the time that the task has requested in timeout() or
        with growing delays. Meanwhile the consumer is paused but stays in its group,
        earlier offsets are committed, and requests of the task are applied. Records of partitions that are lost, or in
        which the task seeks, are dropped, since they are read again if needed."""
        _log.warning("put() failed and is retried with the same batch: %s", error)
        wait, is_kept, is_empty = _FIRST_RETRY_DELAY, self._assignment.is_kept, len(records) == 0
        self._assignment.hold(True)
        try:
            while not self._control.stopping:
                timeout = self._context.take_timeout()
                self._serve(wait if timeout is None else timeout)
                if self._control.stopping:
                    break
                self._assignment.apply_requests()
                self._measure_when_due()
                self._commit_when_due()
                if self._follow_pause():
                    continue
                records = [
                    r for r in records if is_kept(TopicPartition(r.original_topic, r.original_kafka_partition), moment)
                ]
                if not records and not is_empty:
                    return True
                self._control.check()
                self._tolerance.counts.retried(Stage.TASK_PUT)
                try:
                    self._put_once(partial(self._task.put, records))
                    return True
                except RetriableError as repeated:
                    wait = min(wait * 2, _MAX_RETRY_DELAY)
                    _log.debug("put() failed again: %s", repeated)
            return False
        finally:
            self._assignment.hold(self._holds_back)

    def _serve(self, seconds: float) -> None:
        """Keep the group membership alive for `seconds`. All partitions are paused, so no messages are expected."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._control.stopping:
            if messages := fetch(self._consumer, 1, min(left, _POLL_TIMEOUT)):
                self._assignment.unread(self._events.without(messages), self._assignment.moment)

    def _measure_when_due(self) -> None:
        if (now := time.monotonic()) >= self._next_measure:
            self._next_measure = now + LAG_INTERVAL
            if self._control.throttle is not None and now >= self._next_ends:
                self._next_ends = now + _ENDS_INTERVAL
                self._assignment.ask_for_ends()
            self._meter.behind(self._assignment.lag(), len(self._context.positions))

    def _commit_when_due(self) -> None:
        now = time.monotonic()
        if self._puts.pending or (now < self._next_commit and not self._context.commit_requested):
            return  # a put under way: between it and the next one
        self._context.commit_requested = False
        self._next_commit = now + self._spec.flush_interval
        self._assignment.commit()
