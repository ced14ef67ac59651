"""A SparkSink task that a test runs directly, with a session that the test answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, cast

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import OffsetAndMetadata
from runtime.connectors.spark.session_client import SessionClient, SessionLostError, SparkRequestError
from runtime.connectors.spark.sink.task import SparkSinkTask
from tests.support.tasks.task_contexts import DeadLetterList, TaskSinkContext

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
ROW = {"id": 1, "name": "a"}


class ScriptedSession:
    """Keeps requests until the test answers them."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, Any], Future[Any]]] = []
        self.closed = False

    def send(self, make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            self.requests.append((dict(make()), future))
        except Exception as error:  # as a call in the thread of the real client
            future.set_exception(error)
        return future

    def close(self) -> None:
        self.closed = True

    def take(self, operation: str, result: Any = None) -> dict[str, Any]:
        """Answers the oldest request, which must be of this operation."""
        request, future = self.requests.pop(0)
        assert request["op"] == operation, request
        answers = {"resolve": {"published": [], "discarded": []}, "write": {"seconds": 0.1}, "publish": {"files": 1}}
        future.set_result(answers.get(operation, result))
        return request

    def refuse(self, message: str, kind: str = "other") -> None:
        """The oldest request fails."""
        self._fail(SparkRequestError(message, kind))

    def lose(self) -> None:
        """The session ends before it has responded to the oldest request."""
        self._fail(SessionLostError("The Spark session has closed the connection"))

    def _fail(self, error: SparkRequestError) -> None:
        _, future = self.requests.pop(0)
        future.set_exception(error)


class PausingContext(TaskSinkContext):
    """Also keeps pauses."""

    def __init__(self, reporter: DeadLetterList | None = None) -> None:
        super().__init__(reporter)
        self.paused: set[TopicPartition] = set()

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)


class SparkSinkRig:
    """The task with two partitions at offset 100, and the clock of its trigger."""

    def __init__(
        self, config: Mapping[str, str] | None = None, reporter: DeadLetterList | None = None, refused: str = "",
        **times: Any,
    ) -> None:  # fmt: skip
        """`refused`: why the session refuses `spark.sql`. `times`: parameters of the task."""
        self.now = 0.0
        self.session = ScriptedSession()
        session = cast("SessionClient", self.session)  # the methods that the task uses
        self.task = SparkSinkTask(lambda: self.now, lambda name: session, **times)
        self.context = PausingContext(reporter)
        self.context.assignment = frozenset([ZERO, ONE])
        self.context.committed = {ZERO: 100, ONE: OffsetAndMetadata(100, "0-earlier")}
        self.task.context = self.context.as_context()
        self.positions = {ZERO: 100, ONE: 100}
        self.task.start({"name": "lake", "spark.path": "/lake", "spark.trigger": "10 s", **(config or {})})
        self.task.open([ZERO, ONE])
        if "check" in self.operations():
            self.session.refuse(refused, "query") if refused else self.session.take("check")
        if "schema" in self.operations():
            self.session.take("schema")
        self.opened = self.session.take("resolve") if self.operations() else {}

    def put(self, tp: TopicPartition, *values: Any) -> None:
        start = self.positions[tp]
        self.task.put(
            [SinkRecord(tp.topic, tp.partition, None, None, None, v, start + n, 0) for n, v in enumerate(values)]
        )
        self.positions[tp] = start + len(values)

    def pass_time(self, seconds: float) -> None:
        """The worker calls put() without records."""
        self.now += seconds
        self.task.put([])

    def write(self, *partitions: TopicPartition) -> None:
        """Has a batch written, with a record of each partition."""
        for tp in partitions:
            self.put(tp, ROW)
        self.pass_time(10)
        self.session.take("write")

    def pre_commit(self, *partitions: TopicPartition) -> Mapping[TopicPartition, int]:
        return self.task.pre_commit({tp: self.positions[tp] for tp in partitions or (ZERO, ONE)})

    def operations(self) -> Sequence[str]:
        """The requests that have not been answered."""
        return [request["op"] for request, _ in self.session.requests]
