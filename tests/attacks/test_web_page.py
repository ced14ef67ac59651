"""Attacks by the page of another web site in a real browser, which runs on a machine that reaches the worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.servers.web_site import WebSite, shown, visit
from tests.support.workers import WorkerProcess, our_worker

pytestmark = pytest.mark.soak

ALLOWED = "console.example"

SCRIPT = """
  const worker = "{url}", name = "{name}", body = JSON.stringify({{name: "planted", config: {config}}});
  const json = {{"Content-Type": "application/json"}}, text = {{"Content-Type": "text/plain"}};
  const all = worker + "/connectors", one = all + "/" + name, post = {{method: "POST", mode: "no-cors"}};
  const form = (action, type) => {{
    const element = document.createElement("form"), field = document.createElement("input");
    element.method = "POST"; element.action = action; element.enctype = type; element.target = "frame";
    field.name = body.slice(0, -1) + ',"x":"'; field.value = '"}}';
    element.append(field); document.body.append(element); element.submit();
  }};
  const frame = document.createElement("iframe");
  frame.name = "frame"; document.body.append(frame);
  await attempt("read", async () => (await fetch(all)).text());
  await attempt("read opaque", async () => (await fetch(all, {{mode: "no-cors"}})).text());
  await attempt("create", async () => (await fetch(all, {{method: "POST", headers: json, body}})).status);
  await attempt("create simply", async () => {{
    await fetch(all, {{...post, headers: text, body}});
    await fetch(all, {{...post, body: new Blob([body])}});
  }});
  await attempt("beacon", async () => navigator.sendBeacon(all, body));
  await attempt("forms", async () => {{ form(all, "text/plain"); form(one + "/restart", "text/plain"); }});
  await attempt("pause", async () => (await fetch(one + "/pause", {{method: "PUT"}})).status);
  await attempt("delete", async () => (await fetch(one, {{method: "DELETE"}})).status);
  await attempt("restart", async () => {{ await fetch(one + "/restart", post); }});
  await attempt("events", () => new Promise((resolve, reject) => {{
    const source = new EventSource(worker + "/events");
    source.addEventListener("snapshot", event => {{ resolve(event.data); source.close(); }});
    source.onerror = () => {{ source.close(); reject(new Error("closed")); }};
  }}));
  await attempt("socket", () => new Promise((resolve, reject) => {{
    const socket = new WebSocket(worker.replace("http", "ws") + "/events");
    socket.onopen = resolve; socket.onerror = () => reject(new Error("closed"));
  }}));
  await attempt("script", () => new Promise((resolve, reject) => {{
    const script = document.createElement("script");
    script.src = worker + "/openapi.json"; script.onload = () => resolve("ran");
    script.onerror = () => reject(new Error("blocked"));
    document.body.append(script);
  }}));
  await attempt("frame", async () => frame.contentDocument.body.textContent);
  await new Promise(resolve => setTimeout(resolve, 1000));
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, broker: KafkaBroker) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("worker")
    properties = {"headrace.slots": "1", "access.control.allow.origin": f"http://{ALLOWED}:*"}
    with our_worker(folder, broker.bootstrap, properties).started() as found:
        yield found


def attack(worker: WorkerProcess, folder: Path, host: str) -> tuple[dict[str, object], Connect, str]:
    """What a page of this host reaches, and the worker with a connector of this name."""
    connect, name = Connect(worker), unique("victim")
    (folder / "in.txt").write_text("a\n")
    connect.source(name, str(folder / "in.txt"), name)
    config = '{"connector.class": "FileStreamSource", "file": "/dev/null", "topic": "planted", "tasks.max": "1"}'
    script = SCRIPT.format(url=worker.url, name=name, config=config)
    return visit(WebSite(script), host), connect, name


def test_a_page_of_another_site_reads_and_changes_nothing(worker: WorkerProcess, tmp_path: Path) -> None:
    found, connect, name = attack(worker, tmp_path, "evil.example")
    assert connect.ask("GET", "/connectors") == [name]
    assert connect.states(name) == ("RUNNING", ["RUNNING"])
    refused = {what for what, answer in found.items() if str(answer).startswith("refused")}
    assert refused >= {"read", "create", "pause", "delete", "events", "socket", "frame"}, found
    assert found["read opaque"] == "", "the browser shows the page nothing of an opaque response"
    log = worker.log.read_text()
    assert log.count("http://evil.example") == 0, "the origin is not logged"
    for request in (
        "method=POST path=/connectors status=403",
        f"method=POST path=/connectors/{name}/restart status=403",
    ):
        assert request in log, "the browser has sent the request, and the worker has refused it"
    connect.ask("DELETE", f"/connectors/{name}")


def test_a_page_of_an_allowed_origin_reads_the_api(worker: WorkerProcess, tmp_path: Path) -> None:
    """So that the attacks above fail at the worker, not in this browser."""
    found, connect, name = attack(worker, tmp_path, ALLOWED)
    assert name in str(found["read"])
    assert name in str(found["events"])
    assert found["create"] == 201
    for created in connect.ask("GET", "/connectors"):
        connect.ask("DELETE", f"/connectors/{created}")


def test_a_host_name_that_is_pointed_at_the_worker_reads_nothing(worker: WorkerProcess) -> None:
    """DNS rebinding: to the browser the worker is part of the page's own site, so that no CORS applies."""
    port = worker.url.rpartition(":")[2]
    assert "is not a name of this worker" in shown(f"http://evil.example:{port}/connectors")
    assert "[" in shown(f"http://localhost:{port}/connectors")
