"""Java config providers and override policies of the worker."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import httpx
import pytest

from runtime.api.errors import ConfigError
from runtime.herder.configs.override_policy import KEY
from runtime.java.host import watch
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.host.install import compile_sources
from runtime.java.host.process import JvmSettings
from runtime.java.plugins.worker_plugins import JavaConfigProvider
from runtime.worker.java_plugins import WorkerJava
from tests.support.java.host import settings
from tests.support.java.sources.edge_cases import edge_case_jar
from tests.support.processes import freeze
from tests.support.waiting import soon, wait_until
from tests.support.workers import StartWorker

pytestmark = pytest.mark.slow

_SOURCES = {
    "own/VaultConfigProvider.java": """
package own;

import java.util.*;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;

/**
 * Answers with prefix, path and key; has no value for the key "none", and fails for the path "closed". Values of the
 * path "brief" are valid for a second.
 */
public class VaultConfigProvider implements ConfigProvider {
    private String prefix;
    public void configure(Map parameters) { prefix = (String) parameters.get("prefix"); }
    public ConfigData get(String path) { return new ConfigData(new HashMap()); }
    public ConfigData get(String path, Set keys) {
        if (path.equals("closed")) { throw new IllegalStateException("the vault is closed"); }
        if (path.equals("exit")) { Runtime.getRuntime().halt(4); }
        Map found = new HashMap();
        for (Iterator all = keys.iterator(); all.hasNext();) {
            String key = (String) all.next();
            if (!key.equals("none")) { found.put(key, prefix + path + key); }
        }
        return path.equals("brief") ? new ConfigData(found, Long.valueOf(1000)) : new ConfigData(found);
    }
    public void close() { }
}
""",
    "own/SlowConnectorClientConfigOverridePolicy.java": """
package own;

import java.util.*;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.connector.policy.*;

/** Allows linger.ms only, and counts requests. */
public class SlowConnectorClientConfigOverridePolicy implements ConnectorClientConfigOverridePolicy, Monitorable {
    private int requests;
    public void withPluginMetrics(PluginMetrics metrics) {
        metrics.addMetric(metrics.metricName("requests-total", "Requests", new LinkedHashMap()), new Gauge() {
            public Object value(MetricConfig config, long now) { return Integer.valueOf(requests); }
        });
    }
    public void configure(Map properties) { }
    public void close() { }
    public List validate(ConnectorClientConfigRequest request) {
        requests++;
        List found = new ArrayList();
        for (Iterator all = request.clientProps().keySet().iterator(); all.hasNext();) {
            String key = (String) all.next();
            ConfigValue value = new ConfigValue(key);
            if (!key.equals("linger.ms")) {
                value.addErrorMessage(key + " of " + request.connectorName() + " " + request.connectorType() + " "
                    + request.clientType() + " is not allowed");
            }
            found.add(value);
        }
        return found;
    }
}
""",
}
_SERVICES = {
    "org.apache.kafka.common.config.provider.ConfigProvider": "own.VaultConfigProvider",
    "org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy": (
        "own.SlowConnectorClientConfigOverridePolicy"
    ),
}


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    given = settings()
    work = tmp_path / "work"
    work.mkdir()
    classes = compile_sources(given.java, given.classpath, _SOURCES, work)
    services = classes / "META-INF" / "services"
    services.mkdir(parents=True)
    for interface, name in _SERVICES.items():
        (services / interface).write_text(f"{name}\n")
    folder = tmp_path / "plugins"
    folder.mkdir()
    classes.rename(folder / "own")
    return folder


def test_a_worker_with_a_java_config_provider_and_a_java_policy(
    plugins: Path, worker: StartWorker, tmp_path: Path
) -> None:
    running = worker(
        {
            "plugin.path": str(plugins),
            "config.providers": "vault",
            "config.providers.vault.class": "VaultConfigProvider",
            "config.providers.vault.param.prefix": f"{tmp_path}/",
            "connector.client.config.override.policy": "own.SlowConnectorClientConfigOverridePolicy",
        }
    )
    (tmp_path / "dirfile").write_text("a line\n")
    config = {"connector.class": "FileStreamSource", "topic": "t", "name": "c", "file": "${vault:dir:file}"}
    refused = {**config, "producer.override.acks": "1", "producer.override.linger.ms": "7"}
    status, answer = running.request("PUT", "/connector-plugins/FileStreamSource/config/validate", refused)
    errors = {c["value"]["name"]: c["value"]["errors"] for c in answer["configs"] if c["value"]["errors"]}
    assert status == 200
    assert errors == {"producer.override.acks": ["acks of c source PRODUCER is not allowed"]}
    assert running.request("PUT", "/connectors/c/config", config)[0] == 201

    def is_running() -> bool:
        status, found = running.request("GET", "/connectors/c/status")
        return status == 200 and [task["state"] for task in found["tasks"]] == ["RUNNING"]

    wait_until(is_running, 120)
    assert running.request("GET", "/connectors/c/config")[1]["file"] == "${vault:dir:file}"
    brief = {**config, "name": "b", "file": "${vault:brief:file}"}
    assert running.request("PUT", "/connectors/b/config", brief)[0] == 201
    expired = "Connector b is restarted because a value of its configuration has expired"
    wait_until(lambda: running.log.read_text().count(expired) >= 2, 60, "it is restarted each time")
    assert running.request("PUT", "/connectors/b/config", {**brief, "config.action.reload": "none"})[0] == 200
    labels = f'config="{KEY}",class="SlowConnectorClientConfigOverridePolicy"'
    counted = re.compile(f"kafka_connect_plugins_requests_total{{{re.escape(labels)}}} [1-9]")
    wait_until(lambda: counted.search(httpx.get(f"{running.url}/metrics").text), 20, "metrics of the policy")
    failing = {**config, "file": "${vault:closed:x}"}
    status, answer = running.request("PUT", "/connectors/d/config", {**failing, "name": "d"})
    assert status == 400
    assert "own.VaultConfigProvider: the vault is closed" in answer["message"]
    status, answer = running.request("PUT", "/connectors/e/config", {**config, "name": "e", "file": "${vault:exit:x}"})
    assert status == 400
    assert "has not answered" in answer["message"]
    assert running.request("PUT", "/connectors/c/config", {**config, "batch.size": "10"})[0] == 200


def test_a_jvm_of_the_worker_that_is_frozen_is_replaced(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SILENCE_TIMEOUT", 2.0)
    java = WorkerJava()
    provider = java.provider({"plugin.path": str(plugins)}, "VaultConfigProvider", {"prefix": "/"})
    assert provider is not None and java._host is not None
    try:
        assert provider.values("dir", ["file"])["file"] == "/dirfile"
        assert java._host.pid is not None
        freeze(java._host.pid)
        started = time.monotonic()
        with pytest.raises(ConfigError, match=r"has not answered: The task host JVM has not responded for \d+ s"):
            provider.values("dir", ["file"])
        assert time.monotonic() - started < soon(7.5)
        assert provider.values("dir", ["file"])["file"] == "/dirfile"
    finally:
        java._host.stop()


def test_a_class_without_service_entry_is_refused(plugins: Path, worker: StartWorker) -> None:
    (plugins / "own" / "META-INF" / "services" / "org.apache.kafka.common.config.provider.ConfigProvider").unlink()
    refused = worker(
        {
            "plugin.path": str(plugins),
            "config.providers": "vault",
            "config.providers.vault.class": "own.VaultConfigProvider",
        },
        start=False,
    )
    refused.start(wait=False)
    wait_until(lambda: not refused.running(), 20)
    assert "add its jars, with an entry in META-INF/services, to plugin.path" in refused.log.read_text()


def test_plugins_without_service_entries_end_the_worker_if_they_must_have_them(
    worker: StartWorker, tmp_path: Path
) -> None:
    jar = edge_case_jar(tmp_path)
    refused = worker({"plugin.path": str(jar), "plugin.discovery": "HYBRID_FAIL"}, start=False)
    refused.start(wait=False)
    wait_until(lambda: not refused.running(), 20)
    assert "plugin.discovery=hybrid_fail: no entry in META-INF/services for edge." in refused.log.read_text()


def test_the_time_for_a_call_starts_when_the_jvm_runs() -> None:
    """The first start may download jars, and on a busy machine a JVM needs long to start."""

    def downloaded() -> JvmSettings:
        time.sleep(2.0)
        return settings()

    host = JavaHost(downloaded)
    try:
        plugin = JavaClass("org.apache.kafka.common.config.provider.EnvVarConfigProvider")
        assert JavaConfigProvider(host, plugin, {}, timeout=1.0).values("", ["PATH"])["PATH"] == os.environ["PATH"]
    finally:
        host.stop()
