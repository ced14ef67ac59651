"""Whether this installation can authenticate with Kerberos: the wheels of pip cannot."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from runtime.kafka.errors import ClientConfigError


def check_gssapi() -> None:
    """ClientConfigError, which says what to install, unless both Kafka clients support sasl.mechanism=GSSAPI."""
    if missing := _missing():
        raise ClientConfigError(f"sasl.mechanism=GSSAPI needs {' and '.join(missing)}")


@cache
def _missing() -> tuple[str, ...]:
    missing = []
    if not _librdkafka_has_it():
        missing.append(
            "a librdkafka with libsasl2 (build it with --enable-gssapi, in a version that confluent-kafka accepts, and "
            "install libsasl2-modules-gssapi-mit, then "
            "pip install --force-reinstall --no-binary confluent-kafka confluent-kafka)"
        )
    if find_spec("gssapi") is None:
        missing.append("the Python package gssapi (install libkrb5-dev, then pip install gssapi)")
    return tuple(missing)


def _librdkafka_has_it() -> bool:
    from confluent_kafka import KafkaException, Producer

    settings = {"bootstrap.servers": "localhost:1", "security.protocol": "SASL_PLAINTEXT", "log_level": 0}
    kerberos = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka", "sasl.kerberos.kinit.cmd": ""}
    try:
        Producer({**settings, **kerberos, "sasl.kerberos.min.time.before.relogin": 0})
    except KafkaException as error:
        return "No provider for SASL mechanism" not in str(error)
    return True
