"""Differences that docs/differences.md describes."""

from __future__ import annotations

import re
from typing import Any

from tests.contract.parity.comparison import is_better
from tests.contract.parity.recorder import Step
from tests.soak.sequences.side import State

_ODD_IN_PATH = re.compile(r"%2[5F]|%5C|/%2E|%3B|;", re.IGNORECASE)


def is_known(theirs: Step, ours: Step) -> bool:
    """Whether the two responses may differ."""
    before, now = theirs["status"], ours["status"]
    if before == 400 and now == 404 and "//" in theirs["path"]:
        return True
    if is_better(theirs, ours) or (before == 400 and _ODD_IN_PATH.search(theirs["path"]) and now < 500):
        return True
    if now == 404 and before in (400, 500) and "/connectors/" in theirs["path"]:
        return True  # the connector does not exist: 404 before the body is read
    if before == 500 and now == 201 and "{x}" in str(theirs.get("request_raw")):
        return True
    if before == 409 and now == 404 and theirs["path"].endswith("/restart"):
        return True  # a task that the connector had before it was stopped
    if before == 500 and now == 204 and theirs["path"].endswith("/restart"):
        return True  # a task that cannot be built
    return before == 500 and now == 200 and str(theirs["path"]).endswith("/offsets")  # a connector that cannot start


def without_known(theirs: State, ours: State) -> tuple[State, State]:
    """Both states without the resources that only Headrace can show."""
    hidden = [
        (name, part)
        for name, connector in _connectors(theirs)
        for part, body in connector.items()
        if body in ("<not JSON>", {"status code": 400}, {"status code": 500})
    ]
    return _without(theirs, hidden), _without(ours, hidden)


def without_records(state: State) -> State:
    """The state without what depends on when a task was stopped or paused: a burst may do that before or after its
    records, and before or after a start that fails."""
    connectors = {}
    for name, connector in _connectors(state):
        kept = {part: body for part, body in connector.items() if part not in ("offsets", "topics")}
        status = kept.get("status")
        if status is not None and status["connector"]["state"] == "PAUSED":
            kept["status"] = {**status, "tasks": len(status["tasks"])}
        connectors[name] = kept
    return {"connectors": connectors}


def _connectors(state: State) -> list[tuple[str, dict[str, Any]]]:
    return list(state["connectors"].items())


def _without(state: State, hidden: list[tuple[str, str]]) -> State:
    connectors = {
        name: {part: body for part, body in connector.items() if (name, part) not in hidden}
        for name, connector in _connectors(state)
    }
    return {**state, "connectors": connectors}
