"""Records that need more memory than Spark's JVM has: errors of these records, if the memory was not used elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from runtime.engine.driver.session.record_query.evaluator import TooLargeError
from runtime.engine.driver.session.spark_errors import described, java_classes, spark_errors

_log = logging.getLogger(__name__)

_TOO_LARGE, _FULL = "Requested array size exceeds VM limit", "Java heap space"  # other messages: the limit of threads
_PAUSES = (1.0, 2.0)  # seconds before a record is tried again, since another query may have used the memory


def with_enough_memory(jvm: Any, run: Callable[[], None], source: str) -> None:
    """Run a query for the rows of the file `source`. TooLargeError, which is one of the records, if the heap is too
    small for them: of several, smaller batches may fit; of one, that has failed again while the heap was free."""
    for pause in (*_PAUSES, None):
        try:
            run()
        except spark_errors() as error:
            text = described(error)
            if "java.lang.OutOfMemoryError" not in java_classes(error) or not (_TOO_LARGE in text or _FULL in text):
                raise
            if _TOO_LARGE in text or _has_several_rows(source) or (pause is None and _is_free(jvm)):
                raise TooLargeError(
                    f"The query needs more memory than the heap has (spark.driver.memory): {text}. SQLSTATE: 22000"
                ) from error
            if pause is None:
                raise
            _log.warning("The query of a record has no memory; next attempt in %g s: %s", pause, text)
            time.sleep(pause)
        else:
            return


def _has_several_rows(source: str) -> bool:
    import pyarrow as pa

    with pa.ipc.open_stream(source) as stream:
        return bool(stream.read_all().num_rows > 1)


def _is_free(jvm: Any) -> bool:
    """Whether more than half of the heap is free after a collection."""
    jvm.java.lang.System.gc()
    heap = jvm.java.lang.Runtime.getRuntime()
    return int(heap.maxMemory()) > 2 * (int(heap.totalMemory()) - int(heap.freeMemory()))
