"""The JSON objects of the REST API, field by field in Connect's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.engine.port import TaskStack
from runtime.herder.responses import (
    InfoResponse,
    StackResponse,
    StateResponse,
    StatusResponse,
    TaskIdResponse,
    TaskResponse,
    TaskStatusResponse,
)
from runtime.storage.statuses import StatusRecord


def info(name: str, config: Mapping[str, str], tasks: int, kind: str) -> InfoResponse:
    """GET /connectors/{name}."""
    ids: list[TaskIdResponse] = [{"connector": name, "task": i} for i in range(tasks)]
    return {"name": name, "config": dict(config), "tasks": ids, "type": kind}


def tasks(name: str, configs: Sequence[Mapping[str, str]]) -> list[TaskResponse]:
    """GET /connectors/{name}/tasks."""
    return [{"id": {"connector": name, "task": i}, "config": dict(c)} for i, c in enumerate(configs)]


def status(name: str, connector: StatusRecord, tasks: Mapping[int, StatusRecord], kind: str) -> StatusResponse:
    """GET /connectors/{name}/status."""
    return {
        "name": name,
        "connector": _state(connector),
        "tasks": [task_status(i, tasks[i]) for i in sorted(tasks)],
        "type": kind,
    }


def task_status(task: int, status: StatusRecord) -> TaskStatusResponse:
    """GET /connectors/{name}/tasks/{task}/status."""
    return {"id": task, **_state(status)}


def _state(status: StatusRecord) -> StateResponse:
    state: StateResponse = {"state": status.state.value, "worker_id": status.worker_id, "version": status.version}
    return {**state, "trace": status.trace} if status.trace is not None else state


def task_stack(task: int, stack: TaskStack) -> StackResponse:
    """GET /connectors/{name}/tasks/{task}/stack. `call` is the connector's method that has been running for `seconds`;
    empty if the task is not in the connector's code."""
    lines = stack.stack.splitlines()
    response: StackResponse = {
        "id": task, "slot": stack.slot, "pid": stack.pid, "call": stack.call, "seconds": stack.seconds, "stack": lines
    }  # fmt: skip
    return {**response, "host": stack.host} if stack.host else response
