"""Mistakes in the security of a worker's Kafka clients are found before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.doctor.kafka_clients import check_kafka_clients
from tests.support.servers.java_stores import ASCII, FOLDER

TRUST = f"ssl.truststore.location={FOLDER}/trust.p12\n"


@pytest.mark.parametrize(
    "text, results",
    [
        ("", ["ok    clients    security.protocol=PLAINTEXT"]),
        (f"security.protocol=SSL\n{TRUST}ssl.truststore.password=${{env:PASSWORD}}\nconfig.providers=env\n"
         "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n",
         ["ok    clients    security.protocol=SSL"]),
        (f"producer.security.protocol=SSL\nproducer.{TRUST}",
         ["BAD   clients    producer.: ssl.truststore.location=", "trust.p12 cannot be read with ssl"]),
        ("security.protocol=SASL_SSL\nsasl.kerberos.service.name=kafka\nsasl.jaas.config="
         "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;\n",
         ["BAD   clients    sasl.mechanism=GSSAPI needs", "pip install"]),
    ],
)  # fmt: skip
def test_the_clients_of_a_worker(
    text: str, results: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", ASCII)
    file = tmp_path / "worker.properties"
    file.write_text(text)
    first = str(next(check_kafka_clients(file)))
    assert first.startswith(results[0])
    assert results[-1] in first
