"""The results of a chain, of its steps, and of the handling of their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runtime.api.transformation import Record

Results = list[Record | None]
"""The result for each record of a batch, None if it was dropped; shorter than the batch if the task fails."""

OnError = Callable[[Record, Exception], "Record | None"]
"""Handles an exception of a transformation: returns the record after a retry, or None to skip the record. Raises
StoppedChain if the task fails."""


@dataclass(slots=True)
class ChainResult:
    """The transformed records, in order. `failed` is the record of the batch that fails the task with `error`; the
    result contains neither this record nor later ones."""

    records: list[Record]
    failed: Record | None = None
    error: Exception | None = None
    origins: dict[int, Record] = field(default_factory=dict)  # by id() of records that replace another one

    def origin(self, record: Record) -> Record:
        """The record of the batch from which this record was derived."""
        return self.origins.get(id(record), record)


class StoppedChain(Exception):
    """The task fails at a record of the chain, with an error."""

    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__()
        self.record, self.error = record, error
