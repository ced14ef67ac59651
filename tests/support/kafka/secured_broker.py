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
from tests.support.free_ports import free_port
from tests.support.servers.java_stores import KEYS, TRUST
from tests.support.waiting import allowed

Right = tuple[str, str, str]
"""Kind of resource (TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER), its name or prefix, operation."""

CONNECT, CONNECTOR = USERS = ("connect", "connector")
"""The principal of workers, and one for single connectors; a user's password is the name and `-secret`."""

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
_TOKENS = {
    "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.tokens.oauthbearer.sasl.jaas.config": f'{_OAUTH} unsecuredLoginStringClaim_sub="broker";',
}
"""A listener that accepts tokens without a signature: brokers verify it, so that clients need not know."""


class SecuredBroker(KafkaBroker):
    """Clients need a certificate and a password."""

    def __init__(self, folder: Path) -> None:
        plain, self.secured, self.tokens = (f"{ports.HOST}:{free_port()}" for _ in range(3))
        port, controller = int(plain.rpartition(":")[2]), free_port()
        settings = {**_secured(plain, self.secured, self.tokens, controller), **_TOKENS}
        self._broker = Broker(BrokerConfig(folder, port, controller, settings), find_java())
        super().__init__(plain)

    def start(self) -> None:
        self._broker.start()
        wait_ready((self._broker,), 60)

    def stop(self) -> None:
        self._broker.stop()

    def client(self, user: str = CONNECT) -> dict[str, str]:
        """Java client properties of a user, with stores of keytool: JKS for workers, others for connectors."""
        keys, trust = ("JKS", "JKS") if user == CONNECT else ("JCEKS", "PKCS12")
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{_PLAIN} username="{user}" password="{user}-secret";',
            **KEYS[keys],
            **TRUST[trust],
        }

    def client_lines(self, user: str = CONNECT) -> dict[str, str]:
        """As client(), with the values escaped for a properties file."""
        return {k: v.replace("\\", "\\\\").replace("\n", "\\n") for k, v in self.client(user).items()}

    def token_client(self, endpoint: str, user: str = CONNECT) -> dict[str, str]:
        """Java client properties of a user who gets tokens from this endpoint, in Kafka 4's form."""
        return {
            "bootstrap.servers": self.tokens,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{_OAUTH};",
            "sasl.oauthbearer.token.endpoint.url": endpoint,
            "sasl.oauthbearer.client.credentials.client.id": user,
            "sasl.oauthbearer.client.credentials.client.secret": f"{user}-secret",
        }

    def grant(self, rights: Iterable[Right], user: str = CONNECT) -> None:
        """Grants rights by prefix of resource names."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.admin._acl import AclBinding

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_acls([AclBinding(*right) for right in _entries(rights, user)]).values():
            future.result(allowed(20))

    def withdraw(self, rights: Iterable[Right], user: str = CONNECT) -> None:
        """Withdraws rights that grant() has granted."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.admin._acl import AclBindingFilter

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.delete_acls([AclBindingFilter(*right) for right in _entries(rights, user)]).values():
            assert future.result(allowed(20)), "these rights were not granted"


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


def _secured(plain: str, secured: str, tokens: str, controller_port: int) -> dict[str, object]:
    """Settings for a second and a third listener."""
    clients = f"PLAINTEXT://{plain},SASL_SSL://{secured},TOKENS://{tokens}"
    stores = {**KEYS["PKCS12"], **TRUST["JCEKS"]}
    return {
        "listeners": f"{clients},CONTROLLER://{ports.HOST}:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,TOKENS:SASL_PLAINTEXT"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_PLAIN} {' '.join(_password(user) for user in USERS)};",
        **{f"listener.name.sasl_ssl.{key}": _escaped(value) for key, value in stores.items()},
        "listener.name.sasl_ssl.ssl.client.auth": "required",
    }


def _escaped(value: str) -> str:
    """A value of a properties file."""
    return value.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode().replace("\\x", "\\u00")


def _password(user: str) -> str:
    return f'user_{user}="{user}-secret"'
