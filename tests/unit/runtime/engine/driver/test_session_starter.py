"""The starter of the Spark session's process: if it cannot start, the requests that wait for it fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.connectors.spark import session_client
from runtime.connectors.spark.session_client import SessionClient, SparkRequestError
from runtime.engine.driver.session_starter import SessionStarter, listen
from runtime.engine.protocol.settings import DriverSettings


def test_a_session_that_cannot_start_fails_the_requests_that_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "spark1.sock", list[tuple[str, str]]()
    monkeypatch.setenv(session_client.SOCKET, str(path))
    settings = DriverSettings(
        generation=1, slots=[], executors=[], master="local[2]", conf={}, folder=str(tmp_path),
        socket=str(tmp_path / "slots.sock"), lease_ttl=1, runner="", archive=False, java_heap=64, java_options=[],
        plugin_path=[], file_paths=[], record=False,
    )  # fmt: skip
    conf = {"spark.driver.memory": "1"}  # bytes, with which no JVM starts
    SessionStarter(settings, conf, listen(path, tmp_path / "spark.sock"), lambda *line: log.append(line)).start()
    for _ in range(2):
        client = SessionClient("test")
        with pytest.raises(SparkRequestError, match=r"could not be started \(exit code 1\): see the worker's log"):
            client.send(lambda: {"op": "check"}).result(60)
        client.close()
    assert log[0] == (
        "ERROR",
        "The Spark session of connectors has ended with exit code 1; the next request of a connector starts it again",
    )
    assert not (tmp_path / "session").exists()
