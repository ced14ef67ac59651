"""A broker with TLS, passwords, certificates, tokens and ACLs; clients of its plain listener are superusers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runtime.config.stores.key_stores import own_keys
from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import wait_ready
from runtime.java.jvm.java import find_java
from tests.support.broker import KafkaBroker
from tests.support.free_ports import free_port
from tests.support.processes import Startable
from tests.support.servers.java_stores import KEYS, ROOT, TRUST
from tests.support.waiting import allowed

Right = tuple[str, str, str]
"""Kind of resource (TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER), its name or prefix, operation."""

CONNECT, CONNECTOR = USERS = ("connect", "connector")
"""The principal of workers, and one for single connectors; a user's password is the name and `-secret`."""

ADMINISTRATOR = "administrator"
"""A superuser of every mechanism, and the user of all certificates on the listener without SASL."""

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER", "mTLS with JKS", "mTLS with PKCS12", "mTLS with PEM")

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
_TOKENS = {
    "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.tokens.oauthbearer.sasl.jaas.config": f'{_OAUTH} unsecuredLoginStringClaim_sub="broker";',
}
"""A listener that accepts tokens without a signature: brokers verify it, so that clients need not know."""


class SecuredBroker(Startable, KafkaBroker):
    """Clients need a certificate and a password."""

    def __init__(self, folder: Path, settings: Mapping[str, object] | None = None) -> None:
        """`settings`: more of the broker's; None removes one."""
        plain, self.secured, self.tokens, self.certificates = (f"{ports.HOST}:{free_port()}" for _ in range(4))
        self._folder = folder
        port, controller = int(plain.rpartition(":")[2]), free_port()
        secured = _secured(plain, self.secured, self.tokens, self.certificates, controller)
        all_of_them = {**secured, **_TOKENS, **(settings or {})}
        config = BrokerConfig(folder, port, controller, {k: v for k, v in all_of_them.items() if v is not None})
        self._broker = Broker(config, find_java())
        super().__init__(plain)

    def start(self) -> None:
        self.restart()
        self.set_passwords({user: f"{user}-secret" for user in (*USERS, ADMINISTRATOR)})

    def restart(self) -> None:
        """Starts a broker that has been stopped."""
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
        return of_properties_file(self.client(user))

    def login(self, mechanism: str, endpoint: str, user: str = ADMINISTRATOR) -> dict[str, str]:
        """Java client properties for one of MECHANISMS. `endpoint`: of tokens."""
        if mechanism == "OAUTHBEARER":
            return self.token_client(endpoint, user)
        if mechanism.startswith("mTLS"):
            kind = mechanism.rpartition(" ")[2]
            stores = self._pem() if kind == "PEM" else {**KEYS[kind], **TRUST[kind]}
            return {"bootstrap.servers": self.certificates, "security.protocol": "SSL", **stores}
        module = _MODULE if mechanism in SCRAM else _PLAIN
        jaas = f'{module} username="{user}" password="{user}-secret";'
        return {**self.client(user), "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}

    def _pem(self) -> dict[str, str]:
        """PEM stores with the certificates of the JKS ones."""
        keys = own_keys(KEYS["JKS"])
        assert keys is not None
        file = self._folder / "keys.pem"
        file.write_text(f"{keys.key}{keys.chain}")
        return {"ssl.keystore.location": str(file), "ssl.truststore.location": str(ROOT)}

    def set_passwords(self, passwords: Mapping[str, str]) -> None:
        """Sets users' passwords for SCRAM."""
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.admin import _scram as scram

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for mechanism in SCRAM:  # a request may change a user once
            kind = scram.ScramCredentialInfo(scram.ScramMechanism[mechanism.replace("-", "_")], 4096)
            changes: list[scram.UserScramCredentialAlteration] = [
                scram.UserScramCredentialUpsertion(user, kind, word.encode()) for user, word in passwords.items()
            ]
            for future in admin.alter_user_scram_credentials(changes).values():
                future.result(allowed(20))

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


def _secured(plain: str, secured: str, tokens: str, certificates: str, controller_port: int) -> dict[str, object]:
    """Settings for the listeners beside the plain one."""
    clients = f"PLAINTEXT://{plain},SASL_SSL://{secured},TOKENS://{tokens},SSL://{certificates}"
    stores = {**KEYS["PKCS12"], **TRUST["JCEKS"]}
    return {
        "listeners": f"{clients},CONTROLLER://{ports.HOST}:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,TOKENS:SASL_PLAINTEXT,SSL:SSL"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ADMINISTRATOR}",
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM)),
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f"{_PLAIN} {' '.join(map(_password, (*USERS, ADMINISTRATOR)))};"
        ),
        **{f"listener.name.sasl_ssl.{mechanism.lower()}.sasl.jaas.config": f"{_MODULE};" for mechanism in SCRAM},
        **{f"listener.name.{name}.{k}": v for name in ("sasl_ssl", "ssl") for k, v in stores.items()},
        "listener.name.sasl_ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": f"RULE:^.*$/{ADMINISTRATOR}/",
    }


def of_properties_file(properties: Mapping[str, str]) -> dict[str, str]:
    """These properties with their values escaped for a properties file."""
    return {k: v.replace("\\", "\\\\").replace("\n", "\\n") for k, v in properties.items()}


def _password(user: str) -> str:
    return f'user_{user}="{user}-secret"'
