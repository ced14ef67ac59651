"""The partitions assigned to a sink task: their positions and committed offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import OffsetAndMetadata
from runtime.pipeline.sink.assigned_topics import TopicIds, without_note
from runtime.pipeline.sink.convert_sink import Positions
from runtime.pipeline.sink.starting_offsets import Reset, listed_offsets, reset_offsets, starting_offsets
from runtime.pipeline.task.failure import RevokedError
from runtime.pipeline.topic_ids import slot_topic_ids

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message
    from confluent_kafka import TopicPartition as KafkaPartition

    from runtime.api.task import SinkTask
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.sink.sink_context import SinkContext
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_ENDS_TIMEOUT = 0.5  # seconds
_IDS_INTERVAL = 5.0  # seconds between two checks of the topics before regular commits


class PartitionAssignment:
    """Handles rebalances for the task. All methods are called on the task's thread, the callbacks from poll()."""

    def __init__(
        self,
        spec: TaskSpec,
        task: SinkTask,
        host: SlotHost,
        control: TaskControl,
        consumer: Consumer,
        context: SinkContext,
    ) -> None:
        self._spec, self._task, self._host, self._control = spec, task, host, control
        self._consumer, self._context = consumer, context
        self._committed = context.committed  # without a committed offset: the starting position
        self._ends: Positions = {}  # of partitions that have been read to their end
        self._reported: Positions = {}  # ends that the brokers have reported on request
        self._sent: Positions = {}  # the pending commit, for partitions that are still assigned
        self.moment = 0
        """Rises when a partition is revoked or sought: batches fetched before no longer count for it."""
        self._given_up: dict[TopicPartition, int] = {}  # the moment at which it was revoked or sought last
        self._paused = self._held = False
        self._finished = self._committing = False
        self._member = ""
        self._topic_ids, self._next_ids = TopicIds(slot_topic_ids.asker(spec.consumer, task.commits_late)), 0.0
        cooperative = "cooperative" in str(spec.consumer.get("partition.assignment.strategy", ""))
        self._reset = Reset.of(spec.consumer)
        self._incremental = cooperative or spec.consumer.get("group.protocol") == "consumer"  # KIP-429, KIP-848

    @property
    def callbacks(self) -> dict[str, Callable[..., Any]]:
        """The rebalance callbacks, as arguments for Consumer.subscribe()."""
        return {"on_assign": self._on_assign, "on_revoke": self._on_revoke, "on_lost": self._on_lost}

    def advance(self, positions: Positions, moment: int, ends: Positions) -> None:
        """Everything before these positions, and before these ends of partitions, has been put. `moment`: when the
        messages were fetched. Partitions revoked or sought since are ignored."""
        current = self._context.positions
        current.update({tp: offset for tp, offset in positions.items() if self.is_kept(tp, moment)})
        self._ends.update({tp: end for tp, end in ends.items() if self.is_kept(tp, moment)})

    def is_kept(self, tp: TopicPartition, moment: int) -> bool:
        """Whether the partition has been assigned, and read without interruption, since this moment."""
        return tp in self._context.positions and self._given_up.get(tp, 0) <= moment

    def commit(self) -> None:
        """Flush, then commit the offsets that the task allows: of all partitions as soon as one offset has changed, as
        Connect does. After a RetriableError the task rewinds to the committed offsets. The response arrives later in
        on_commit(), since the broker may be unavailable for long."""
        self._context.collect_put()
        if self._committing:
            _log.warning("The previous offset commit is still pending; the next one waits for it")
            return
        checks = time.monotonic() >= self._next_ids
        self._commit(self._flush(dict(self._context.positions), checks), wait=False)

    def _flush(self, current: Positions, checks: bool = True) -> Positions:
        """Call preCommit with these positions. Returns the offsets to commit, for all of these partitions; empty if no
        offset has changed, or nothing may be committed. `checks`: without those of topics that were created again."""
        if not current:
            return {}
        self._control.check()
        committed = {tp: self._committed[tp] for tp in current if tp in self._committed}
        try:
            with self._control.calling("preCommit"):
                allowed = self._task.pre_commit(dict(current)) or {}
        except RetriableError as error:
            _log.error("Flush failed, rewinding to the last committed offsets: %s", error)
            self._context.seek(committed)
            return {}
        if not self._context.settle(self._spec.flush_timeout):
            _log.warning("Failed records are not yet written to the dead letter topic; the commit waits for them")
            return {}
        moved = {
            tp: offset
            for tp, offset in allowed.items()
            if tp in current and offset <= current[tp] and self._committed.get(tp) != offset
        }
        if not moved or (self._task.commits_late and not self._topic_ids.may_commit({tp.topic for tp in moved})):
            return {}
        stale = self._stale({tp.topic for tp in current}) if checks and not self._task.commits_late else ()
        return {tp: offset for tp, offset in {**committed, **moved}.items() if tp.topic not in stale}

    def _stale(self, topics: Collection[str]) -> set[str]:
        """Those of the topics that were deleted and created again, so that positions mean other records; none if the
        cluster does not respond."""
        stale = self._topic_ids.changed(slot_topic_ids.ids(self._spec.consumer, topics) or {})
        if not stale:  # otherwise each commit asks, until the topics are read from their start
            self._next_ids = time.monotonic() + _IDS_INTERVAL
        else:
            names = ", ".join(sorted(stale))
            _log.warning("Offsets are not committed for topics that have been deleted and created again: %s", names)
        return stale

    def on_commit(self, error: KafkaError | None, partitions: Sequence[KafkaPartition]) -> None:
        """The group's response to a commit."""
        self._committing = False
        self._control.meter.committed(error is None and not any(p.error for p in partitions))
        stored: Positions = {}
        for p in partitions:
            refused = error or p.error
            if refused is not None:  # a rebalance or an outage: the next commit includes the offset
                _log.warning("Offset of %s-%d could not be committed: %s", p.topic, p.partition, refused.str())
                continue
            tp = TopicPartition(p.topic, p.partition)
            stored[tp] = _with_metadata(p.offset, p)
            if tp in self._sent:
                self._committed[tp] = stored[tp]
        if stored:
            self._context.collect_put()
            with self._control.calling("committed"):
                self._task.committed(stored)

    @property
    def committing(self) -> bool:
        """Whether a commit is pending."""
        return self._committing

    def lag(self) -> int | None:
        """Records between the positions and the ends of the partitions, as far as the client knows them, without a
        request to the broker. None if the client knows no end."""
        behind: int | None = None
        for tp, position in self._context.positions.items():
            _, end = self._consumer.get_watermark_offsets(_kafka(tp), cached=True)
            end = max(end, self._reported.get(tp, end))
            if end >= 0:
                behind = (behind or 0) + max(end - max(position, self._ends.get(tp, 0)), 0)
        return behind

    def ask_for_ends(self) -> None:
        """Ask the brokers for the ends of the partitions. The client learns them when it fetches, which a throttled
        task does rarely. Waits for a limited time if the brokers do not respond."""
        from confluent_kafka import OFFSET_END, KafkaException

        try:
            self._reported = listed_offsets(self._consumer, self._context.positions, OFFSET_END, _ENDS_TIMEOUT)
        except KafkaException as error:
            _log.debug("The ends of partitions are not known: %s", error)

    def finish(self) -> None:
        """Flush, close and commit for the last time, in Connect's order; errors of the flush and of the commit are
        logged, since the task ends anyway."""
        self._finished = True
        if self._control.revoked:
            return
        self._context.collect_put()
        deadline, offsets = time.monotonic() + self._spec.flush_timeout, {}
        with _logged("Final flush failed, its offsets are not committed"):
            self._await_commit(deadline)
            offsets = self._flush(dict(self._context.positions))
        if self._context.positions:
            self._close_task(list(self._context.positions))
        with _logged("Final commit failed"):
            self._commit(offsets, wait=False)
            self._await_commit(deadline)

    def apply_requests(self) -> None:
        """Carries out the task's requests through its context. A batch waiting to be put again loses the partitions in
        which the task seeks."""
        context = self._context
        if context.seeks:
            for tp, offset in context.take_seeks().items():
                if tp in context.positions:
                    self._consumer.seek(_kafka(tp, offset))
                    self._moved({tp: offset})
        if context.pause_changed:
            context.pause_changed = False
            self._apply_pauses(context.positions)

    def checked(self, ids: Mapping[str, str | None]) -> None:
        """The topics have these ids now. Positions in one that was deleted and created again mean records of the
        deleted one. TaskLostError for a task that commits late."""
        changed = self._topic_ids.changed(ids)
        partitions = [tp for tp in self._context.positions if tp.topic in changed]
        if partitions and (not self._task.commits_late or self._topic_ids.may_commit({tp.topic for tp in partitions})):
            self._topic_ids.renew(ids)
            self.reset(partitions)

    def reset(self, partitions: Sequence[TopicPartition]) -> None:
        """Read partitions from the offsets that auto.offset.reset selects, since their positions are not valid. Where
        one is out of range, the client neither fetches nor seeks until the partition is assigned again."""
        assigned = [tp for tp in partitions if tp in self._context.positions]
        if not assigned:
            return
        offsets = reset_offsets(self._consumer, assigned, self._reset, self._control, self._spec.consumer)
        for tp, offset in offsets.items():
            _log.warning(
                "The position in %s-%d is out of range, or the topic was created again: reading from offset %d",
                *tp, offset,
            )  # fmt: skip
        if self._incremental:
            self._consumer.incremental_unassign([_kafka(tp) for tp in offsets])
            self._consumer.incremental_assign([_kafka(tp, offset) for tp, offset in offsets.items()])
        else:
            self._consumer.assign([_kafka(tp, offset) for tp, offset in {**self._fetched(), **offsets}.items()])
        self._moved(offsets)
        self._apply_pauses(self._context.positions)

    def _fetched(self) -> Positions:
        """Where the client continues to read each partition."""
        fetched = self._consumer.position([_kafka(tp) for tp in self._context.positions])
        at = {TopicPartition(p.topic, p.partition): p.offset for p in fetched if p.offset >= 0}
        return {**self._context.positions, **at}

    def _moved(self, offsets: Positions) -> None:
        """Read from these offsets on; batches fetched before no longer count for these partitions."""
        self._context.positions.update(offsets)
        self._committed.update(offsets)
        for tp in offsets:
            self._ends.pop(tp, None)
        self._give_up(list(offsets))

    def without_sought(self, messages: list[Message]) -> list[Message]:
        """Without the messages of partitions in which the task has sought while they were fetched, such as in close():
        they are read again if they lie behind the new position."""
        seeks = self._context.seeks
        if not seeks:
            return messages
        return [m for m in messages if TopicPartition(str(m.topic()), int(m.partition() or 0)) not in seeks]

    def pause_all(self, paused: bool) -> None:
        """Pause or resume the whole task."""
        self._paused = paused
        self._apply_pauses(self._context.positions)

    def hold(self, held: bool) -> None:
        """Stop or resume fetching, while a batch is waiting to be put again."""
        self._held = held
        self._apply_pauses(self._context.positions)

    def unread(self, messages: Sequence[Message], moment: int) -> None:
        """Rewind to these messages, fetched at this moment, where they still count."""
        first: Positions = {}
        for message in messages:
            first.setdefault(TopicPartition(str(message.topic()), int(message.partition() or 0)), message.offset() or 0)
        for tp, offset in first.items():
            if self.is_kept(tp, moment):
                self._consumer.seek(_kafka(tp, offset))

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
        self._control.check()
        partitions = [_kafka(tp, offset, self._topic_ids.note(tp.topic)) for tp, offset in offsets.items()]
        self._sent.update(offsets)
        pending = self._committing
        try:
            if wait:
                self.on_commit(None, self._consumer.commit(offsets=partitions, asynchronous=False) or [])
                self._committing = pending
            else:
                self._consumer.commit(offsets=partitions, asynchronous=True)
                self._committing = True
        except KafkaException as error:
            self.on_commit(error.args[0], partitions)
            self._committing = pending

    def _await_commit(self, deadline: float) -> None:
        """Poll for the response to a commit; other messages are discarded."""
        while self._committing and time.monotonic() < deadline:
            self._consumer.poll(0.05)
        if self._committing:
            _log.error("Offsets could not be committed within %.1f s", self._spec.flush_timeout)

    def _on_assign(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        """Partitions that cannot be opened are not assigned. Without a call the client would assign them itself: it
        would read them, and end the process if the broker does not support OffsetFetch (librdkafka issue 4789)."""
        opened: list[KafkaPartition] = []
        try:
            if self._context.group is not None:
                self._context.group.update()
            if not self._finished:
                opened = self._open(consumer, partitions)
        finally:
            (consumer.incremental_assign if self._incremental else consumer.assign)(opened)
        if self._finished:
            return
        # A partition revoked while paused may still be paused in the client.
        self._apply_pauses([TopicPartition(p.topic, p.partition) for p in opened])
        self._report_member(consumer)
        _log.info("Assigned: %s", ", ".join(f"{p.topic}-{p.partition} at {p.offset}" for p in opened) or "nothing")

    def _open(self, consumer: Consumer, partitions: list[KafkaPartition]) -> list[KafkaPartition]:
        """Returns the partitions at their starting offsets."""
        self._topic_ids.assigned({p.topic for p in partitions})  # before its offsets
        resolved = starting_offsets(
            consumer, partitions, self._reset, self._control, self._spec.consumer, self._topic_ids
        )
        new = {TopicPartition(p.topic, p.partition): max(p.offset, 0) for p in resolved}
        self._context.positions.update(new)
        self._committed.update({tp: _with_metadata(new[tp], p) for tp, p in zip(new, resolved, strict=True)})
        if new:
            self._context.collect_put()
            with self._control.calling("open"):
                self._task.open(list(new))
            self._apply_open_seeks(resolved)
        return resolved

    def _apply_open_seeks(self, resolved: Sequence[KafkaPartition]) -> None:
        """Apply the seeks of open() before anything is read: the task may store its positions itself."""
        for p in resolved:
            tp = TopicPartition(p.topic, p.partition)
            if tp in self._context.seeks:
                p.offset = self._context.positions[tp] = self._committed[tp] = self._context.seeks.pop(tp)

    def _on_revoke(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        """Flush and close the revoked partitions, then commit their offsets. A cooperative rebalance leaves the others
        open, so the task is not called for them. Nothing is committed if the task cannot close them."""
        removed = self._opened(partitions)
        if self._finished or not removed:
            return
        self._context.collect_put()
        try:
            try:
                offsets = self._flush({tp: self._context.positions[tp] for tp in removed})
            finally:
                self._close_task(removed)
            self._commit(offsets, wait=True)
        finally:
            self._forget(removed)

    def _on_lost(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        removed = self._opened(partitions)
        if self._finished or not removed:
            return
        self._context.collect_put()
        _log.warning("Partitions were lost: another member may already own them")
        try:
            self._close_task(removed)
        finally:
            self._forget(removed)

    def _opened(self, partitions: Sequence[KafkaPartition]) -> list[TopicPartition]:
        named = (TopicPartition(p.topic, p.partition) for p in partitions)
        return [tp for tp in named if tp in self._context.positions]

    def _forget(self, removed: Sequence[TopicPartition]) -> None:
        for tp in removed:
            for known in (self._context.positions, self._context.seeks, self._committed, self._sent):
                known.pop(tp, None)
            for ends in (self._ends, self._reported):
                ends.pop(tp, None)
            self._context.paused.discard(tp)
        self._topic_ids.keep({tp.topic for tp in self._context.positions})
        self._give_up(removed)

    def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        self.moment += 1
        self._given_up.update(dict.fromkeys(partitions, self.moment))

    def _close_task(self, partitions: list[TopicPartition]) -> None:
        with self._control.calling("close"):
            self._task.close(partitions)

    def _report_member(self, consumer: Consumer) -> None:
        member = consumer.memberid() or ""
        if member != self._member:
            self._member = member
            self._host.member(self._spec, member)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Errors are logged, except those of a task whose lease has ended."""
    try:
        yield
    except RevokedError:
        raise
    except Exception as error:  # the task ends anyway
        _log.error("%s: %s", what, error)


def _kafka(tp: TopicPartition, offset: int = -1001, metadata: str = "") -> KafkaPartition:
    """`metadata`: unless the task has chosen other metadata for the offset."""
    from confluent_kafka import TopicPartition as KafkaPartition

    return KafkaPartition(tp.topic, tp.partition, offset, getattr(offset, "metadata", "") or metadata)


def _with_metadata(offset: int, partition: KafkaPartition) -> int:
    metadata = without_note(partition.metadata)
    return OffsetAndMetadata(offset, metadata) if metadata else offset
