"""The Spark session of the driver, created by the first request: a worker without Spark connectors pays nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from runtime.engine.driver.session.queries import functions_that_run_java, restrict

_DEFAULTS = {"spark.sql.session.timeZone": "UTC"}  # times in Kafka do not have the zone of a machine


class SharedSession:
    """One SparkSession on the driver's SparkContext, and sessions with settings of their own. Thread-safe."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self._lock = threading.Lock()
        self._session: Any = None
        self._forbidden: Sequence[Any] = ()

    def get(self) -> Any:
        with self._lock:
            if self._session is None:
                from pyspark.sql import SparkSession

                logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # errors are answers to tasks
                session = SparkSession(self.context)
                self._forbidden = functions_that_run_java(session)
                self._session = self._prepared(session)
            return self._session

    def create(self) -> Any:
        """Another session, with the same catalogs, for a source: settings and views of its own."""
        return self._prepared(self.get().newSession())

    def _prepared(self, session: Any) -> Any:
        for key, value in _DEFAULTS.items():
            if self.context.getConf().get(key) is None:
                session.conf.set(key, value)
        restrict(session, self._forbidden)
        return session

    def cancel(self, group: str) -> None:
        """Cancel the jobs of a job group."""
        self.context.cancelJobGroup(group)
