"""READ, OPERATE and clients without a password ask for everything while config providers of all kinds are in use: no
secret of a marked set is in a response, log, metric, event, trace or list of processes."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from runtime.java.host.install import compile_sources
from runtime.rest.security.jaas import MODULE
from runtime.rest.security.security import BASIC_AUTH
from tests.support.broker import KafkaBroker, unique
from tests.support.java.host import settings
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

MARKS = {
    kind: f"Marked{kind.capitalize()}Secret7391"
    for kind in ("file", "directory", "env", "java", "literal", "free", "url", "users", "key")
}
_PROVIDER = "org.apache.kafka.common.config.provider."
_SOURCES = {
    "own/MarkedConfigProvider.java": """
package own;

import java.util.*;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;

/** Answers each key with its parameter "mark". */
public class MarkedConfigProvider implements ConfigProvider {
    private String mark;
    public void configure(Map parameters) { mark = (String) parameters.get("mark"); }
    public ConfigData get(String path) { return new ConfigData(new HashMap()); }
    public ConfigData get(String path, Set keys) {
        Map found = new HashMap();
        for (Iterator all = keys.iterator(); all.hasNext();) { found.put(all.next(), mark); }
        return new ConfigData(found);
    }
    public void close() { }
}
"""
}
_PASSWORDS = {user: f"{user}-{MARKS['users']}" for user in ("ann", "op", "root")}
_OF_CONNECTORS = (
    "", "/config", "/status", "/tasks", "/tasks/0/status", "/tasks/0/stack", "/offsets", "/offsets?detail=true",
    "/offsets/history", "/config/history", "/logs", "/errors", "/progress", "/restarts", "/topics",
)  # fmt: skip
_PATHS = (
    "/", "/health", "/metrics", "/connectors", "/connectors?expand=info&expand=status", "/connector-plugins",
    "/connector-plugins/details", "/deleted-connectors", "/orphaned-offsets", "/workers", "/openapi.json",
    "/admin/loggers", "/connector-plugins/HttpSink/config",
)  # fmt: skip


@pytest.fixture
def secured(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    monkeypatch.setenv("MARKED_SECRET", MARKS["env"])
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "file").write_text(f"key={MARKS['file']}\n")
    (tmp_path / "secrets" / "directory").write_text(MARKS["directory"])
    (tmp_path / "users").write_text("".join(f"{user}={password}\n" for user, password in _PASSWORDS.items()))
    (tmp_path / "jaas").write_text(f'KafkaConnect {{\n  {MODULE} required\n  file="{tmp_path}/users";\n}};\n')
    process = our_worker(
        tmp_path,
        broker.bootstrap,
        {
            "rest.extension.classes": BASIC_AUTH,
            "headrace.jaas.file": str(tmp_path / "jaas"),
            "headrace.roles.read": "ann",
            "headrace.roles.operate": "op",
            "headrace.roles.admin": "root",
            "plugin.path": str(_java_plugins(tmp_path)),
            "config.providers": "file,dir,env,java",
            "config.providers.file.class": f"{_PROVIDER}FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(tmp_path / "secrets"),
            "config.providers.dir.class": f"{_PROVIDER}DirectoryConfigProvider",
            "config.providers.dir.param.allowed.paths": str(tmp_path / "secrets"),
            "config.providers.env.class": f"{_PROVIDER}EnvVarConfigProvider",
            "config.providers.env.param.allowlist.pattern": "MARKED_.*",
            "config.providers.java.class": "own.MarkedConfigProvider",
            "config.providers.java.param.mark": MARKS["java"],
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        },
    )
    process.start(wait=False)
    try:
        wait_until(lambda: _answers(process), 120, "a healthy worker")
        yield process
    finally:
        process.stop()


def _java_plugins(folder: Path) -> Path:
    given, work = settings(), folder / "work"
    work.mkdir()
    classes = compile_sources(given.java, given.classpath, _SOURCES, work)
    (services := classes / "META-INF" / "services").mkdir(parents=True)
    (services / f"{_PROVIDER}ConfigProvider").write_text("own.MarkedConfigProvider\n")
    (plugins := folder / "plugins").mkdir()
    classes.rename(plugins / "own")
    return plugins


def _answers(process: WorkerProcess) -> bool:
    try:
        return ask(process, "GET", "/health", "root")[0] == 200
    except OSError:
        return False


def ask(process: WorkerProcess, method: str, path: str, user: str | None, body: Any = None) -> tuple[int, str]:
    """Status, and the headers with the body."""
    connection = http.client.HTTPConnection(urlsplit(process.url).netloc, timeout=60)
    headers = {"Content-Type": "application/json"}
    if user is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{_PASSWORDS[user]}".encode()).decode()
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = f"{response.headers}\n{response.read().decode()}"
    connection.close()
    return response.status, text


def events(process: WorkerProcess, user: str) -> str:
    """The first events of a stream, which begins with all connectors."""
    connection = http.client.HTTPConnection(urlsplit(process.url).netloc, timeout=5)
    login = base64.b64encode(f"{user}:{_PASSWORDS[user]}".encode()).decode()
    connection.request("GET", "/events", headers={"Authorization": f"Basic {login}", "Accept": "text/event-stream"})
    response, read = connection.getresponse(), b""
    try:
        while chunk := response.read1(65536):
            read += chunk
    except TimeoutError:  # the stream is quiet
        pass
    connection.close()
    return read.decode()


def configs(url: str, folder: Path, topic: str) -> dict[str, dict[str, str]]:
    """Connectors whose endpoint quotes their requests in its errors."""
    secrets = {
        "http.url": f"{url}/?api_key={MARKS['url']}",
        "http.auth.type": "basic",
        "http.auth.username": "${env:MARKED_SECRET}",
        "http.auth.password": f"${{file:{folder}/secrets/file:key}}",
        "http.header.X-Api-Key": "${java:any:key}",
        "http.header.X-Directory": f"${{dir:{folder}/secrets:directory}}",
        "http.header.X-Token": MARKS["free"],
        "consumer.override.ssl.key.password": MARKS["key"],
        "connection.password": MARKS["literal"],
        "my.url": f"https://me:{MARKS['url']}@host/path",
    }
    return {
        "source": {"connector.class": "HttpSource", "topic": topic, **secrets},
        "sink": {"connector.class": "HttpSink", "topics": topic, **secrets},
        "lines": {"connector.class": "FileStreamSource", "file": str(folder / "lines"), "topic": topic},
    }  # fmt: skip


def quoting(received: Received) -> Answer:
    login = base64.b64decode(received.headers.get("authorization", "").removeprefix("Basic ")).decode()
    return 422, {}, f"refused {login} {dict(received.headers)} {dict(received.query)}"


def test_no_secret_is_in_anything_that_others_may_read(secured: WorkerProcess, tmp_path: Path) -> None:
    topic = unique("marked")
    (tmp_path / "lines").write_text("".join(f"line {i}\n" for i in range(50)))
    with http_server(quoting) as server:
        for name, config in configs(server.url, tmp_path, topic).items():
            status, text = ask(secured, "PUT", f"/connectors/{name}/config", "root", config)
            assert status == 201, text
        for name in ("source", "sink"):
            wait_until(lambda: "refused" in ask(secured, "GET", f"/connectors/{name}/status", "root")[1], 60, "a trace")  # noqa: B023 - called at once
        seen = list(everything(secured, server.url, tmp_path, topic))
        seen += [(f"events of {user}", events(secured, user)) for user in ("ann", "op")]
    seen += [("the log of the worker", secured.log.read_text()), *processes(secured.pid)]
    assert any("[hidden]" in text for _, text in seen)
    beginnings = {kind: mark[: len("Marked") + 4] for kind, mark in MARKS.items()}  # cut secrets are secrets, too
    found = [(where, kind) for where, text in seen for kind, mark in beginnings.items() if mark in text]
    assert found == []


def everything(process: WorkerProcess, url: str, folder: Path, topic: str) -> Iterator[tuple[str, str]]:
    """The responses to all requests that READ, OPERATE and clients without a password may send."""
    names = list(configs(url, folder, topic))
    gets = [*_PATHS, *(f"/connectors/{name}{path}" for name in names for path in _OF_CONNECTORS)]
    for user in ("ann", "op", None):
        for path in gets:
            status, text = ask(process, "GET", path, user)
            assert status < 500 and (user is not None or status == 401), f"{user} {path}: {status} {text}"
            yield f"GET {path} as {user}", text
        for name, config in configs(url, folder, topic).items():
            own = {key: value for key, value in config.items() if not any(mark in value for mark in MARKS.values())}
            chain = {"transforms": "${java:any:key}", "predicates": "${env:MARKED_SECRET}"}
            variables = {**own, **chain, "tasks.max": "${java:any:key}"}
            plugin = config["connector.class"]
            for method, path, body in (
                ("PUT", f"/connector-plugins/{plugin}/config/validate", {"name": name, **variables}),
                ("POST", f"/connector-plugins/{plugin}/preview", {"config": variables, "records": [{"value": 1}]}),
                ("POST", f"/connectors/{name}/offsets/resolve", {"to": "beginning"}),
                ("PUT", f"/connectors/{name}/config", variables),
                ("POST", f"/connectors/{name}/restart?includeTasks=true", None),
            ):
                status, text = ask(process, method, path, user, body)
                assert status < 500 or path.endswith("/resolve"), f"{user} {method} {path}: {status} {text}"
                yield f"{method} {path} as {user}", text


def processes(worker: int) -> Iterator[tuple[str, str]]:
    """Command lines of the worker's processes, and those of their environments that other users could read."""
    for pid in _descendants(worker):
        folder = Path("/proc", str(pid))
        try:
            yield f"the arguments of {pid}", (folder / "cmdline").read_bytes().decode(errors="replace")
            if (folder / "environ").stat().st_mode & 0o077:
                yield f"the environment of {pid}", (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:  # ended meanwhile
            continue


def _descendants(pid: int) -> Iterator[int]:
    yield pid
    for tasks in Path("/proc", str(pid), "task").glob("*/children"):
        try:
            children = tasks.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _descendants(int(child))
