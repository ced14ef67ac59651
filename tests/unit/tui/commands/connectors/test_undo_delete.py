"""`undo delete` on a cluster in memory that keeps no history, as Apache's."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.config.history_files import ConfigHistoryFiles
from tui.contexts.profiles import Profile
from tui.errors import NotFound
from tui.user_folders import state_folder

Json = Any
OFFSET = {"partition": {"filename": "/in"}, "offset": {"position": 14}}
STATES = {"stop": "STOPPED", "pause": "PAUSED", "resume": "RUNNING"}


class OneConnector(InMemory):
    """The connector `a`. `loses`: whether offsets that are altered are lost."""

    def __init__(self) -> None:
        self.connector: Json = {"config": {"name": "a", "connector.class": "x.Y"}, "state": "RUNNING"}
        self.offsets = [OFFSET]
        self.loses = False

    async def send(self, call: ApiCall) -> Json:
        return copy.deepcopy(self._answer(call))

    def _answer(self, call: ApiCall) -> Json:
        path, method = call.path.partition("?")[0], call.method
        if path == "/":
            return {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"}
        if path == "/connectors" and method == "POST":
            self.connector = {"config": call.body["config"], "state": call.body["initial_state"]}
            return {}
        if path.endswith("/validate"):
            return {"name": "x", "error_count": 0, "configs": []}
        if path == "/connectors":
            status = self.connector and {"a": {"status": self._status(), "info": self._info()}}
            return status or {} if "?" in call.path else list(status or ())
        if not self.connector or path.endswith("/history"):
            raise NotFound("HTTP 404", 404)
        part = path.removeprefix("/connectors/a").strip("/")
        if part in STATES:
            self.connector["state"] = STATES[part]
        elif part == "offsets" and method != "GET":
            self.offsets = [] if method == "DELETE" or self.loses else call.body["offsets"]
            return {"message": "The offsets for this connector have been altered successfully"}
        elif method == "DELETE":
            self.connector = None
        results = {"status": self._status, "offsets": lambda: {"offsets": self.offsets}, "": self._info}
        return results[part]() if part in results and self.connector else self.connector and self.connector["config"]

    @property
    def state(self) -> str:
        """The state of the connector, which exists."""
        return str(self.connector["state"])

    def _status(self) -> Json:
        state = self.connector["state"]
        tasks = [] if state == "STOPPED" else [{"id": 0, "state": state, "worker_id": "w:1"}]
        return {"name": "a", "connector": {"state": state, "worker_id": "w:1"}, "tasks": tasks, "type": "source"}

    def _info(self) -> Json:
        return {"name": "a", "config": self.connector["config"], "tasks": [], "type": "source"}


@pytest.mark.parametrize("loses", [False, True])
def test_a_connector_runs_only_with_its_offsets(own_folders: Path, loses: bool) -> None:
    cluster = OneConnector()
    profile = Profile("http://memory:8083", "memory")
    kept = ConfigHistoryFiles(state_folder(os.environ), profile.label)
    kept.add("a", cluster.connector["config"], None, "RUNNING", "", "")
    run_command("delete a --with-offsets -y", Connect(cluster), profile)
    assert cluster.connector is None and cluster.offsets == []
    cluster.loses = loses
    (outcome,) = run_command("undo delete a -y", Connect(cluster), profile).outcomes
    assert outcome.failed is loses
    assert cluster.state == ("STOPPED" if loses else "RUNNING")
    if loses:
        assert outcome.message == "created STOPPED, but after reading back, 1 of 1 offsets differ"
    else:
        assert cluster.offsets == [OFFSET]
