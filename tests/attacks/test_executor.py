"""A hostile executor of a Spark cluster: a scripted slot, which has the token of one start, sends what it likes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from runtime.api.errors import ConnectError
from runtime.config.secret_values import Secrets
from runtime.engine.driver.session.server import SessionCaller, SessionServer
from runtime.engine.driver.session_starter import listen
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.checks import check_from_slot
from runtime.engine.protocol.messages import VERSION
from runtime.herder.status.error_board import MAX_SHOWN, MAX_TEXT
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.formats import compact
from runtime.logs.formats import CUT_MARK, MAX_LINE, MAX_TRACE, TextFormat
from runtime.logs.limited import log_line
from runtime.logs.lines import ConnectorLines
from runtime.model.states import State, TaskId
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.meter import Meter
from runtime.storage.statuses import StatusStore
from runtime.system import frames
from runtime.system.tls_socket import TlsSocket
from tests.support.engine.engine_rig import ROOT
from tests.support.engine.slot_port import Port, opened_port, read
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.kafka.stores import MakeStores
from tests.support.waiting import until, wait_until

RUN = {"connector": "c", "task": 0, "epoch": 1}
METER = Meter().snapshot()
COUNTS = Counts().snapshot()
LARGE = 4 << 20


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[Port]:
    async with opened_port(tmp_path) as port:
        yield port


def frame(body: bytes, exact: bool = False) -> bytes:
    return (len(body) | exact << 31).to_bytes(4, "big") + body


def alive(**changes: object) -> dict[str, object]:
    return {"op": "alive", "memory": 1, "java_memory": 0, "java_heap": 0, **changes}


def meters(**changes: object) -> dict[str, object]:
    return {"op": "meters", "tasks": [{"op": "meter", **RUN, "meter": {**METER, **changes}}]}


def errors(**changes: object) -> dict[str, object]:
    return {"op": "errors", **RUN, "counts": {**COUNTS, **changes}}


def state(name: object, **changes: object) -> dict[str, object]:
    return {"op": "state", **RUN, "state": name, "trace": None, "client_failed": False, **changes}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (alive(memory="much"), "message alive has no valid memory"),
        (alive(java_heap=1 << 70), "message alive has no valid java_heap"),
        (alive(memory=True), "message alive has no valid memory"),
        ({"op": "alive", "memory": 1}, "message alive has no valid java_memory, java_heap"),
        (meters(read="all"), "message meters has no valid tasks"),
        (meters(plugins=[["name", {"a": 1}, 1.0, "text"]]), "message meters has no valid tasks"),
        ({"op": "meters", "tasks": [{"op": "meter", **RUN, "meter": {}}]}, "message meters has no valid tasks"),
        (errors(total={"failed": None}), "message errors has no valid counts"),
        (errors(last=[{"message": "x"}]), "message errors has no valid counts"),
        (state("HACKED"), "message state has no valid state"),
        (state(["RUNNING"]), "message state has no valid state"),
        (state("RUNNING", trace={"a": 1}), "message state has no valid trace"),
        (state("RUNNING", connector=["c"]), "message state has no valid connector"),
        ({"op": "offsets", **RUN, "number": 1, "records": [["key"]]}, "message offsets has no valid records"),
        ({"op": "confirm_start", **RUN, "number": {}}, "message confirm_start has no valid number"),
        ({"op": "stuck", **RUN, "call": "poll", "seconds": "long"}, "message stuck has no valid seconds"),
        ({"op": "log", "level": 1, "logger": "x", "message": "x", "context": ""}, "message log has no valid level"),
        ({"op": ["alive"]}, "a message has no op"),
        ({}, "a message has no op"),
    ],
)  # fmt: skip
async def test_a_message_of_wrong_types_ends_its_slot_and_no_other(
    message: Mapping[str, object], reason: str, port: Port, caplog: pytest.LogCaptureFixture
) -> None:
    await _ends_its_slot(port, encode(message), reason, caplog)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (frame(b"[]"), "a frame is not a JSON object"),
        (frame(b"\x80\x04K\x01."), "a frame is not JSON"),  # a pickle
        (frame(b'{"op":' * 100_000, exact=True), "a frame is not JSON"),
        (frame(b'{"op":' + b"9" * 10_000 + b"}", exact=True), "a frame is not JSON"),
        (frame(b'{"op":[' + b"[]," * 2_000_001 + b"[]]}"), "a frame has more than 2,000,000 values"),
        ((1 << 30).to_bytes(4, "big"), "a frame of 1073741824 bytes is longer than the 67108864 bytes allowed"),
    ],
    ids=["list", "pickle", "deep", "digits", "brackets", "gigabyte"],
)  # fmt: skip
async def test_a_frame_that_is_no_message_ends_its_slot_and_no_other(
    data: bytes, reason: str, port: Port, caplog: pytest.LogCaptureFixture
) -> None:
    await _ends_its_slot(port, data, reason, caplog)


async def _ends_its_slot(port: Port, data: bytes, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    hostile, other = await port.slot(), await port.slot(slot=1)
    try:
        await asyncio.to_thread(hostile.sendall, data)
        assert await read(hostile) is None
        await until(lambda: port.listener.down)
        assert [link.slot for link in port.listener.down] == [0] and not port.listener.messages
        assert "Slot 0 is ended, since it has sent an invalid message" in caplog.text and reason in caplog.text
        assert "Traceback" not in caplog.text
        await asyncio.to_thread(other.sendall, encode(alive()))
        await until(lambda: port.listener.messages)
    finally:
        hostile.close()
        other.close()


async def test_messages_of_later_versions_are_still_ignored(port: Port) -> None:
    connection = await port.slot()
    await asyncio.to_thread(connection.sendall, encode({"op": "news"}) + encode(alive(later=1)))
    await until(lambda: len(port.listener.messages) == 2)
    assert not port.listener.down
    connection.close()


@pytest.mark.parametrize("change", [{"slot": 1e400}, {"slot": "0"}, {"kind": "admin"}, {"room": "x"}, {"pid": []}])
async def test_a_hello_of_wrong_types_is_refused(
    change: Mapping[str, Any], port: Port, caplog: pytest.LogCaptureFixture
) -> None:
    hello = {
        "op": "hello", "version": VERSION, "kind": "slot", "generation": 1, "slot": 0, "attempt": 1,
        "token": port.caller().token, "room": None, "pid": 1, "host": "x", **change,
    }  # fmt: skip
    connection = TlsSocket(port.access.host, port.access.port, port.access.fingerprint, 5.0)
    await asyncio.to_thread(connection.sendall, frames.encode_exact(hello))
    assert await read(connection) is None
    connection.close()
    assert not port.listener.up and "Traceback" not in caplog.text
    (await port.slot()).close()


async def test_a_flood_of_large_messages_waits_for_the_worker(port: Port) -> None:
    """Otherwise 64 messages of 64 MB would wait in the worker's memory."""
    connection, sent = await port.slot(), list[int]()
    data = encode({"op": "log", "level": "INFO", "logger": "x", "message": "x" * LARGE, "context": ""})

    def flood() -> None:
        for number in range(16):
            connection.sendall(data)
            sent.append(number)

    thread = threading.Thread(target=flood)
    thread.start()
    time.sleep(1.5)  # noqa: ASYNC251 - the worker's event loop, which is that of this test, is busy
    assert len(sent) < 8
    await until(lambda: len(port.listener.messages) == 16)
    await asyncio.to_thread(thread.join)
    connection.close()


@pytest.fixture
def session(tmp_path: Path) -> socket.socket:
    """A connection of the executor to the driver's Spark session; `tmp_path` has the files of rows."""

    class Service:
        def execute(self, caller: SessionCaller, request: Mapping[str, Any]) -> Any:
            return "executed"

        def must_complete(self, request: Mapping[str, Any]) -> bool:
            return False

        def cancel(self, group: str) -> None:
            """Nothing runs."""

        def release(self, connection: str) -> None:
            """Nothing is kept."""

    path = tmp_path / "session.sock"
    listener = listen(path, tmp_path / "link.sock")
    SessionServer(listener, os.getpid(), tmp_path, Service(), 1, descends=lambda pid, ancestor: True).start()
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(str(path))
    return connection


UPLOAD = {"op": "upload", "file": "rows", "size": 3}


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ([UPLOAD | {"size": 1 << 40}], "a file of 1099511627776 bytes; 1,073,741,824 are allowed"),
        ([UPLOAD | {"size": -1}], "a file of -1 bytes"),
        ([UPLOAD, b"abc", UPLOAD | {"size": (1 << 30) - 2}], "1,073,741,821 are allowed"),
        ([UPLOAD | {"size": "3"}], "a file of 3 bytes"),
        ([UPLOAD | {"file": None}, b"abc", {"op": "write", "files": 5}], "not iterable"),
        ([["upload"]], "has no attribute"),
        ([{"op": "download"}], "'file'"),
        ([[[]] * 2_000_001], "more than 2,000,000 values"),
    ],
    ids=["terabyte", "negative", "together", "text", "types", "list", "missing", "brackets"],
)  # fmt: skip
def test_an_upload_without_limit_ends_its_connection(
    requests: list[Any], reason: str, session: socket.socket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a file without limit the driver would write until the disk is full, or read until its memory is."""
    for request in requests:
        session.sendall(request if isinstance(request, bytes) else frames.encode(request))
    with contextlib.suppress(ConnectionResetError):
        while session.recv(4096):  # the responses to what was valid
            pass
    wait_until(lambda: "has sent an invalid request" in caplog.text and reason in caplog.text)
    assert {file.name for file in tmp_path.iterdir()} == {"session.sock", "link.sock"}
    session.close()


async def test_log_lines_of_a_slot_are_cut(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    """Lines, loggers and contexts of any size, and secrets at the end of what is shown."""
    connection = await port.slot()
    caplog.set_level(logging.INFO)
    secrets = Secrets()
    secrets.keep("c", ["S3cretOfC"])
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.setFormatter(TextFormat(secrets.scrub))
    kept = ConnectorLines(secrets.scrub_of)
    message = "x" * (MAX_LINE - 5) + "S3cretOfC" + "y" * LARGE
    for name in ("a" * LARGE, "b" * LARGE):
        line = {"op": "log", "level": "W" * LARGE, "logger": name, "message": message, "context": "[c|task-0]"}
        await asyncio.to_thread(connection.sendall, encode(line))
    await until(lambda: len(port.listener.messages) == 2)
    loggers = len(logging.root.manager.loggerDict)
    logging.root.addHandler(handler)
    logging.root.addHandler(kept)
    try:
        for sent in [cast("Any", message) for message in port.listener.messages]:
            log_line(sent["level"], sent["logger"], sent["message"], sent["context"])
    finally:
        logging.root.removeHandler(handler)
        logging.root.removeHandler(kept)
    lines = shown.getvalue().splitlines()
    assert [len(line) for line in lines] == [MAX_LINE + len(CUT_MARK)] * 2
    assert all(line.endswith(CUT_MARK) for line in lines) and "S3cret" not in shown.getvalue()
    assert all(str(line["message"]).endswith(CUT_MARK) for line in kept.last("c", 10))
    assert len(logging.root.manager.loggerDict) - loggers == 2
    assert all(len(name) <= 1000 for name in logging.root.manager.loggerDict)
    connection.close()


def test_loggers_of_slots_do_not_fill_the_memory() -> None:
    """Python keeps a logger for each name that is ever used."""
    known = len(logging.root.manager.loggerDict)
    for number in range(100):
        log_line("DEBUG", f"hostile{number}", "x", "", most_loggers=known + 3)
    assert len(logging.root.manager.loggerDict) == known + 3


async def test_traces_and_errors_of_a_slot_are_cut() -> None:
    """A status that is larger than the brokers accept would never be stored, and the task never be FAILED."""
    secrets = Secrets()
    secrets.keep("c", ["S3cretOfC"])
    store = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(store, EventLog(), "w:1", secrets, lambda name: None)
    trace = "\0" * (MAX_TRACE // 2 - 5) + "S3cretOfC" + "\0" * (8 << 20) + "\nCaused by: java.lang.Error: why"
    board.task(TaskId("c", 0), State.FAILED, None, trace)
    stored = store.task_statuses("c")[0].trace
    assert stored is not None and len(compact({"trace": stored})) < 900_000 and "S3cret" not in stored
    assert CUT_MARK in stored and stored.endswith("Caused by: java.lang.Error: why")
    error = {"time": 1, "stage": "TASK_PUT", "class": "x", "exception": "x"}
    text = "x" * (MAX_TEXT - 5) + "S3cretOfC" + "y" * LARGE
    long = error | dict.fromkeys(("message", "cause", "source_partition", "source_offset"), text)
    board.errors.report(TaskId("c", 0), 1, {**COUNTS, "last": [long] * 1000})
    shown = board.errors.view("c")["last"]
    assert len(shown) == MAX_SHOWN and len(str(shown)) < 5 * MAX_TEXT * MAX_SHOWN and "S3cret" not in str(shown)


async def test_a_slot_cannot_commit_offsets_of_another_connector(stores: MakeStores) -> None:
    store = (await stores()).offsets
    await store.commit("mine", [(b'[ "mine",{"a":1}]', b'{"n":1}')])
    for key in (b'["other",{"a":1}]', b'{"mine":1}', b"mine"):
        with pytest.raises(ConnectError, match="A task of mine may not commit offsets of"):
            await store.commit("mine", [(b'["mine",{"a":1}]', b'{"n":2}'), (key, b'{"n":9}')])
    await store.read_to_end()
    assert [found.offset for found in store.offsets("mine")] == [{"n": 1}]
    assert not store.offsets("other")


def test_what_slots_send_is_valid() -> None:
    """The classes of messages agree with what the tasks count."""
    for message in (meters(), errors(), state(State.FAILED), state("RUNNING", trace="x")):
        check_from_slot(json.loads(json.dumps(message)))


_DRIVER = """
import sys
from pathlib import Path
from pyspark import SparkContext
from runtime.engine.driver.cluster import refuse_accumulators, run_to_end

class Bomb:
    def __init__(self, file):
        self.file = file
    def __reduce__(self):
        return Path.touch, (Path(self.file),)

def hostile(rows):
    "Sends pickles that write a file wherever they are unpickled, as results and as updates of an accumulator."
    import pyspark.accumulators, pyspark.worker, pyspark.cloudpickle
    folder = list(rows)[0]
    pyspark.accumulators._accumulatorRegistry[1] = pyspark.accumulators.Accumulator(1, Bomb(folder + "/update"), None)
    bomb = pyspark.cloudpickle.dumps([Bomb(folder + "/result")])
    pyspark.serializers.CPickleSerializer.dumps = lambda self, value: (
        pyspark.cloudpickle.dumps(value) if isinstance(value, tuple) else bomb)
    return [1]

context = SparkContext("local[1]", conf=None)
if sys.argv[2] == "guarded":
    refuse_accumulators(context)
    run_to_end(context.parallelize([sys.argv[1]], 1), hostile)
else:
    try:
        context.parallelize([sys.argv[1]], 1).foreachPartition(hostile)
    except Exception:
        pass  # the result is no number
context.stop()
"""


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("mode", "found"), [("guarded", []), ("naive", ["result", "update"])])
def test_the_driver_unpickles_nothing_that_an_executor_sends(mode: str, found: list[str], tmp_path: Path) -> None:
    """The second mode shows that the pickles work."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", _DRIVER, str(tmp_path), mode]
    driver = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert driver.returncode == 0, driver.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == found
