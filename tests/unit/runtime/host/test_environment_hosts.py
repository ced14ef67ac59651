"""A plugin host for each plugin environment: started on demand, ended when unused, replaced by a reload."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.api.errors import ConfigError
from runtime.host.environment_hosts import EnvironmentHosts
from runtime.host.port import HostError, UnknownPluginError
from runtime.host.settings import HostSettings
from tests.support.herder.recording_listener import RecordingListener
from tests.support.packages.wheels import build_wheel
from tests.support.waiting import wait_until

CONNECTOR = """
import os
from runtime.api import ConfigDef, ConfigKey, ConfigType, SinkConnector, SinkTask
{imports}
class {name}Task(SinkTask):
    def start(self, config): ...
    def put(self, records): ...

class {name}Sink(SinkConnector):
    task_class = {name}Task
    config_def = ConfigDef(ConfigKey("key.of.{key}", ConfigType.STRING, "x", doc="-"))
    def version(self): return "{version}"
    def start(self, config): ...
    def task_configs(self, max_tasks): return [{{"lib": {lib}, "pid": str(os.getpid()), "code": "{version}"}}]
"""
TRANSFORMATION = """
from runtime.api import Transformation
class Mark(Transformation):
    def apply(self, record): return record
"""


def _plain(version: str) -> str:
    return CONNECTOR.format(name="Plain", imports="", key="plain", version=version, lib="'none'")


def _environment(folder: Path, version: str) -> None:
    text = CONNECTOR.format(
        name="Own", imports="import hr_lib", key=f"v{version}", version=version, lib="hr_lib.VERSION"
    )
    build_wheel(folder, "hr_own", version, {"hr_own.py": text, "hr_mark.py": TRANSFORMATION})
    build_wheel(folder, "hr_lib", version, {"hr_lib.py": f"VERSION = '{version}'"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = tmp_path / "plugins"
    _environment(found / "own-1.0", "1.0")
    _environment(found / "own-2.0", "2.0")
    (found / "hr_plain_sink.py").write_text(_plain("old"))
    return found


@pytest.fixture
async def hosts(folder: Path) -> AsyncIterator[EnvironmentHosts]:
    found = EnvironmentHosts(HostSettings(plugin_path=(str(folder),)), RecordingListener(), idle_timeout=0.4)
    await found.start()
    yield found
    await found.close()


def _config(cls: str, version: str | None = None, **more: str) -> dict[str, str]:
    wanted = {} if version is None else {"connector.plugin.version": version}
    return {"name": "c", "connector.class": cls, "topics": "t", **wanted, **more}


def _errors(answer: dict[str, Any]) -> list[str]:
    return [error for config in answer["configs"] for error in config["value"]["errors"]]


async def _started(hosts: EnvironmentHosts, name: str, config: dict[str, str]) -> dict[str, str]:
    await hosts.start_connector(name, config)
    (task,) = await hosts.task_configs(name, 1)
    return task


async def _until_ended(hosts: EnvironmentHosts) -> None:
    await asyncio.to_thread(wait_until, lambda: len(hosts.pids) == 1, 10)


async def test_connectors_of_two_environments_run_in_processes_of_their_own(hosts: EnvironmentHosts) -> None:
    first = await _started(hosts, "first", _config("OwnSink", "1.0"))
    second = await _started(hosts, "second", _config("OwnSink"))
    plain = await _started(hosts, "plain", _config("PlainSink"))
    assert (first["lib"], second["lib"]) == ("1.0", "2.0")
    assert len({first["pid"], second["pid"], plain["pid"]}) == 3
    assert {int(task["pid"]) for task in (first, second, plain)} == set(hosts.pids.values())
    await hosts.stop_connector("first")
    await hosts.stop_connector("second")
    await _until_ended(hosts)


async def test_an_environment_whose_process_could_not_be_started_has_one_later(hosts: EnvironmentHosts) -> None:
    """As at a limit of processes."""
    await hosts.plugins(True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 3), hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            await hosts.start_connector("first", _config("OwnSink"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (await _started(hosts, "first", _config("OwnSink")))["lib"] == "2.0"


async def test_each_version_is_described_validated_and_resolved(hosts: EnvironmentHosts) -> None:
    for version in ("1.0", "2.0"):
        described = {key["name"] for key in await hosts.describe("OwnSink", version)}
        assert f"key.of.v{version}" in described
        answer = await hosts.validate(_config("OwnSink", version))
        names = {config["definition"]["name"] for config in answer["configs"] if config["definition"]}
        assert f"key.of.v{version}" in names and not _errors(answer)
        info = await hosts.resolve("OwnSink", _config("OwnSink", version))
        assert info.version == version and info.environment is not None
        assert info.environment.id.startswith(f"own-{version}-")
        assert info.targets["connector.class"] == "hr_own:OwnSink"
    versions = next(c for c in answer["configs"] if c["value"]["name"] == "connector.plugin.version")
    assert versions["value"]["recommended_values"] == ["1.0", "2.0"]


async def test_a_transformation_of_an_environment_decides_where_a_connector_runs(hosts: EnvironmentHosts) -> None:
    chain = {"transforms": "m", "transforms.m.type": "hr_mark.Mark"}
    info = await hosts.resolve("PlainSink", _config("PlainSink", **chain))
    assert info.environment is not None and info.targets["transforms.m.type"] == "hr_mark:Mark"
    assert not _errors(await hosts.validate(_config("PlainSink", **chain)))


async def test_conflicts_of_plugins_are_logged_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither by the hosts nor again by a reload."""
    text = CONNECTOR.format(name="JdbcSource", imports="", key="x", version="1", lib="'none'")
    (folder / "hr_jdbc.py").write_text(text.replace("JdbcSourceSink", "JdbcSinkConnector"))
    hosts = EnvironmentHosts(HostSettings(plugin_path=(str(folder),)), RecordingListener())
    await hosts.start()
    try:
        assert (await hosts.resolve("JdbcSink")).targets["connector.class"].startswith("runtime.")
        await hosts.reload()
    finally:
        await hosts.close()
    found = [record.message for record in caplog.records if "The alias JdbcSink is" in record.message]
    assert found == [
        "The alias JdbcSink is that of headrace.JdbcSinkConnector: use the full class name of hr_jdbc.JdbcSinkConnector"
    ]


async def test_plugins_of_two_environments_are_refused(hosts: EnvironmentHosts, folder: Path) -> None:
    (folder / "hr_plain_sink.py").unlink()
    build_wheel(folder / "only", "hr_only", "1", {"hr_only.py": TRANSFORMATION})
    await hosts.reload()
    config = _config("OwnSink", **{"transforms": "m", "transforms.m.type": "hr_only.Mark"})
    (error,) = _errors(await hosts.validate(config))
    assert "hr_only.Mark is in the plugin environment only-" in error
    with pytest.raises(ConfigError, match="must be in the same environment"):
        await hosts.resolve("OwnSink", config)
    with pytest.raises(HostError, match="must be in the same environment"):
        await hosts.start_connector("c", config)
    with pytest.raises(UnknownPluginError, match=r"hr_own\.OwnSink"):
        await hosts.resolve("PlainSink")


async def test_versions_that_do_not_exist_are_refused(hosts: EnvironmentHosts) -> None:
    assert "available versions: [1.0, 2.0]" in _errors(await hosts.validate(_config("OwnSink", "[3,)")))[0]
    with pytest.raises(ConfigError, match=r"available versions: \[1\.0, 2\.0\]"):
        await hosts.resolve("OwnSink", _config("OwnSink", "[3,)"))


async def test_a_reload_runs_changed_code_in_new_processes(hosts: EnvironmentHosts, folder: Path) -> None:
    plain, own = _config("PlainSink"), _config("OwnSink", "2.0")
    before = await _started(hosts, "plain", plain)
    revisions = [await hosts.revision(config) for config in (plain, own)]
    (folder / "hr_plain_sink.py").write_text(_plain("new"))
    await hosts.reload()
    assert [await hosts.revision(config) for config in (plain, own)][1] == revisions[1]
    assert await hosts.revision(plain) != revisions[0]
    after = await _started(hosts, "plain", plain)
    assert (before["code"], after["code"]) == ("old", "new") and before["pid"] != after["pid"]
    assert {p["version"] for p in await hosts.plugins(True) if p["class"] == "hr_plain_sink.PlainSink"} == {"new"}


async def test_a_module_that_ends_its_process_harms_its_environment_only(hosts: EnvironmentHosts, folder: Path) -> None:
    build_wheel(folder / "bad", "hr_bad", "1", {"hr_bad.py": "import os\nos.abort()\n" + _plain("1")})
    await hosts.reload()
    before = await _started(hosts, "own", _config("OwnSink"))
    with pytest.raises(HostError, match="died during"):
        await hosts.resolve("hr_bad.PlainSink")
    assert (await hosts.task_configs("own", 1))[0]["pid"] == before["pid"]
