"""A broker with TLS, passwords and ACLs: superusers on its plain listener, USERS on the authenticated listener."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import wait_ready
from runtime.java.jvm.java import find_java
from tests.support.broker import KafkaBroker
from tests.support.certificates import Stores, make_stores
from tests.support.free_ports import free_port

Right = tuple[str, str, str]
"""Kind of resource (TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER), its name or prefix, operation."""

CONNECT, CONNECTOR = USERS = ("connect", "connector")
"""The principal of workers, and one for single connectors; a user's password is the name and `-secret`."""

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class SecuredBroker(KafkaBroker):
    """Clients need a certificate and a password."""

    def __init__(self, folder: Path) -> None:
        config = BrokerConfig(folder, free_port(), free_port())
        self.stores = make_stores(folder / "stores")
        self.secured = f"{ports.HOST}:{free_port()}"
        self._broker = _Secured(config, self.secured, self.stores)
        super().__init__(config.bootstrap)

    def start(self) -> None:
        self._broker.start()
        wait_ready((self._broker,), 60)

    def stop(self) -> None:
        self._broker.stop()

    def client(self, user: str = CONNECT) -> dict[str, str]:
        """Java client properties of a user, with a PKCS12 store and inline trusted certificates."""
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{_PLAIN} username="{user}" password="{user}-secret";',
            "ssl.truststore.certificates": self.stores.trust.read_text(),
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": str(self.stores.p12),
            "ssl.keystore.password": self.stores.password,
            "ssl.keystore.type": "PKCS12",
        }

    def grant(self, rights: Iterable[Right], user: str = CONNECT) -> None:
        """Grants rights by prefix of resource names."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.admin._acl import AclBinding

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_acls([AclBinding(*right) for right in _entries(rights, user)]).values():
            future.result(20)

    def withdraw(self, rights: Iterable[Right], user: str = CONNECT) -> None:
        """Withdraws rights that grant() has granted."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.admin._acl import AclBindingFilter

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.delete_acls([AclBindingFilter(*right) for right in _entries(rights, user)]).values():
            assert future.result(20), "these rights were not granted"


def _entries(rights: Iterable[Right], user: str) -> Iterator[tuple[Any, ...]]:
    """The arguments of AclBinding and AclBindingFilter."""
    from confluent_kafka.admin._acl import AclOperation, AclPermissionType
    from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

    for kind, name, operation in rights:
        yield (
            ResourceType[kind if kind != "CLUSTER" else "BROKER"], name,
            ResourcePatternType.PREFIXED if kind != "CLUSTER" else ResourcePatternType.LITERAL,
            f"User:{user}", "*", AclOperation[operation], AclPermissionType.ALLOW,
        )  # fmt: skip


class _Secured(Broker):
    """The embedded broker with a second listener."""

    def __init__(self, config: BrokerConfig, secured: str, stores: Stores) -> None:
        super().__init__(config, find_java())
        self._secured, self._stores = secured, stores

    def _prepare(self) -> list[str]:
        command = super()._prepare()
        own = self.config
        plain = f"PLAINTEXT://{own.bootstrap}"
        settings = {
            "listeners": f"{plain},SASL_SSL://{self._secured},CONTROLLER://{ports.HOST}:{own.controller_port}",
            "advertised.listeners": f"{plain},SASL_SSL://{self._secured}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_PLAIN} {' '.join(_password(user) for user in USERS)};",
            "listener.name.sasl_ssl.ssl.keystore.type": "PEM",
            "listener.name.sasl_ssl.ssl.keystore.location": self._stores.pem,
            "listener.name.sasl_ssl.ssl.truststore.type": "PEM",
            "listener.name.sasl_ssl.ssl.truststore.location": self._stores.trust,
            "listener.name.sasl_ssl.ssl.client.auth": "required",
        }
        with own.properties.open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        return command


def _password(user: str) -> str:
    return f'user_{user}="{user}-secret"'
