"""A failed record and its stage (KIP-298)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """The stage at which a record failed, as in Connect's error context."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed record: its stage, plugin and error. `record` is the client's message (sinks) or the source record;
    `where` describes its position."""

    stage: Stage
    plugin: str
    error: Exception
    record: Any
    where: str
