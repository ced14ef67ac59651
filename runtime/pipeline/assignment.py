"""The partitions that a sink task has now: how far each has been put, and what has been committed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.errors import RetriableError
from runtime.api.record import TopicPartition
from runtime.pipeline.convert_sink import Positions
from runtime.pipeline.port import RevokedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message
    from confluent_kafka import TopicPartition as KafkaPartition

    from runtime.api.task import SinkTask
    from runtime.pipeline.control import Control
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.sink_context import SinkContext
    from runtime.task_spec import TaskSpec

_log = logging.getLogger(__name__)

_ASK = 10.0  # seconds for a question to the broker
_TRIES = 6


class Assignment:
    """Follows rebalances on behalf of the task. All calls come from the task's thread, callbacks from poll()."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SinkTask,
        host: SlotHost,
        control: Control,
        consumer: Consumer,
        context: SinkContext,
    ) -> None:
        self._spec, self._task, self._host, self._control = spec, task, host, control
        self._consumer, self._context = consumer, context
        self._committed: Positions = {}
        self._paused = self._held = False
        self._finished = self._committing = False
        self._member = ""
        self._incremental = "cooperative" in str(spec.consumer.get("partition.assignment.strategy", ""))

    @property
    def callbacks(self) -> dict[str, Callable[..., Any]]:
        return {"on_assign": self._on_assign, "on_revoke": self._on_revoke, "on_lost": self._on_lost}

    def advance(self, positions: Positions) -> None:
        """Everything before these has been put."""
        current = self._context.positions
        current.update({tp: offset for tp, offset in positions.items() if tp in current})

    def commit(self, in_rebalance: bool = False) -> None:
        """Flush, then commit what the task allows. A flush that may succeed later rewinds to what is committed.
        The answer comes later, as on_commit(), since the broker may be away for long; a rebalance waits for it."""
        current = self._context.positions
        if not current:
            return
        if self._committing and not in_rebalance:
            _log.warning("The last offset commit is still on its way; the next one waits for it")
            return
        self._control.check()
        try:
            allowed = self._task.pre_commit(dict(current)) or {}
        except RetriableError as error:
            _log.error("Flushing failed, reading again from the last committed offsets: %s", error)
            self._context.seek({tp: self._committed.get(tp, offset) for tp, offset in current.items()})
            return
        if not self._context.settle(self._spec.flush_timeout):
            _log.warning("Failed records are still on their way to the dead letter topic; the commit waits for them")
            return
        self._control.check()
        self._commit(
            {
                tp: offset
                for tp, offset in allowed.items()
                if tp in current and offset <= current[tp] and self._committed.get(tp) != offset
            },
            in_rebalance,
        )

    def on_commit(self, error: KafkaError | None, partitions: Sequence[KafkaPartition]) -> None:
        """The group's answer to a commit."""
        self._committing = False
        self._control.meter.committed(error is None and not any(p.error for p in partitions))
        for p in partitions:
            refused = error or p.error
            if refused is not None:  # the group moved on, or the broker went away: the next commit will tell
                _log.warning("The offset of %s-%d could not be committed now: %s", p.topic, p.partition, refused.str())
            else:
                self._committed[TopicPartition(p.topic, p.partition)] = p.offset

    def lag(self) -> int | None:
        """Records between what has been put and the ends of the partitions, as far as the client knows them: nothing
        is asked of the broker. None while it knows none."""
        behind: int | None = None
        for tp, position in self._context.positions.items():
            _, end = self._consumer.get_watermark_offsets(_kafka(tp), cached=True)
            if end >= 0:
                behind = (behind or 0) + max(end - position, 0)
        return behind

    def finish(self) -> None:
        """Flush, commit and close for the last time; what goes wrong is logged, since the task ends anyway."""
        self._finished = True
        if self._control.revoked:
            return
        deadline = time.monotonic() + self._spec.flush_timeout
        try:
            self._await_commit(deadline)
            self.commit()
            self._await_commit(deadline)
        except RevokedError:
            raise
        except Exception as error:
            _log.error("The last flush failed, its offsets are not committed: %s", error)
        if self._context.positions:
            self._task.close(list(self._context.positions))

    def apply_requests(self) -> None:
        """What the task asked for through its context."""
        context = self._context
        if context.seeks:
            for tp, offset in context.seeks.items():
                if tp in context.positions:
                    self._consumer.seek(_kafka(tp, offset))
                    context.positions[tp] = offset
            context.seeks.clear()
        if context.pause_changed:
            context.pause_changed = False
            self._apply_pauses(context.positions)

    def pause_all(self, paused: bool) -> None:
        """The whole task is paused, or goes on."""
        self._paused = paused
        self._apply_pauses(self._context.positions)

    def hold(self, held: bool) -> None:
        """A batch waits to be put again; nothing new meanwhile."""
        self._held = held
        self._apply_pauses(self._context.positions)

    def unread(self, messages: Sequence[Message]) -> None:
        """Messages that came although their partitions are paused are read again later."""
        for message in messages:
            tp = TopicPartition(str(message.topic()), int(message.partition() or 0))
            if tp in self._context.positions:
                self._consumer.seek(_kafka(tp, int(message.offset() or 0)))

    def _apply_pauses(self, partitions: Iterable[TopicPartition]) -> None:
        everything = self._paused or self._held
        paused = [tp for tp in partitions if everything or tp in self._context.paused]
        running = [tp for tp in partitions if not everything and tp not in self._context.paused]
        if paused:
            self._consumer.pause([_kafka(tp) for tp in paused])
        if running:
            self._consumer.resume([_kafka(tp) for tp in running])

    def _commit(self, offsets: Mapping[TopicPartition, int], wait: bool) -> None:
        from confluent_kafka import KafkaException

        if not offsets:
            return
        partitions = [_kafka(tp, offset) for tp, offset in offsets.items()]
        try:
            if wait:
                self.on_commit(None, self._consumer.commit(offsets=partitions, asynchronous=False) or [])
            else:
                self._consumer.commit(offsets=partitions, asynchronous=True)
                self._committing = True
        except KafkaException as error:
            self.on_commit(error.args[0], partitions)

    def _await_commit(self, deadline: float) -> None:
        """Poll for the answer; what else comes now is not put any more."""
        while self._committing and time.monotonic() < deadline:
            self._consumer.poll(0.05)
        if self._committing:
            _log.error("Offsets could not be committed within %.1f s", self._spec.flush_timeout)

    def _on_assign(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        if self._finished:
            return
        resolved = self._resolve(consumer, partitions)
        (consumer.incremental_assign if self._incremental else consumer.assign)(resolved)
        new = {TopicPartition(p.topic, p.partition): p.offset for p in resolved}
        self._context.positions.update({tp: offset for tp, offset in new.items() if offset >= 0})
        if self._paused or self._held or self._context.paused:
            self._apply_pauses(new)
        self._tell_member(consumer)
        _log.info("Assigned: %s", ", ".join(f"{p.topic}-{p.partition} at {p.offset}" for p in resolved) or "nothing")
        if new:
            self._task.open(list(new))

    def _on_revoke(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        if self._finished:
            return
        try:
            self.commit(in_rebalance=True)
        finally:
            self._close(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        _log.warning("Partitions were lost: another member has them already")
        if not self._finished:
            self._close(partitions)

    def _close(self, partitions: Sequence[KafkaPartition]) -> None:
        gone = [TopicPartition(p.topic, p.partition) for p in partitions]
        self._task.close(gone)
        for tp in gone:
            for known in (self._context.positions, self._committed, self._context.seeks):
                known.pop(tp, None)
            self._context.paused.discard(tp)

    def _resolve(self, consumer: Consumer, partitions: list[KafkaPartition]) -> list[KafkaPartition]:
        """Where to begin in each; the broker is asked again when it does not answer at once."""
        from confluent_kafka import KafkaException

        for _ in range(_TRIES - 1):
            try:
                return self._ask(consumer, partitions)
            except KafkaException as error:
                _log.warning("Committed offsets could not be read, trying again: %s", error.args[0].str())
        return self._ask(consumer, partitions)

    def _ask(self, consumer: Consumer, partitions: list[KafkaPartition]) -> list[KafkaPartition]:
        """At the committed offset, else where auto.offset.reset says."""
        if not partitions:
            return []
        committed = consumer.committed(partitions, timeout=_ASK)
        latest = str(self._spec.consumer.get("auto.offset.reset", "earliest")) in ("latest", "largest", "end")
        for p in committed:
            tp = TopicPartition(p.topic, p.partition)
            if p.offset >= 0:
                self._committed[tp] = p.offset
            else:
                low, high = consumer.get_watermark_offsets(p, timeout=_ASK)
                p.offset = high if latest else low
        return committed

    def _tell_member(self, consumer: Consumer) -> None:
        member = consumer.memberid() or ""
        if member != self._member:
            self._member = member
            self._host.member(self._spec, member)


def _kafka(tp: TopicPartition, offset: int = -1001) -> KafkaPartition:
    from confluent_kafka import TopicPartition as KafkaPartition

    return KafkaPartition(tp.topic, tp.partition, offset)
