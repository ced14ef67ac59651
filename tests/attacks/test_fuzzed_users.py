"""Generated requests, hostile and plausible, of users with the roles READ and OPERATE, and of clients without a
password: no 5xx, and no secret in a response, the log or an argument of a process."""

from __future__ import annotations

import json
import os
import random
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.rest.security.jaas import MODULE
from runtime.rest.security.security import BASIC_AUTH
from tests.soak.fuzz import Callers, attack
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import rest
from tests.support.processes import child_refs, command_line
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, our_worker

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("HEADRACE_FUZZ_SECONDS", "60"))
SECRETS = ("S3cretOfFile", "S3cretOfFolder", "S3cretPlain", "S3cretInUrl", "S3cretOfReader", "S3cretOfAdmin")


def authorization(user: str) -> str:
    return f"Authorization: Basic {b64encode(f'{user}:S3cretOf{user}'.encode()).decode()}"


@pytest.fixture
def worker(tmp_path: Path, broker: KafkaBroker) -> Iterator[WorkerProcess]:
    """With users, config providers, and a connector with a secret of each kind."""
    users = "".join(f"{user}=S3cretOf{user}\n" for user in ("Reader", "Operator", "Admin"))
    (tmp_path / "users").write_text(users)
    (tmp_path / "jaas").write_text(f'KafkaConnect {{ {MODULE} required file="{tmp_path}/users"; }};')
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "file.properties").write_text("key=S3cretOfFile\n")
    (secrets / "one").write_text("S3cretOfFolder")
    provider = "org.apache.kafka.common.config.provider"
    properties = {
        "rest.extension.classes": BASIC_AUTH,
        "headrace.jaas.file": str(tmp_path / "jaas"),
        "headrace.roles.read": "Reader",
        "headrace.roles.operate": "Operator",
        "headrace.roles.admin": "Admin",
        "headrace.slots": "1",
        "headrace.file.paths": str(tmp_path),
        "config.providers": "file,directory",
        "config.providers.file.class": f"{provider}.FileConfigProvider",
        "config.providers.directory.class": f"{provider}.DirectoryConfigProvider",
    }
    found = our_worker(tmp_path, broker.bootstrap, properties)
    found.start(wait=False)
    wait_until(lambda: as_user(found, "Admin", "GET", "/health")[0] == 200, 60)
    (tmp_path / "in").write_text("a\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in"),
        "topic": unique("t"),
        "tasks.max": "1",
        "a.password": f"${{file:{secrets}/file.properties:key}}",
        "b.secret": f"${{directory:{secrets}:one}}",
        "c.password": "S3cretPlain",
    }
    for name in ("c", "FileStreamSource"):  # names that the requests have
        assert as_user(found, "Admin", "POST", "/connectors", {"name": name, "config": config})[0] == 201
    yield found
    if found.running():
        found.stop(60)


def as_user(worker: WorkerProcess, user: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    name, _, value = authorization(user).partition(": ")
    try:
        return rest.request(worker.url + path, method, body, headers={name: value})
    except OSError:
        return 0, None


@pytest.mark.timeout(SECONDS * 3 + 240)
def test_requests_of_readers_operators_and_strangers_find_neither_errors_nor_secrets(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    seed = random.randrange(1_000_000)
    description = tmp_path / "openapi.json"
    description.write_text(json.dumps(as_user(worker, "Admin", "GET", "/openapi.json")[1]))
    callers = Callers(
        ("", authorization("Reader"), authorization("Operator")), SECRETS, str(description), ("not_a_server_error",)
    )
    before = as_user(worker, "Admin", "GET", "/connectors/c/config")
    with tempfile.TemporaryDirectory() as folder:
        found = attack(worker, Path(folder), SECONDS, seed, callers, authorization("Admin"))
    assert found.trouble == [], f"seed {seed}"
    assert as_user(worker, "Admin", "GET", "/connectors/c/config") == before
    assert sorted(as_user(worker, "Admin", "GET", "/connectors")[1]) == ["FileStreamSource", "c"]
    assert {200, 401, 403} <= {status for answers in found.answers for status in answers.statuses}
    for process in (worker.pid, *(child.pid for child in child_refs(worker.pid))):
        assert not any(secret in command_line(process) for secret in SECRETS)
