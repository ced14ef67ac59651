"""Java connectors in the plugin host: every call of the port, and every way in which their JVM can hang or end."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.host.environment_hosts import EnvironmentHosts
from runtime.host.port import HOST_DIED, HostError
from runtime.host.settings import HostSettings
from tests.support.herder.recording_listener import RecordingListener
from tests.support.java.host import probes
from tests.support.java.wild_connector import CLASS, wild_plugins, wild_plugins_of_two_versions
from tests.support.processes import children, freeze
from tests.support.waiting import soon

pytestmark = pytest.mark.slow

_LIMIT = 7
"""Seconds that a call may take: fewer than HostWatch's SILENCE_TIMEOUT, which would end a frozen JVM before."""

_STARTED = 120  # seconds that a host and its JVM may take to start
_PYTHON = {"connector.class": "FileStreamSource", "topic": "t", "file": "/dev/null", "name": "python"}


@pytest.fixture
def listener() -> RecordingListener:
    return RecordingListener(lambda connector, partition: {"at": 7})


@pytest.fixture
async def hosts(listener: RecordingListener) -> AsyncIterator[EnvironmentHosts]:
    settings = HostSettings((str(wild_plugins()),), java_heap=64)
    found = EnvironmentHosts(replace(settings, call_timeout=_LIMIT), listener)
    await found.start()
    try:
        await _start_jvm(found)
        listener.changed.clear()
        yield found
    finally:
        await found.close()


def _wild(**more: str) -> dict[str, str]:
    return {"connector.class": CLASS, "name": "wild", **more}


async def _start_jvm(hosts: EnvironmentHosts) -> None:
    """Starts a JVM by a connector, since start_connector has no time limit. Other calls may exceed theirs while a host
    starts on a busy machine."""
    async with asyncio.timeout(_STARTED):
        while True:
            try:
                await hosts.start_connector("first", _wild())
                return await hosts.stop_connector("first")
            except TimeoutError:
                pass
            except HostError as error:
                if not error.temporary:
                    raise
            await asyncio.sleep(0.1)


async def test_a_version_that_only_the_class_knows_is_asked_for(hosts: EnvironmentHosts) -> None:
    assert {"class": CLASS, "type": "source", "version": "2"} in await hosts.plugins(True)
    info = await hosts.resolve(CLASS, _wild())
    assert (info.version, info.type, info.task_class) == ("2", "source", "wild.WildTask")
    assert info.task_target == f"java:wild.WildTask@{wild_plugins()}/wild"
    assert (await hosts.describe(CLASS))[0]["name"] == "mark"


async def test_a_connector_starts_reads_offsets_and_requests_new_task_configs(
    hosts: EnvironmentHosts, listener: RecordingListener
) -> None:
    await hosts.start_connector("wild", _wild(ask="yes", reconfigure="yes"))
    (config,) = await hosts.task_configs("wild", 3)
    assert (config["found"], config["task.class"]) == ("{at=7}", "wild.WildTask")
    await listener.until(lambda: listener.reconfigured == ["wild"])
    await hosts.stop_connector("wild")


async def test_metrics_of_a_connector_reach_the_worker(hosts: EnvironmentHosts, listener: RecordingListener) -> None:
    await hosts.start_connector("wild", _wild(metric="one"))
    await listener.until(lambda: listener.metrics == {"wild": [["starts", {"unit": "one"}, 1.0, "Starts"]]})
    await hosts.stop_connector("wild")


async def test_offsets_are_altered_with_definite_and_possible_success(hosts: EnvironmentHosts) -> None:
    offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]] = [({"p": "x"}, {"at": 1})]
    assert await hosts.alter_source_offsets(_wild(mark="definite"), offsets) is True
    assert await hosts.alter_source_offsets(_wild(), offsets) is False
    with pytest.raises(HostError, match="not here") as refused:
        await hosts.alter_source_offsets(_wild(alterOffsets="unsupported"), offsets)
    assert refused.value.kind == "unsupported"
    with pytest.raises(HostError, match="alterOffsets failed as asked"):
        await hosts.alter_source_offsets(_wild(alterOffsets="fail"), offsets)


async def test_levels_of_loggers_reach_running_and_later_jvms(
    hosts: EnvironmentHosts, listener: RecordingListener, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG", "wild")
    await hosts.validate(_wild(validate="log"))
    assert "a detail of validate" not in caplog.text
    hosts.set_levels({"wild": "DEBUG"})
    await _validate_until_logged(hosts, "a detail of validate", caplog)
    caplog.clear()
    await hosts.start_connector("wild", _wild(later=str(tmp_path / "gate")))
    (tmp_path / "gate").touch()
    await listener.until(lambda: [*listener.lost] == ["wild"])
    await _validate_until_logged(hosts, "a detail of validate", caplog)


async def _validate_until_logged(hosts: EnvironmentHosts, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """A level reaches the JVM soon after the call of set_levels(), and lines reach the worker soon after an answer."""
    for _ in range(100):
        await hosts.validate(_wild(validate="log"))
        if text in caplog.text:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{text!r} was not logged:\n{caplog.text}")


async def test_an_error_has_javas_trace(hosts: EnvironmentHosts, listener: RecordingListener) -> None:
    with pytest.raises(HostError) as failed:
        await hosts.start_connector("wild", _wild(start="fail"))
    assert failed.value.trace.startswith("java.lang.IllegalStateException: start failed as asked\n\tat wild.Wild")
    assert not failed.value.temporary
    await hosts.start_connector("wild", _wild(later="raise"))
    await listener.until(lambda: "wild" in listener.failed)
    assert listener.failed["wild"].startswith("java.lang.IllegalStateException: raised later")


@pytest.mark.parametrize("order", ["hang", "spin"])
async def test_a_call_that_does_not_return_costs_neither_host_nor_jvm(hosts: EnvironmentHosts, order: str) -> None:
    await hosts.start_connector("python", _PYTHON)
    await hosts.start_connector("wild", _wild())
    pids = hosts.pids
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=f"validate got no response within {_LIMIT} s"):
        await hosts.validate(_wild(validate=order))
    assert time.monotonic() - started < _LIMIT + soon(3)
    assert hosts.pids == pids
    assert len(await hosts.task_configs("wild", 1)) == 1
    assert (await hosts.validate(_wild()))["error_count"] == 0


async def test_calls_that_ignore_interrupts_end_their_jvm_when_they_are_many(
    hosts: EnvironmentHosts, listener: RecordingListener
) -> None:
    await hosts.start_connector("wild", _wild())
    calls = [hosts.validate(_wild(validate="spin")) for _ in range(10)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, TimeoutError) for answer in answers)
    await listener.until(lambda: [*listener.lost] == ["wild"])


async def test_a_jvm_that_is_frozen_is_replaced(hosts: EnvironmentHosts, listener: RecordingListener) -> None:
    await hosts.start_connector("wild", _wild())
    host = hosts.pids[""]
    assert host is not None
    (jvm,) = children(host)
    freeze(jvm)
    with pytest.raises(TimeoutError, match=f"validate got no response within {_LIMIT} s"):
        await hosts.validate(_wild())
    await listener.until(lambda: [*listener.lost] == ["wild"])
    await _start_jvm(hosts)
    assert (await hosts.validate(_wild()))["error_count"] == 0
    assert hosts.pids[""] == host


async def test_a_connector_that_does_not_start_is_abandoned(hosts: EnvironmentHosts) -> None:
    start = asyncio.create_task(hosts.start_connector("wild", _wild(start="hang")))
    await asyncio.sleep(0.5)
    start.cancel()
    await hosts.stop_connector("wild")
    await hosts.start_connector("wild", _wild(mark="second"))
    assert (await hosts.task_configs("wild", 1))[0]["mark"] == "second"


@pytest.mark.parametrize("order", ["exit", "memory"])
async def test_the_end_of_the_jvm_restarts_its_connectors_only(
    hosts: EnvironmentHosts, listener: RecordingListener, order: str
) -> None:
    await hosts.start_connector("python", _PYTHON)
    await hosts.start_connector("wild", _wild())
    pids = hosts.pids
    with pytest.raises(HostError) as died:
        await hosts.start_connector("bad", _wild(start=order))
    assert died.value.kind == HOST_DIED
    assert died.value.temporary
    await listener.until(lambda: [*listener.lost] == ["wild"])
    assert hosts.pids == pids
    assert len(await hosts.task_configs("python", 1)) == 1
    await hosts.start_connector("wild", _wild(mark="again"))
    assert (await hosts.task_configs("wild", 1))[0]["mark"] == "again"


async def test_a_reload_uses_changed_jars_in_a_new_process(listener: RecordingListener, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    shutil.copytree(wild_plugins() / "wild", plugins / "wild")
    hosts = EnvironmentHosts(HostSettings((str(plugins),), java_heap=64), listener)
    await hosts.start()
    try:
        await hosts.start_connector("wild", _wild(mark="old"))
        before = await hosts.resolve(CLASS, _wild())
        await hosts.reload()
        assert await hosts.resolve(CLASS, _wild()) == before
        os.utime(plugins / "wild" / "wild" / "WildTask.class", (1, 1))
        await hosts.reload("wild")
        after = await hosts.resolve(CLASS, _wild())
        assert (after.revision != before.revision, after.environment and after.environment.id) == (True, "~2")
        await hosts.start_connector("wild", _wild(mark="new"))
        assert (await hosts.task_configs("wild", 1))[0]["mark"] == "new"
        assert set(hosts.pids) == {"", "~2"}
    finally:
        await hosts.close()


async def test_two_versions_of_a_connector_share_a_jvm(listener: RecordingListener, tmp_path: Path) -> None:
    hosts = EnvironmentHosts(HostSettings(tuple(wild_plugins_of_two_versions(tmp_path).split(","))), listener)
    await hosts.start()
    try:
        for version, key in {"1": "old.mark", "2": "mark"}.items():
            config = _wild(**{"name": f"wild{version}", "connector.plugin.version": f"[{version}]"})
            assert (await hosts.describe(CLASS, version))[0]["name"] == key
            assert (await hosts.validate(config))["error_count"] == 0
            assert (await hosts.resolve(CLASS, config)).version == version
            await hosts.start_connector(config["name"], config)
            assert (await hosts.task_configs(config["name"], 1))[0]["made.by"] == version
        assert (await hosts.resolve(CLASS, _wild())).version == "2"
        assert [len(children(pid)) for pid in hosts.pids.values() if pid] == [1]
    finally:
        await hosts.close()


async def test_a_python_connector_is_validated_with_a_java_transformation(listener: RecordingListener) -> None:
    """And a Java connector with one of Headrace's own."""
    folder = ",".join((str(wild_plugins()), str(probes().parent)))
    hosts = EnvironmentHosts(HostSettings(tuple(folder.split(","))), listener)
    await hosts.start()
    try:
        chain = {"transforms": "s", "transforms.s.type": "probe.ProbeStep", "transforms.s.step.size": "12"}
        answer = await hosts.validate({**_PYTHON, **chain})
        errors = {c["value"]["name"]: c["value"]["errors"] for c in answer["configs"] if c["value"]["errors"]}
        assert errors == {"transforms.s.step.size": ["Invalid value 12 for configuration step.size: too large"]}
        info = await hosts.resolve("FileStreamSource", {**_PYTHON, **chain})
        assert info.targets["transforms.s.type"].startswith("java:probe.ProbeStep@")
        assert info.targets["connector.class"].startswith("runtime.")
        own = _wild(transforms="o", **{"transforms.o.type": "org.apache.kafka.connect.transforms.Filter"})
        assert (await hosts.validate(own))["error_count"] == 0
        assert (await hosts.resolve(CLASS, own)).targets["transforms.o.type"].startswith("runtime.")
    finally:
        await hosts.close()


async def test_a_jvm_that_ends_by_itself_is_reported(
    hosts: EnvironmentHosts, listener: RecordingListener, tmp_path: Path
) -> None:
    await hosts.start_connector("wild", _wild(later=str(tmp_path / "gate")))
    (tmp_path / "gate").touch()
    await listener.until(lambda: [*listener.lost] == ["wild"])
