"""Merges into one table follow each other: two at a time would conflict, as both may rewrite the same files."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import count

from runtime.connectors.spark.session_client import retry_delay
from runtime.engine.driver.session.spark_errors import described, spark_errors

_log = logging.getLogger(__name__)

_CONFLICTS = ("io.delta.exceptions.Concurrent", "org.apache.iceberg.exceptions.ValidationException",
              "org.apache.iceberg.exceptions.CommitFailedException")  # fmt: skip
_ATTEMPTS = 10
_turns: dict[str, threading.Lock] = defaultdict(threading.Lock)  # by the name or path of the table


def in_turn(table: str, merge: Callable[[], None], delay: Callable[[int], float] = retry_delay) -> None:
    """Run `merge` alone in this process, and again after a conflict with another application. `delay`: seconds before
    the next attempt."""
    for attempt in count(1):
        try:
            with _turns[table]:
                merge()
            return
        except spark_errors() as error:
            if attempt == _ATTEMPTS or not any(name in str(error) for name in _CONFLICTS):
                raise
            _log.info("Another application has changed %s meanwhile, merging again: %s", table, described(error))
        time.sleep(delay(attempt))
