"""The Spark session of the driver, created by the first request: a worker without Spark connectors pays nothing."""

from __future__ import annotations

import logging
import threading
from typing import Any

from runtime.engine.driver.session.queries import restrict

_DEFAULTS = {"spark.sql.session.timeZone": "UTC"}  # times in Kafka do not have the zone of a machine


class SharedSession:
    """One SparkSession on the driver's SparkContext, and sessions with settings of their own. Thread-safe."""

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
                self._session = self._prepared(SparkSession(self.context))
            return self._session

    def create(self) -> Any:
        """Another session, with the same catalogs, for a source: settings and views of its own."""
        return self._prepared(self.get().newSession())

    def _prepared(self, session: Any) -> Any:
        for key, value in _DEFAULTS.items():
            if self.context.getConf().get(key) is None:
                session.conf.set(key, value)
        restrict(session)
        return session

    def cancel(self, group: str) -> None:
        """Cancel the jobs of a job group."""
        self.context.cancelJobGroup(group)
