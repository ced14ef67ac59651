"""Sources that generate numbered records: each task has a number, and its offset is the number of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeGuard

from runtime.api.errors import ConnectError
from runtime.api.task import AlteredOffsets, Offset
from runtime.connectors.checked_config import ExactSourceConnector


@dataclass(frozen=True, slots=True)
class NumberedOffsets:
    """Offsets such as `{"records": 1000}` in partitions such as `{"task": 0}`. `meaning` describes the number."""

    partition: str
    offset: str
    meaning: str

    def number(self, offset: Offset) -> int:
        """The number in an offset; ConnectError if there is none."""
        number = offset.get(self.offset)
        if not _is_number(number):
            raise ConnectError(f"The offset has an invalid '{self.offset}', which must be {self.meaning}: {number!r}")
        return number

    def check(self, offsets: AlteredOffsets) -> None:
        """ConnectError if one of these pairs cannot be a partition with its offset, or None for its removal."""
        for partition, offset in offsets:
            if partition is None or set(partition) != {self.partition} or not _is_number(partition[self.partition]):
                raise ConnectError(
                    f'A source partition must be {{"{self.partition}": <number of the task>}}, not {partition}'
                )
            if offset is not None:
                self.number(offset)
                if set(offset) != {self.offset}:
                    raise ConnectError(f'A source offset must be {{"{self.offset}": <{self.meaning}>}}, not {offset}')


class NumberedSourceConnector(ExactSourceConnector):
    """Each task gets its number under `task_key`, and continues from offsets of its own."""

    task_key: ClassVar[str]
    own_offsets: ClassVar[NumberedOffsets]

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, self.task_key: str(task)} for task in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        self.own_offsets.check(offsets)
        return True


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
