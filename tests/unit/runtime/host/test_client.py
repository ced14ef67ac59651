"""The plugin host's process: plugins that raise, print, hang and kill, and the reports to the worker."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.host.client import PING_TIMEOUT, STOP_TIMEOUT, PluginHostClient
from runtime.host.port import ConnectorInfo, HostError
from runtime.host.settings import HostSettings
from runtime.system.frames import MAX_FRAME
from runtime.system.scheduling import Delay
from tests.support.engine.starvation import Starved
from tests.support.herder.recording_listener import Offset, RecordingListener
from tests.support.processes import freeze
from tests.support.waiting import soon, until, wait_until

PLUGINS = '''
import gc, logging, os, sys, threading, time
from runtime.api.connector import SinkConnector, SourceConnector
from runtime.api.errors import ConfigError, ConnectError, UnsupportedOffsetsError
from runtime.api.task import SinkTask, SourceTask

class Task(SourceTask):
    def start(self, config): pass
    def poll(self): return []

class OddConnector(SourceConnector):
    """Does in each method what its config says under the method's name."""
    task_class = Task
    def _act(self, method, config=None):
        self.config = dict(config or self.config)
        match self.config.get(method):
            case "raise": raise ConnectError(f"{method} fails as configured")
            case "config": raise ConfigError("bad key")
            case "unsupported": raise UnsupportedOffsetsError("never")
            case "exit": sys.exit(3)
            case "die": os._exit(7)
            case "hang": threading.Event().wait()
            case "gate":
                while not os.path.exists(self.config["gate"]): time.sleep(0.01)
                if self.config.get("late"): self.context.raise_error(ConnectError("too late"))
            case "hog":
                while True: pass
            case "log": logging.getLogger("odd").info("%d lines", "no")
            case "threads": threading.stack_size(1 << 46)  # bytes, for which no machine has room
            case "lie": next(o for o in gc.get_objects() if type(o).__name__ == "Replies").send({"result": 1})
            case "print": print("hello from", method); os.write(1, b"and from the descriptor\\n"); sys.stdin.read()
            case "wrong": return "wrong"
            case "read":
                found = self.context.offsets.offsets([{"p": 7}, {"p": 0}])
                assert found == [{"of": "odd", "n": 7}, None], found
                assert self.context.offsets.offset({"p": 8}) == {"of": "odd", "n": 8}
            case "read unknown": self.context.offsets.offset({"p": -1})
    def validate(self, config):
        self._act("validate", config)
        return super().validate(config)
    def start(self, config): self._act("start", config)
    def stop(self):
        self._act("stop")
        if "mark" in self.config: open(self.config["mark"], "a").write("stopped\\n")
    def task_configs(self, max_tasks):
        if self._act("task_configs") == "wrong": return [{"n": 1}]
        if self.config.get("ask"): self.context.request_task_reconfiguration()
        if self.config.get("fail"): self.context.raise_error(ConnectError("lost the system"))
        return [{"n": str(n)} for n in range(max_tasks)]
    def alter_offsets(self, config, offsets):
        self._act("alter_offsets", config)
        return bool(offsets)

class BareSink(SinkConnector):
    def start(self, config): self.config = config
    def task_configs(self, max_tasks): return [{}] * max_tasks
    def alter_offsets(self, config, offsets): return offsets == {("t", 0): 5, ("t", 1): None}
    class Put(SinkTask):
        def start(self, config): pass
        def put(self, records): pass
    task_class = Put
'''


def committed(connector: str, partition: str) -> dict[str, Any] | None:
    number = json.loads(partition)["p"]
    if number < 0:
        raise ConnectionError("Kafka does not answer")
    return {"of": connector, "n": number} if number else None


Start = Callable[..., Awaitable[tuple[PluginHostClient, RecordingListener]]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    (tmp_path / "odd_plugins.py").write_text(PLUGINS)
    hosts: list[PluginHostClient] = []

    async def start(
        answer_within: float = 10.0,
        ping_within: float = PING_TIMEOUT,
        stop_within: float = STOP_TIMEOUT,
        delay: type[Delay] = Delay,
        listener: RecordingListener | None = None,
    ) -> tuple[PluginHostClient, RecordingListener]:
        heard = listener or RecordingListener(committed)
        settings = HostSettings(plugin_path=(str(tmp_path),))
        host = PluginHostClient(
            replace(settings, call_timeout=answer_within),
            heard,
            ping_timeout=ping_within,
            stop_timeout=stop_within,
            delay=delay,
        )
        hosts.append(host)
        await host.start()
        return host, heard

    yield start
    for host in hosts:
        await host.close()


def odd(**config: str) -> dict[str, str]:
    return {"connector.class": "odd_plugins.OddConnector", "name": "odd", **config}


async def test_a_plugin_in_a_folder(start: Start) -> None:
    host, _ = await start()
    assert {"class": "odd_plugins.OddConnector", "type": "source", "version": "4.3.0"} in await host.plugins(True)
    assert await host.resolve("Odd") == ConnectorInfo(
        "odd_plugins.OddConnector", "source", "4.3.0", "odd_plugins.Task", "odd_plugins:Task"
    )
    await host.start_connector("odd", odd())
    assert await host.task_configs("odd", 2) == [
        {"n": "0", "task.class": "odd_plugins.Task"},
        {"n": "1", "task.class": "odd_plugins.Task"},
    ]


async def test_a_source_connector_reads_committed_offsets(start: Start) -> None:
    host, _ = await start()
    await host.start_connector("odd", odd(start="read"))
    with pytest.raises(HostError, match="committed offsets could not be read: Kafka does not answer"):
        await host.start_connector("odd", odd(start="read unknown"))


class HeldOffsets(RecordingListener):
    """Answers a request for offsets when its future has the response."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[asyncio.Future[list[Offset]]] = []

    async def connector_offsets(self, connector: str, partitions: Sequence[str]) -> list[Offset]:
        self.requests.append(asyncio.get_running_loop().create_future())
        return await self.requests[-1]


async def test_offsets_that_a_former_process_has_asked_for_are_not_those_of_its_successor(start: Start) -> None:
    """Each process numbers its requests from the start."""
    held = HeldOffsets()
    host, _ = await start(listener=held)
    first = asyncio.create_task(host.start_connector("odd", odd(start="read")))
    await until(lambda: held.requests)
    assert host.pid is not None
    os.kill(host.pid, signal.SIGKILL)
    with pytest.raises(HostError, match="signal 9"):
        await first
    second = asyncio.create_task(host.start_connector("odd", odd(start="read")))
    await until(lambda: len(held.requests) == 2)
    held.requests[0].set_result([{"of": "the former process"}] * 2)
    await host.resolve("Odd")  # behind that response
    held.requests[1].set_result([{"of": "odd", "n": 7}, None])
    await until(lambda: len(held.requests) == 3)
    held.requests[2].set_result([{"of": "odd", "n": 8}])
    await second


async def test_offsets_that_are_too_large_for_a_message_are_an_error_of_the_connector(start: Start) -> None:
    large = RecordingListener(lambda connector, partition: {"text": "x" * MAX_FRAME})
    host, _ = await start(listener=large)
    with pytest.raises(HostError, match=r"committed offsets could not be read: a frame of .* is longer than"):
        await host.start_connector("odd", odd(start="read"))


async def test_a_process_that_sends_an_invalid_message_is_replaced(start: Start) -> None:
    host, _ = await start()
    with pytest.raises(HostError, match="it sent an invalid message"):
        await host.start_connector("odd", odd(start="lie"))
    assert (await host.resolve("Odd")).type == "source"


async def test_at_the_limit_of_threads_the_process_keeps_its_connectors(start: Start) -> None:
    host, heard = await start()
    await host.start_connector("odd", odd(start="threads"))
    assert len(await host.task_configs("odd", 1)) == 1
    assert not heard.lost


async def test_a_line_with_other_arguments_than_its_format_is_not_an_error(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """As in logging."""
    caplog.set_level(logging.INFO)
    host, _ = await start()
    await host.start_connector("odd", odd(start="log"))
    await until(lambda: "Message: '%d lines'" in caplog.text)


async def test_sinks_get_their_topics_from_the_runtime(start: Start) -> None:
    host, _ = await start()
    config = {"connector.class": "BareSink", "name": "bare", "topics": "a, b"}
    await host.start_connector("bare", config)
    assert await host.task_configs("bare", 1) == [{"task.class": "odd_plugins.BareSink.Put", "topics": "a, b"}]
    assert (await host.resolve("BareSink")).task_target == "odd_plugins:BareSink.Put"
    assert await host.alter_sink_offsets(config, [("t", 0, 5), ("t", 1, None)]) is True
    assert await host.alter_sink_offsets(config, []) is False


async def test_errors_are_returned_with_their_traces(start: Start) -> None:
    host, _ = await start()
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "validate": lambda: host.validate(odd(validate="raise")),
        "start": lambda: host.start_connector("odd", odd(start="raise")),
        "alter_offsets": lambda: host.alter_source_offsets(odd(alter_offsets="raise"), []),
    }
    for method, call in calls.items():
        with pytest.raises(HostError) as raised:
            await call()
        assert (raised.value.kind, raised.value.message) == ("connect", f"{method} fails as configured")
        assert raised.value.trace.startswith("org.apache.kafka.connect.errors.ConnectException: ")
        assert "odd_plugins.py" in raised.value.trace
    await host.start_connector("odd", odd(task_configs="raise"))
    with pytest.raises(HostError, match="task_configs fails as configured"):
        await host.task_configs("odd", 1)


@pytest.mark.parametrize(("act", "kind"), [("config", "config"), ("unsupported", "unsupported"), ("exit", "other")])
async def test_kinds_of_errors(start: Start, act: str, kind: str) -> None:
    host, _ = await start()
    with pytest.raises(HostError) as raised:
        await host.alter_source_offsets(odd(alter_offsets=act), [])
    assert raised.value.kind == kind


async def test_task_configs_that_are_not_text(start: Start) -> None:
    host, _ = await start()
    await host.start_connector("odd", odd(task_configs="wrong"))
    with pytest.raises(HostError, match="'n': 1"):
        await host.task_configs("odd", 1)


async def test_a_connector_whose_stop_fails_is_removed(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    host, heard = await start()
    await host.start_connector("odd", odd(stop="raise"))
    await host.stop_connector("odd")
    with pytest.raises(HostError, match="not started"):
        await host.task_configs("odd", 1)
    assert "stop fails as configured" in caplog.text
    assert not heard.failed
    assert not heard.lost


async def test_printing_does_not_disturb_answers(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    host, _ = await start()
    await host.start_connector("odd", odd(start="print"))
    assert len(await host.task_configs("odd", 1)) == 1
    await host.close()
    assert "hello from start" in caplog.text
    assert "and from the descriptor" in caplog.text


async def test_requests_of_connectors_reach_the_worker(start: Start) -> None:
    host, heard = await start()
    await host.start_connector("odd", odd(ask="1", fail="1"))
    await host.task_configs("odd", 1)
    await heard.until(lambda: bool(heard.reconfigured and heard.failed))
    assert heard.reconfigured == ["odd"]
    assert heard.failed["odd"].startswith("org.apache.kafka.connect.errors.ConnectException: lost the system")


async def test_starting_again_stops_the_first_instance(start: Start, tmp_path: Path) -> None:
    host, _ = await start()
    mark = tmp_path / "mark"
    await host.start_connector("odd", odd(mark=str(mark)))
    await host.start_connector("odd", odd(mark=str(mark)))
    assert mark.read_text() == "stopped\n"
    await host.close()
    assert mark.read_text() == "stopped\nstopped\n"


async def test_a_killed_host_is_restarted(start: Start) -> None:
    host, heard = await start()
    await host.start_connector("odd", odd())
    before = host.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    await heard.until(lambda: "odd" in heard.lost)
    assert heard.lost["odd"] == "signal 9"
    assert (await host.resolve("Odd")).type == "source"
    assert host.pid != before
    await host.start_connector("odd", odd())
    assert len(await host.task_configs("odd", 1)) == 1


async def test_a_plugin_that_ends_the_process(start: Start) -> None:
    host, heard = await start()
    await host.start_connector("other", odd())
    with pytest.raises(HostError, match="exit code 7") as raised:
        await host.start_connector("odd", odd(start="die"))
    assert raised.value.kind == "host"
    await heard.until(lambda: "other" in heard.lost)
    assert set(heard.lost) == {"other"}


_VALIDATES = "The worker is currently performing multi-property validation for the connector"
"""Connect's words."""


@pytest.mark.parametrize("act", ["hang", "hog"])
async def test_a_plugin_that_does_not_answer(start: Start, act: str) -> None:
    host, heard = await start(answer_within=2.0)
    await host.start_connector("other", odd())
    hanging = asyncio.create_task(host.validate(odd(validate=act)))
    if act == "hang":
        for _ in range(20):
            assert await host.validate(odd())  # other calls are served meanwhile
    with pytest.raises(
        TimeoutError,
        match=rf"^Request timed out\. {_VALIDATES}, which began at .+Z: validate got no response within 2 s",
    ):
        await hanging
    await heard.until(lambda: "other" in heard.lost)
    assert await host.validate(odd())


async def test_a_host_without_a_processor_has_more_time(start: Start, tmp_path: Path) -> None:
    """Ending it would make the next call even later: validations failed one after another."""
    host, heard = await start(delay=Starved)
    await host.start_connector("other", odd())
    host.call_timeout, before, gate = 0.4, host.pid, tmp_path / "gate"
    slow = asyncio.create_task(host.validate(odd(validate="gate", gate=str(gate))))
    await asyncio.wait({slow}, timeout=1.2)  # three times the limit
    gate.touch()
    assert (await slow)["error_count"] == 0
    assert (host.pid, heard.lost) == (before, {})


async def test_stopping_never_raises(start: Start) -> None:
    host, heard = await start(stop_within=0.2)
    await host.start_connector("odd", odd(stop="hang"))
    await host.stop_connector("odd")
    assert await host.plugins(True)
    assert not heard.failed
    assert not heard.lost


async def test_a_slow_start_does_not_end_the_host(start: Start, tmp_path: Path) -> None:
    host, heard = await start()
    gate = tmp_path / "gate"
    await host.start_connector("other", odd())
    host.call_timeout = 0.3
    slow = asyncio.create_task(host.start_connector("odd", odd(start="gate", gate=str(gate))))
    before = host.pid
    await asyncio.wait({slow}, timeout=1.0)  # three times the limit of other calls
    assert not slow.done()
    assert len(await host.task_configs("other", 1)) == 1
    gate.touch()
    await slow
    assert len(await host.task_configs("odd", 2)) == 2
    assert (host.pid, heard.lost) == (before, {})


async def test_slow_task_configs_do_not_end_the_host(start: Start, tmp_path: Path) -> None:
    host, heard = await start()
    gate = tmp_path / "gate"
    await host.start_connector("odd", odd(task_configs="gate", gate=str(gate)))
    host.call_timeout = 0.3
    slow = asyncio.create_task(host.task_configs("odd", 1))
    await asyncio.wait({slow}, timeout=1.0)
    gate.touch()
    assert len(await slow) == 1
    assert not heard.lost


async def test_a_connector_that_does_not_start_can_be_stopped_and_started_again(start: Start, tmp_path: Path) -> None:
    host, heard = await start(stop_within=0.2)
    await host.plugins(True)
    gate, mark = tmp_path / "gate", tmp_path / "mark"
    slow = asyncio.create_task(host.start_connector("odd", odd(start="gate", gate=str(gate), mark=str(mark))))
    await asyncio.wait({slow}, timeout=0.2)
    slow.cancel()
    await host.stop_connector("odd")
    await host.start_connector("odd", odd())
    assert len(await host.task_configs("odd", 1)) == 1
    gate.touch()  # the first instance finally starts and is stopped; the second one continues
    await asyncio.to_thread(wait_until, mark.exists, 10, "the mark of the first instance")
    assert len(await host.task_configs("odd", 1)) == 1
    assert not heard.lost


async def test_a_connector_that_does_not_stop_can_be_started_again(start: Start) -> None:
    host, heard = await start(stop_within=0.2)
    await host.start_connector("odd", odd(stop="hang"))
    before = host.pid
    await host.stop_connector("odd")
    await host.start_connector("odd", odd())
    assert len(await host.task_configs("odd", 1)) == 1
    assert (host.pid, heard.lost) == (before, {})


async def test_requests_of_an_abandoned_instance_are_ignored(start: Start, tmp_path: Path) -> None:
    host, heard = await start(stop_within=0.2)
    await host.plugins(True)
    gate, mark = tmp_path / "gate", tmp_path / "mark"
    config = odd(start="gate", gate=str(gate), mark=str(mark), late="1")
    slow = asyncio.create_task(host.start_connector("odd", config))
    await asyncio.wait({slow}, timeout=0.2)
    slow.cancel()
    await host.stop_connector("odd")
    gate.touch()
    await asyncio.to_thread(wait_until, mark.exists, 10, "the mark of the first instance")
    await host.plugins(True)
    assert not heard.failed


async def test_a_frozen_process_is_ended_and_no_plugin_is_reported(start: Start) -> None:
    host, heard = await start(ping_within=0.3)
    await host.start_connector("odd", odd())
    host.call_timeout = 0.3
    pid = host.pid
    assert pid is not None
    freeze(pid)
    with pytest.raises(HostError) as raised:
        await host.task_configs("odd", 1)
    assert raised.value.kind == "host"
    await heard.until(lambda: "odd" in heard.lost)
    host.call_timeout = 10.0
    await host.start_connector("odd", odd())


async def test_closing_leaves_no_process(start: Start) -> None:
    host, _ = await start()
    await host.start_connector("odd", odd(stop="hang"))
    pid = host.pid
    assert pid is not None
    began = time.monotonic()
    await host.close()
    assert time.monotonic() - began < soon(5)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(HostError, match="closed"):
        await host.plugins(True)


async def test_the_host_ignores_interrupts_of_the_terminal(start: Start) -> None:
    host, _ = await start()
    await host.plugins(True)
    pid = host.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert await host.plugins(True)
    assert host.pid == pid


async def test_first_answer_and_round_trip_are_quick(start: Start) -> None:
    began = time.perf_counter()
    host, _ = await start()
    await host.plugins(True)
    first = time.perf_counter() - began
    config = {"connector.class": "FileStreamSource", "name": "a", "topic": "t"}
    await host.validate(config)
    times = []
    for _ in range(20):
        began = time.perf_counter()
        await host.validate(config)
        times.append(time.perf_counter() - began)
    print(f"host: first answer {first * 1000:.0f} ms, validate {sorted(times)[10] * 1000:.1f} ms")
    assert first < soon(1.5)
    assert sorted(times)[10] < soon(0.05)


async def test_configurations_and_offsets_are_passed_unchanged(start: Start) -> None:
    """Unpaired surrogates and integers beyond 64 bits, from other writers of the topics."""
    host, _ = await start()
    await host.start_connector("c", odd(file="\ud83d"))
    assert await host.task_configs("c", 1) == [{"n": "0", "task.class": "odd_plugins.Task"}]
    assert await host.alter_source_offsets(odd(), [({"f": "\ud83d"}, {"position": 2**64})])


async def test_output_of_plugins_is_scrubbed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "odd_plugins.py").write_text(PLUGINS)
    host = PluginHostClient(
        HostSettings(plugin_path=(str(tmp_path),)),
        RecordingListener(committed),
        scrub=lambda text: text.replace("hello", "[hidden]"),
    )
    await host.start()
    try:
        await host.validate(odd(validate="print"))
    finally:
        await host.close()
    assert "[hidden] from validate" in caplog.text
    assert "hello from" not in caplog.text
