"""Source offsets that are a number in a partition that is a number, as of sources that generate records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition


@dataclass(frozen=True, slots=True)
class NumberedOffsets:
    """Offsets such as `{"records": 1000}` in partitions such as `{"task": 0}`. `meaning` describes the number."""

    partition: str
    offset: str
    meaning: str

    def number(self, offset: Offset) -> int:
        """The number in an offset; ConnectError if there is none."""
        found = offset.get(self.offset)
        if not _is_number(found):
            raise ConnectError(f"The offset has an invalid '{self.offset}', which must be {self.meaning}: {found!r}")
        return found

    def check(self, offsets: Sequence[tuple[Partition | None, Offset | None]]) -> None:
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


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
