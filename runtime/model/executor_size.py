"""The size of the executor that a dedicated slot needs on a Spark cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExecutorSize:
    """`memory` in MB beside the heap of the executor; 0 for either: as every executor."""

    memory: int = 0
    cores: int = 0


ANY_SIZE = ExecutorSize()
"""An executor as all others."""
