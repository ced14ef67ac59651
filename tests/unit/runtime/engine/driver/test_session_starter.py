"""The starter of the Spark session's process: if it cannot start, the requests that wait for it fail."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from runtime.connectors.spark import session_client
from runtime.connectors.spark.session_client import SessionClient, SparkRequestError
from runtime.engine.driver.session_starter import SessionStarter, listen
from runtime.system import frames
from tests.support.engine.driver_settings import driver_settings
from tests.support.waiting import is_over


def test_a_session_that_cannot_start_fails_the_requests_that_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "spark1.sock", list[tuple[str, str]]()
    monkeypatch.setenv(session_client.SOCKET, str(path))
    local, left = tmp_path / "local", tmp_path / "local" / tmp_path.parent.name / "blockmgr-1"
    left.mkdir(parents=True)  # by a JVM that was killed
    conf = {"spark.driver.memory": "1", "spark.local.dir": str(local)}  # bytes, with which no JVM starts
    listener = listen(path, tmp_path / "spark.sock")
    SessionStarter(driver_settings(tmp_path), conf, listener, lambda *line: log.append(line), pause=0.01).start()
    client = SessionClient("test")
    with pytest.raises(SparkRequestError, match=r"could not be started \(exit code 1\): see the worker's log"):
        client.send(lambda: {"op": "check"}).result(60)
    client.close()
    assert log[0] == ("ERROR", "The Spark session of connectors could not be started (exit code 1)")
    assert not (tmp_path / "session").exists() and not list(local.iterdir())


def test_a_session_that_does_not_start_in_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, log = tmp_path / "spark1.sock", list[str]()
    monkeypatch.setenv(session_client.SOCKET, str(path))
    listener = listen(path, tmp_path / "spark.sock")
    SessionStarter(
        driver_settings(tmp_path), {}, listener, lambda level, text: log.append(text), start_limit=0.01, pause=0.01
    ).start()
    client = SessionClient("test")
    with pytest.raises(SparkRequestError, match=r"could not be started \(exit code -9\)"):
        client.send(lambda: {"op": "check"}).result(60)
    client.close()
    late = "The Spark session of connectors has not started within"
    assert log[::2] == [f"{late} {limit} s" for limit in (0.01, 0.02, 0.04)]


def test_a_process_that_cannot_be_run_fails_the_requests_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a full disk, or without room for another process."""
    path, folder = tmp_path / "spark1.sock", tmp_path / "missing"
    monkeypatch.setenv(session_client.SOCKET, str(path))
    listener, log = listen(path, tmp_path / "spark.sock"), list[str]()
    SessionStarter(driver_settings(folder), {}, listener, lambda level, text: log.append(text), pause=0.01).start()
    client = SessionClient("test")
    started = time.monotonic()
    while len(log) < 4:  # one more start than the first refusal needs
        with pytest.raises(SparkRequestError, match=r"could not be started \(.*No such file or directory"):
            client.send(lambda: {"op": "check"}).result(60)
        assert len(log) >= 3, "requests wait for three starts"
        assert not is_over(started, 60), "the process is not started again"
    client.close()


def test_at_the_limit_of_threads_requests_fail_and_the_process_is_tried_again(tmp_path: Path) -> None:
    path, log = tmp_path / "spark1.sock", list[str]()
    conf = {"spark.driver.memory": "1"}  # bytes, with which no JVM starts
    listener = listen(path, tmp_path / "spark.sock")
    SessionStarter(driver_settings(tmp_path), conf, listener, lambda level, text: log.append(text), pause=0.01).start()
    usual = threading.stack_size(1 << 46)  # bytes, for which no machine has room
    try:
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as responses:
            connection.settimeout(60)
            connection.connect(str(path))
            connection.sendall(frames.encode({"op": "check"}))
            response = frames.read(responses)
    finally:
        threading.stack_size(usual)
    assert response is not None and "(can't start new thread): see the worker's log" in response[0]["error"]
    assert len(log) >= 3
