"""The Spark session of the driver, created by the first request: a worker without Spark connectors pays nothing."""

from __future__ import annotations

import logging
import threading
from typing import Any

from runtime.engine.driver.session.queries import restrict

_DEFAULTS = {"spark.sql.session.timeZone": "UTC"}  # times in Kafka do not have the zone of a machine


class SharedSession:
    """One SparkSession on the driver's SparkContext. Thread-safe."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self._lock = threading.Lock()
        self._session: Any = None

    def get(self) -> Any:
        """The session."""
        with self._lock:
            if self._session is None:
                from pyspark.sql import SparkSession

                logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # errors are answers to tasks
                session = SparkSession(self.context)
                for key, value in _DEFAULTS.items():
                    if self.context.getConf().get(key) is None:
                        session.conf.set(key, value)
                restrict(session)
                self._session = session
            return self._session

    def cancel(self, group: str) -> None:
        """Cancel the jobs of a job group."""
        self.context.cancelJobGroup(group)
