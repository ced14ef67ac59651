"""Files of credentials that change while a worker runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.config.worker_config import distributed
from runtime.kafka.clients import logins
from runtime.kafka.clients.settings import client_config
from runtime.worker.login_watch import LoginUsers, LoginWatch
from tests.support.servers.certificates import Stores, make_stores

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@dataclass
class Users:
    """Records what a watch does."""

    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    edition: int = 0
    logins: dict[str, Any] = field(default_factory=dict)
    renewed: list[str | None] = field(default_factory=list)
    hidden: frozenset[str] = frozenset()
    writers: int = 0

    async def renew_writer(self) -> None:
        self.writers += 1

    def hide(self, values: frozenset[str]) -> None:
        self.hidden = values


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    logins._renewed.clear()


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return make_stores(tmp_path / "stores")


def login(folder: Path, stores: Stores, prefix: str = "") -> dict[str, str]:
    """A login whose password and key store are files of this folder."""
    (folder / "secret.properties").write_text("password=old-secret\n")
    (folder / "keys.p12").write_bytes(stores.p12.read_bytes())
    own = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{MODULE} username="ann" password="${{file:{folder}/secret.properties:password}}";',
        "ssl.keystore.location": str(folder / "keys.p12"),
        "ssl.keystore.password": stores.password,
    }
    return {f"{prefix}{key}": value for key, value in own.items()}


def watch(properties: dict[str, str]) -> tuple[LoginWatch, Users]:
    users = Users()
    topics = {f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")}
    converters = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.json.JsonConverter")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    files = {"config.providers": "file", "config.providers.file.class": provider}
    required = {"bootstrap.servers": "localhost:1", "group.id": "g", **topics, **converters, **files}
    of_users = LoginUsers(
        lambda: users.configs,
        lambda: users.edition,
        users.logins.update,
        users.renew_writer,
        users.renewed.append,
        users.hide,
    )
    return LoginWatch(distributed({**required, **properties}), of_users), users


async def test_a_password_is_given_to_running_clients(tmp_path: Path, stores: Stores) -> None:
    watched, users = watch({**login(tmp_path, stores), **login(tmp_path, stores, "producer.")})
    await watched.check()
    assert (users.logins, users.renewed) == ({}, [])
    (tmp_path / "secret.properties").write_text("password=new-secret\n")
    await watched.check()
    assert sorted(users.logins) == ["admin.", "producer.", "worker."]
    assert {new["sasl.password"] for new in users.logins.values()} == {"new-secret"}
    assert users.renewed == [] and "new-secret" in users.hidden
    settings = client_config(watched._worker.originals, "producer", {}).settings
    assert settings["sasl.password"] == "new-secret"
    json.dumps(users.logins)  # sent to slots


async def test_certificates_start_tasks_again(tmp_path: Path, stores: Stores) -> None:
    watched, users = watch(login(tmp_path, stores, "consumer."))
    (tmp_path / "keys.p12").write_bytes(make_stores(tmp_path / "other").p12.read_bytes())
    await watched.check()
    assert list(users.logins) == ["consumer."] and users.renewed == [None]
    await watched.check()
    assert users.renewed == [None]


async def test_the_worker_s_own_certificates_leave_tasks_alone(tmp_path: Path, stores: Stores) -> None:
    watched, users = watch(login(tmp_path, stores))
    (tmp_path / "keys.p12").write_bytes(make_stores(tmp_path / "other").p12.read_bytes())
    await watched.check()
    assert sorted(users.logins) == ["admin.", "worker."] and users.renewed == []
    assert users.writers == 1


async def test_files_that_cannot_be_used_change_nothing(
    tmp_path: Path, stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    """A store may be half written, and its password may follow later."""
    watched, users = watch(login(tmp_path, stores))
    (tmp_path / "keys.p12").write_bytes(stores.p12.read_bytes()[:100])
    for _ in range(3):
        await watched.check()
    (tmp_path / "secret.properties").unlink()
    await watched.check()
    assert users.logins == {}
    warned = [m for m in caplog.messages if m.startswith("The Kafka clients keep their credentials: ")]
    assert len(warned) == 2 and "ssl.keystore.location" in warned[0] and "secret.properties" in warned[1]


async def test_a_connector_with_its_own_credentials_starts_its_tasks_again(tmp_path: Path, stores: Stores) -> None:
    watched, users = watch({})
    users.configs = {"own": login(tmp_path, stores, "producer.override."), "other": {"connector.class": "x"}}
    await watched.check()
    await watched.check()
    assert users.renewed == []
    (tmp_path / "secret.properties").write_text("password=new-secret\n")
    await watched.check()
    await watched.check()
    assert users.renewed == ["own"] and users.logins == {}


async def test_configurations_are_searched_when_they_have_changed(tmp_path: Path, stores: Stores) -> None:
    """A worker may have thousands, and looks at the files every second."""
    watched, users = watch({})
    await watched.check()
    users.configs = {"own": login(tmp_path, stores, "producer.override.")}
    await watched.check()
    (tmp_path / "secret.properties").write_text("password=not-seen-yet\n")
    await watched.check()
    assert users.renewed == []
    users.edition += 1
    await watched.check()
    (tmp_path / "secret.properties").write_text("password=new-secret\n")
    await watched.check()
    assert users.renewed == ["own"]
