"""Listeners of a real worker: https, users and roles, a listener for /admin, CORS, headers, the audit log, loggers."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from runtime.rest.security.jaas import MODULE
from runtime.rest.security.security import BASIC_AUTH
from tests.support.broker import unique
from tests.support.connect import Connect
from tests.support.free_ports import free_port
from tests.support.servers.certificates import make_stores
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

Answer = tuple[int, dict[str, str], Any]


def ask(
    url: str, method: str = "GET", user: str = "", body: Any = None, tls: ssl.SSLContext | None = None, **headers: str
) -> Answer:
    """Status, headers (lower case) and body."""
    sent = {k.replace("_", "-"): v for k, v in headers.items()}
    if user:
        sent["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        sent["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=tls) as answer:
            return _read(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _read(refusal)


def _read(answer: Any) -> Answer:
    content = answer.read()
    headers = {k.lower(): v for k, v in answer.headers.items()}
    return answer.status, headers, json.loads(content) if content[:1] in (b"{", b"[") else content


def test_https_and_http_listeners_and_a_separate_admin_listener(worker: StartWorker, tmp_path: Path) -> None:
    stores, http, https, admin = make_stores(tmp_path / "stores"), free_port(), free_port(), free_port()
    process = worker(
        {
            "listeners": f"http://127.0.0.1:{http},https://127.0.0.1:{https}",
            "admin.listeners": f"http://127.0.0.1:{admin}",
            "ssl.keystore.location": "/not/for/listeners",
            "listeners.https.ssl.keystore.location": str(stores.p12),
            "listeners.https.ssl.keystore.password": stores.password,
        },
        start=False,
    )
    process.url = f"http://127.0.0.1:{http}"
    process.start()
    trusting = ssl.create_default_context(cafile=str(stores.trust))
    assert ask(f"https://127.0.0.1:{https}/connectors", tls=trusting)[::2] == (200, [])
    created = {"name": "c", "config": {"connector.class": "FileStreamSource", "topic": "t"}, "initial_state": "STOPPED"}
    code, headers, _ = ask(f"https://127.0.0.1:{https}/connectors", "POST", body=created, tls=trusting)
    assert (code, headers["location"]) == (201, f"https://127.0.0.1:{https}/connectors/c")
    assert ask(f"{process.url}/admin/loggers")[0] == 404
    assert ask(f"http://127.0.0.1:{admin}/admin/loggers")[0] == 200
    assert ask(f"http://127.0.0.1:{admin}/connectors")[0] == 404
    assert stores.password not in process.log.read_text()


def test_users_and_roles_are_enforced_and_audited(worker: StartWorker, tmp_path: Path) -> None:
    (tmp_path / "users").write_text("ann=ann-secret\nop=op-secret\nroot=root-secret\nnobody=nobody-secret\n")
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f'KafkaConnect {{\n  {MODULE} required\n  file="{tmp_path}/users";\n}};\n')
    process = worker(
        {
            "rest.extension.classes": BASIC_AUTH,
            "headrace.jaas.file": str(jaas),
            "headrace.roles.read": "ann",
            "headrace.roles.operate": "op",
            "headrace.roles.admin": "root",
            "access.control.allow.origin": "https://*.example.com",
            "access.control.allow.methods": "GET,PUT",
            "response.http.headers.config": "add X-Frame-Options: DENY",
            "admin.listeners": "",
        },
        start=False,
    )
    process.start(wait=False)
    url = process.url
    wait_until(lambda: _status(f"{url}/health", "ann:ann-secret") == 200, 60, "a healthy worker")
    for user in ("", "ann:wrong", "eve:ann-secret", "ann"):
        code, headers, body = ask(f"{url}/connectors", user=user)
        assert (code, headers["www-authenticate"].split()[0], body["error_code"]) == (401, "Basic", 401)
    new = {"connector.class": "FileStreamSource", "topic": "t", "file": "/nowhere"}
    put = ("PUT", f"{url}/connectors/c/config", new)
    for user, method, path, body, code in (
        ("nobody:nobody-secret", "GET", f"{url}/connectors", None, 403),
        ("ann:ann-secret", *put, 403),
        ("op:op-secret", *put, 403),
        ("root:root-secret", *put, 201),
        ("ann:ann-secret", "PUT", f"{url}/connectors/c/pause", None, 403),
        ("op:op-secret", "PUT", f"{url}/connectors/c/pause", None, 202),
        ("op:op-secret", "DELETE", f"{url}/connectors/c", None, 403),
        ("ann:ann-secret", "GET", f"{url}/connectors", None, 200),
        ("root:root-secret", "GET", f"{url}/admin/loggers", None, 404),
    ):
        assert ask(path, method, user, body)[0] == code, (user, method, path)
    _, headers, _ = ask(
        f"{url}/connectors", user="ann:ann-secret", Origin="https://a.example.com", X_Request_ID="my-id"
    )
    assert headers["access-control-allow-origin"] == "https://a.example.com"
    assert (headers["x-frame-options"], headers["x-request-id"]) == ("DENY", "my-id")
    assert (
        "access-control-allow-origin" not in ask(f"{url}/connectors", user="ann:ann-secret", Origin="https://x.org")[1]
    )
    _, headers, _ = ask(
        f"{url}/connectors", "OPTIONS", Origin="https://a.example.com", Access_Control_Request_Method="PUT"
    )
    assert "PUT" in headers["access-control-allow-methods"]
    log = process.log.read_text()
    assert "principal=root client=127.0.0.1 method=PUT path=/connectors/c/config status=201" in log
    assert "principal=op client=127.0.0.1 method=DELETE path=/connectors/c status=403" in log
    assert "status=401" in log
    assert "-secret" not in log


def _status(url: str, user: str) -> int | None:
    try:
        return ask(url, user=user)[0]
    except OSError:
        return None


def test_log_levels_apply_to_worker_slots_and_cluster(worker: StartWorker, tmp_path: Path) -> None:
    process = worker()
    connect, audit = Connect(process), "runtime.rest.security.audit"
    ask(f"{process.url}/connectors", X_Request_ID="unseen")
    assert connect.ask("PUT", f"/admin/loggers/{audit}", {"level": "DEBUG"}) == [audit]
    ask(f"{process.url}/connectors", X_Request_ID="seen-at-debug")
    connect.ask("PUT", f"/admin/loggers/{audit}?scope=cluster", {"level": "INFO"})
    wait_until(lambda: connect.ask("GET", f"/admin/loggers/{audit}")["level"] == "INFO", 10, "the cluster's level")
    ask(f"{process.url}/connectors", X_Request_ID="unseen")
    log = process.log.read_text()
    assert "request=seen-at-debug" in log
    assert "request=unseen" not in log
    connect.ask("PUT", "/admin/loggers/runtime.pipeline", {"level": "DEBUG"})
    connect.ask("PUT", "/admin/loggers/runtime.connectors", {"level": "ERROR"})
    (tmp_path / "in").write_text("a\n")
    connect.source("c", str(tmp_path / "in"), unique("t"))
    connect.ask("PUT", "/admin/loggers/root", {"level": "OFF"})
    quiet_from = len(process.log.read_text())
    connect.stop("c")
    connect.resume("c")
    assert process.log.read_text()[quiet_from:] == ""
    process.restart()
    assert connect.ask("GET", "/admin/loggers").keys() == {"root"}


def test_a_worker_does_not_start_with_an_unsupported_rest_extension(worker: StartWorker) -> None:
    process = worker({"rest.extension.classes": "com.example.Mine"}, start=False)
    process.start(wait=False)
    wait_until(lambda: not process.running(), 20, "the worker's end")
    assert "com.example.Mine: Java extensions cannot run here" in process.log.read_text()
