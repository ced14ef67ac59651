"""Handling of failed records: retry, skip, send to the dead letter topic, or fail the task."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from runtime.api.errors import ConnectError, RetriableError
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.failure import Failure, Stage, message_of

if TYPE_CHECKING:
    from runtime.pipeline.task.control import TaskControl
    from runtime.pipeline.task.meter import Meter


class Fallbacks:
    """One per task. The second attempt reports the error for the record that causes it, or does not raise at all;
    either way the batch takes longer, so it is counted, and the first exception of each kind of plugin is logged."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._logged: set[str] = set()

    def count(self, plugin: str, error: Exception) -> None:
        """A batch falls back because a plugin (one of FALLBACKS) raised `error`. On the task's thread."""
        self._meter.fell_back(plugin)
        if plugin not in self._logged:
            self._logged.add(plugin)
            _log.debug("A batch is processed record by record because a %s raised", plugin, exc_info=error)


_log = logging.getLogger(__name__)

_FIRST_DELAY = 0.3  # seconds between the first and the second attempt; doubles
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Policy:
    """The `errors.*` keys of a connector; times in seconds, a negative retry timeout means no limit."""

    tolerate_all: bool = False
    log: bool = False
    log_messages: bool = False
    retry_timeout: float = 0.0
    retry_delay: float = 60.0

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Policy:
        """The policy in a connector's config. ValueError for invalid numbers."""
        return cls(
            config.get("errors.tolerance", "none").lower() == "all",
            _flag(config, "errors.log.enable"),
            _flag(config, "errors.log.include.messages"),
            int(config.get("errors.retry.timeout", 0)) / 1000,
            int(config.get("errors.retry.delay.max.ms", 60_000)) / 1000,
        )


def _flag(config: Mapping[str, str], name: str) -> bool:
    return config.get(name, "false").strip().lower() == "true"


class Reporter(Protocol):
    """Writes failed records to the dead letter topic."""

    def report(self, failure: Failure) -> object:
        """Send a failed record."""


class Tolerance:
    """One per task. Called on the task's thread only, except report()."""

    def __init__(self, policy: Policy, task: str, control: TaskControl, reporter: Reporter | None = None) -> None:
        self.policy, self.counts = policy, Counts()
        control.errors = self.counts
        self.fallbacks = Fallbacks(control.meter)
        self.task = task
        self._control, self._reporter = control, reporter
        self._held: list[Failure] = []

    def stopping(self) -> bool:
        """Whether the task is to stop. Thread-safe."""
        return self._control.stopping

    def abandon(self) -> NoReturn:
        """End a batch of a task that is to stop: it is read again, as a whole. Raises StoppedError."""
        self.forget()
        raise StoppedError

    def retry(self, error: Exception, operation: Callable[[], T], stage: Stage) -> T:
        """Retry an operation that failed with `error`, as long as the error is retriable and the retry timeout allows.
        Raises the last error, or StoppedError if the task is stopped before."""
        self.counts.failed_try()
        started, delay = time.monotonic(), _FIRST_DELAY
        while isinstance(error, RetriableError) and self._may_wait(started):
            self._control.wait(self._pause(started, delay))
            if self._control.stopping:
                self.abandon()
            delay *= 2
            self.counts.retried(stage)
            try:
                return operation()
            except Exception as next_error:  # third-party code
                self.counts.failed_try()
                error = next_error
        raise error

    def failed(self, failure: Failure) -> None:
        """Returns if the record must be skipped; otherwise raises the error that fails the task. In both cases the
        next release() logs the record and sends it to the dead letter topic, as configured. Errors
        that do not concern the record, as the end of a JVM, are raised as they are."""
        if not getattr(failure.error, "tolerable", True):
            raise failure.error
        self._held.append(failure)
        if not self.policy.tolerate_all:
            raise ConnectError("Tolerance exceeded in error handler") from failure.error
        self.counts.was_skipped(failure.stage)

    def release(self, records: Sequence[Any]) -> None:
        """Report the failures of this batch in the order of its records. Without tolerance only the first counts, since
        processing would have stopped there."""
        if not self._held:
            return
        place = {id(record): position for position, record in enumerate(records)}
        held, self._held = sorted(self._held, key=lambda failure: place.get(id(failure.record), 0)), []
        for failure in held if self.policy.tolerate_all else held[:1]:
            self.report(failure)

    def forget(self) -> None:
        """Discard the failures of this batch, which is read again."""
        self._held.clear()

    def report(self, failure: Failure) -> object:
        """Log the failure and send the record to the dead letter topic, as configured. Returns the reporter's
        result. Thread-safe."""
        self.counts.failed(failure)
        if self.policy.log:
            self.counts.was_logged()
            where = f", {failure.where}" if self.policy.log_messages and failure.where else ""
            _log.error(
                "Error encountered in task %s. Executing stage '%s' with class '%s'%s: %s",
                self.task, failure.stage, failure.plugin, where, message_of(failure.error),
            )  # fmt: skip
        if self._reporter is None:
            return None
        self.counts.put_aside(failure)
        return self._reporter.report(failure)

    def _may_wait(self, started: float) -> bool:
        timeout = self.policy.retry_timeout
        return timeout < 0 or time.monotonic() - started < timeout

    def _pause(self, started: float, delay: float) -> float:
        """Seconds until the next attempt; random once the maximum delay is reached."""
        longest = self.policy.retry_delay
        if delay > longest:
            delay = random.uniform(0, longest)
        timeout = self.policy.retry_timeout
        return delay if timeout < 0 else max(0.0, min(delay, started + timeout - time.monotonic()))


def plugin_name(plugin: object) -> str:
    """The class name of a plugin as in its Java counterpart, or else in Python."""
    kind = type(plugin)
    name: str = getattr(kind, "java_name", None) or f"{kind.__module__}.{kind.__qualname__}"
    return name
