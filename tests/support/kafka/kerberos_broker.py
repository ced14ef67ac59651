"""A broker with a listener for Kerberos; clients of its plain listener need no login."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.processes import ports
from runtime.embedded.processes.service import wait_ready
from runtime.java.jvm.java import find_java
from tests.support.broker import KafkaBroker
from tests.support.free_ports import free_port
from tests.support.servers.kdc import REALM, Kdc

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
_JVM = "JDK_JAVA_OPTIONS"


class KerberosBroker(KafkaBroker):
    """`kerberos` is the address of the listener; its sessions last `session` seconds."""

    def __init__(self, bootstrap: str, kerberos: str) -> None:
        super().__init__(bootstrap)
        self.kerberos = kerberos

    def login(self, options: str) -> dict[str, str]:
        """Java client properties with these options of the login module."""
        return {
            "bootstrap.servers": self.kerberos,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "sasl.jaas.config": f"{MODULE} {options};",
        }


@contextmanager
def kerberos_broker(folder: Path, kdc: Kdc, session: float) -> Iterator[KerberosBroker]:
    """A running broker of the realm."""
    plain, kerberos, controller = f"{ports.HOST}:{free_port()}", f"{ports.HOST}:{free_port()}", free_port()
    service = f"kafka/{ports.HOST}@{REALM}"
    jaas = f'{MODULE} useKeyTab=true storeKey=true keyTab="{kdc.keytab(service)}" principal="{service}";'
    clients = f"PLAINTEXT://{plain},KERBEROS://{kerberos}"
    settings = {
        "listeners": f"{clients},CONTROLLER://{ports.HOST}:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,KERBEROS:SASL_PLAINTEXT",
        "listener.name.kerberos.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.kerberos.sasl.kerberos.service.name": "kafka",
        "listener.name.kerberos.gssapi.sasl.jaas.config": jaas,
        "connections.max.reauth.ms": int(session * 1000),
    }
    broker = Broker(BrokerConfig(folder, int(plain.rpartition(":")[2]), controller, settings), find_java())
    before = os.environ.get(_JVM)
    os.environ[_JVM] = f"-Djava.security.krb5.conf={kdc.config}"
    try:
        broker.start()
    finally:
        os.environ.pop(_JVM)
        os.environ.update({_JVM: before} if before else {})
    try:
        wait_ready((broker,), 60)
        yield KerberosBroker(plain, kerberos)
    finally:
        broker.stop()
