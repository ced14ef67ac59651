"""Spark's resource profiles for slots that need an executor of a certain size."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.model.executor_size import ANY_SIZE, ExecutorSize

_log = logging.getLogger(__name__)

_DYNAMIC = "spark.dynamicAllocation.enabled"
_DEFAULT_HEAP = "1g"  # Spark's, for spark.executor.memory
_UNITS = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}  # MB


def executor_sizes(slots: Iterable[tuple[int, int, int]]) -> dict[int, ExecutorSize]:
    """The sizes in a message, by slot."""
    return {slot: ExecutorSize(memory, cores) for slot, memory, cores in slots}


class ExecutorProfiles:
    """One profile for each size: Spark starts other executors for a profile that it does not know. Thread-safe."""

    def __init__(self, master: str, conf: Mapping[str, str]) -> None:
        self._standalone, self._conf = master.startswith("spark://"), conf
        self._lock = threading.Lock()
        self._profiles: dict[ExecutorSize, Any] = {}
        self._warned = False

    def of(self, size: ExecutorSize) -> Any:
        """The profile; None if any executor will do, or if Spark starts executors of one size only."""
        if size == ANY_SIZE:
            return None
        with self._lock:
            if self._conf.get(_DYNAMIC, "").strip().lower() != "true":
                self._warn()
                return None
            if size not in self._profiles:
                self._profiles[size] = self._made(size)
            return self._profiles[size]

    def _warn(self) -> None:
        if not self._warned:
            _log.warning("Executors of several sizes need %s=true: all slots get the same executors", _DYNAMIC)
        self._warned = True

    def _made(self, size: ExecutorSize) -> Any:
        from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests

        cores = size.cores or 1
        executor = ExecutorResourceRequests().cores(cores)
        if size.memory:  # beside the heap of the executor
            heap = _megabytes(self._conf.get("spark.executor.memory", _DEFAULT_HEAP))
            if self._standalone:  # which counts the heap only
                executor = executor.memory(f"{heap + size.memory}m")
            else:
                executor = executor.memory(f"{heap}m").memoryOverhead(f"{size.memory}m")
        return ResourceProfileBuilder().require(executor).require(TaskResourceRequests().cpus(cores)).build


def _megabytes(text: str) -> int:
    """Memory as Spark writes it, such as `480m` or `2gb`; without a unit in MB."""
    amount = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = _UNITS.get(amount[-1:])
    return int(amount) if unit is None else int(int(amount[:-1]) * unit)
