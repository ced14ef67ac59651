"""The verdict: what sources and sinks have written, compared with what they had to write."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.soak.chaos.connectors import Sink, Source
from tests.soak.chaos.records import Records, Run

GRACE = 12.0
"""Seconds after an acknowledged deletion in which a task on a frozen worker may still hold its lease."""

_EXAMPLES = 12  # described faults of each kind


@dataclass(slots=True)
class Verdict:
    """Numbers of records at fault, and descriptions."""

    records: int = 0
    missing: int = 0
    doubled: int = 0  # of exactly-once sources
    repeated: int = 0  # of at-least-once sources, which may
    disordered: int = 0
    revived: int = 0
    owners: int = 0  # pairs of task objects of one task that polled at the same time
    positions: int = 0  # committed positions that contradict the records
    sinks_missing: int = 0
    sinks_repeated: int = 0
    sinks_foreign: int = 0  # records that no consumer of committed records sees
    faults: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        counted = (self.missing, self.doubled, self.disordered, self.revived, self.owners, self.positions)
        return not (any(counted) or self.sinks_missing or self.sinks_foreign or self.faults)

    def fault(self, kind: str, source: Source, partition: int, run: Run, what: str) -> None:
        found = f"{kind}: {source.name}, partition {partition}: {what}; {run}"
        if sum(fault.startswith(f"{kind}:") for fault in self.faults) < _EXAMPLES:
            self.faults.append(found)


def judge_source(verdict: Verdict, source: Source, records: Records) -> None:
    for partition in range(source.partitions):
        runs = sorted(records.runs[source.name, partition], key=lambda run: run.incarnation)
        check = _check_exactly_once if source.exactly_once else _check_at_least_once
        check(verdict, source, partition, runs)
        _check_revived(verdict, source, partition, runs)
    if not source.file:  # Java's lines bear no time
        _check_owners(verdict, source, records)


def _check_exactly_once(verdict: Verdict, source: Source, partition: int, runs: Sequence[Run]) -> None:
    """All numbers of each epoch in order, epoch after epoch."""
    starts = source.starts[partition]
    epochs = [epoch for epoch, _ in starts]
    place, following = 0, starts[0][1]
    for run in runs:
        there = epochs.index(run.epoch) if run.epoch in epochs else -1
        if there < place:
            verdict.disordered += 1
            verdict.doubled += run.last - run.first + 1
            verdict.fault("out of order", source, partition, run, f"epoch {epochs[place]} had begun")
            continue
        if there > place:
            place, following = there, starts[there][1]
        if run.first > following:
            verdict.missing += run.first - following
            verdict.fault("missing", source, partition, run, f"{following} to {run.first - 1} are missing")
        elif run.first < following:
            verdict.disordered += 1
            verdict.doubled += min(run.last + 1, following) - run.first
            verdict.fault("doubled", source, partition, run, f"{following} was the next number")
        following = max(following, run.last + 1)


def _check_at_least_once(verdict: Verdict, source: Source, partition: int, runs: Sequence[Run]) -> None:
    """All numbers of each epoch; none before its predecessor."""
    following: dict[int, int] = dict(source.starts[partition])
    for run in runs:
        expected = following.get(run.epoch)
        if expected is None:
            verdict.fault("unknown epoch", source, partition, run, f"epochs are {sorted(following)}")
        elif run.first > expected:
            verdict.missing += run.first - expected
            verdict.fault("missing", source, partition, run, f"{expected} to {run.first - 1} had not come before")
        else:
            verdict.repeated += max(min(run.last + 1, expected) - run.first, 0)
        following[run.epoch] = max(expected or 0, run.last + 1)


def _check_revived(verdict: Verdict, source: Source, partition: int, runs: Sequence[Run]) -> None:
    for run in runs:
        if run.incarnation < source.incarnation and run.until > source.deleted[run.incarnation] + GRACE:
            verdict.revived += 1
            deleted = source.deleted[run.incarnation]
            verdict.fault("revived", source, partition, run, f"this incarnation was deleted at {deleted:.3f}")


def _check_owners(verdict: Verdict, source: Source, records: Records) -> None:
    """No task object polls after a later one of the same task has polled."""
    lives: defaultdict[tuple[int, str], dict[str, Run]] = defaultdict(dict)
    for partition in range(source.partitions):
        for run in records.runs[source.name, partition]:
            known = lives[run.incarnation, run.task].get(run.life, run)
            polled, until = min(known.polled, run.polled), max(known.until, run.until)
            lives[run.incarnation, run.task][run.life] = replace(known, polled=polled, until=until)
    for of_task in lives.values():
        for before, after in pairwise(sorted(of_task.values(), key=lambda run: run.polled)):
            if before.until > after.polled:
                verdict.owners += 1
                verdict.fault("two owners", source, -1, before, f"life {after.life} polled from {after.polled:.3f} on")


def check_positions(
    verdict: Verdict, source: Source, partition: int, positions: Sequence[tuple[int, int]], records: Records
) -> None:
    """The last committed position of each epoch of an exactly-once source follows its last record."""
    ends: dict[int, int] = {}
    for run in records.runs[source.name, partition]:
        ends[run.epoch] = max(ends.get(run.epoch, 0), run.last + 1)
    last: dict[int, int] = {}
    for epoch, number in positions:
        if epoch in last and number < last[epoch]:
            verdict.positions += 1
            verdict.faults.append(
                f"positions: {source.name}, partition {partition}, epoch {epoch}: {number} was committed after "
                f"{last[epoch]}"
            )
        last[epoch] = number
    for epoch, end in ends.items():
        if last.get(epoch) != end:
            verdict.positions += 1
            verdict.faults.append(
                f"positions: {source.name}, partition {partition}, epoch {epoch}: the last committed position is "
                f"{last.get(epoch)}, the last record has number {end - 1}"
            )


class SinkCheck:
    """What a sink's file has of the committed records."""

    def __init__(self, sink: Sink, records: Records) -> None:
        self.sink, self._records = sink, records
        self.missing, self.repeated, self.foreign = 0, 0, 0
        self.examples: list[str] = []

    def run(self) -> None:
        if self.sink.source is None:
            self._recorded()
        else:
            self._values()

    def _recorded(self) -> None:
        seen: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)  # offset: place of its last line
        place = 0
        for line in self._lines():
            topic, partition, offset, value = line.split(b" ", 3)
            at, number = (topic.decode(), int(partition)), int(offset)
            self.repeated += number in seen[at]
            seen[at][number] = place
            place += len(line) + 1
            if self._records.sums[at].get(number) != zlib.crc32(value):
                self.foreign += 1
                self._example("not committed", line.decode())
        for at, sums in self._records.sums.items():
            if at[0] in self.sink.topics:
                size, start = self.sink.rereads.get(at, (0, 0))
                for number in sums:
                    if number not in seen[at] or (number >= start and seen[at][number] < size):
                        self.missing += 1
                        again = " again" if number in seen[at] else ""
                        self._example(f"not written{again}", f"{at[0]}-{at[1]} at {number}")

    def _values(self) -> None:
        source = self.sink.source
        assert source is not None
        numbers = {int(line.split()[4]) for line in self._lines()}
        for run in self._records.runs[source.name, 0]:
            lost = set(range(run.first, run.last + 1)) - numbers
            self.missing += len(lost)
            if lost:
                self._example("not written", f"{len(lost)} numbers from {min(lost)} on")

    def _lines(self) -> Iterator[bytes]:
        if self.sink.file.exists():
            yield from self.sink.file.read_bytes().split(b"\n")[:-1]

    def _example(self, kind: str, what: str) -> None:
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{self.sink.name}: {kind}: {what}")
