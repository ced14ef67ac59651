"""The Kafka messages of the records of one poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord


@dataclass(slots=True)
class MessageRun:
    """Consecutive messages for one topic. `unreported`: some have headers or timestamps, which delivery reports lack.
    `content`: bytes of keys, values and headers, if known. `records`: the polled record of each message, for
    commit_record() only."""

    topic: str
    messages: Sequence[dict[str, Any]] = field(default_factory=list)
    unreported: bool = False
    content: int | None = None
    records: list[SourceRecord] = field(default_factory=list)


@dataclass(slots=True)
class MessageBatch:
    """Messages to send, in order; the source offsets they cover; the error if the batch ends before the last record.
    `dropped`: the polled records without a message, for commit_record() only."""

    runs: list[MessageRun] = field(default_factory=list)
    offsets: dict[bytes, Mapping[str, Any] | None] = field(default_factory=dict)
    error: Exception | None = None
    dropped: list[SourceRecord] = field(default_factory=list)

    def extend(self, following: MessageBatch) -> None:
        """Append the messages of the records after those of this batch."""
        self.runs += following.runs
        self.offsets |= following.offsets
        self.error = following.error
        self.dropped += following.dropped

    def attribute(self, polled: Sequence[SourceRecord], sent: Sequence[int], end: int) -> None:
        """Note which of the polled records the messages were created from (`sent`: their indices, in order), and
        which of the first `end` records were dropped."""
        start = 0
        for run in self.runs:
            places = sent[start : start + len(run.messages)]
            run.records = [polled[place] for place in places]
            start += len(places)
        kept = set(sent)
        self.dropped = [polled[place] for place in range(end) if place not in kept]
