"""A record that failed, and at which stage (KIP-298)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """Where a record was, as the error context names it."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"


@dataclass(frozen=True, slots=True)
class Failure:
    """One record that failed: where, in which plugin, why. `record` is the client's message (sinks) or the source
    record; `where` says in words where it came from."""

    stage: Stage
    plugin: str
    error: Exception
    record: Any
    where: str
